"""Weights of points and of classes: what they do, who takes them, and what is refused."""

import numpy as np
import pytest
from sklearn.base import clone

from defrag import Agglomerated, DiSMEC, Focused, LabelTree, TextClassifier, load
from defrag.baselines import Parabel, PPDSparse
from defrag.distributed import plan
from defrag.reranking import Refrag
from tests.data import make_data
from tests.helpers.bits import bits

X, Y = make_data(n=300)
WEIGHING = [
    LabelTree(n_trees=2, max_leaf_size=8),
    DiSMEC(),
    Parabel(2),
    Focused(LabelTree()),
    Agglomerated(LabelTree(2)),
]
EVERY = pytest.mark.parametrize("model", WEIGHING, ids=str)


def answers(model, X):
    return bits(list(model.predict_topk(X, k=5)))


@EVERY
def test_weight_zero_is_absence_and_one_is_none(model):
    model = clone(model).set_params(random_state=0)
    plain = answers(model.fit(X, Y), X)
    assert answers(model.fit(X, Y, sample_weight=np.ones(300)), X) == plain
    kept = np.arange(300) % 3 > 0
    wanted = answers(model.fit(X[kept], Y[kept]), X)
    if not isinstance(model, (Focused, Agglomerated)):  # whose reductions see all points
        assert answers(model.fit(X, Y, sample_weight=kept), X) == wanted
    weighted = answers(model.fit(X, Y, sample_weight=1 + 4 * kept), X)
    assert weighted not in (plain, wanted)
    for n_jobs in (1, 3):
        again = clone(model).set_params(n_jobs=n_jobs).fit(X, Y, sample_weight=1 + 4 * kept)
        assert answers(again, X) == weighted


@EVERY
def test_the_heavier_of_two_opinions_wins(model):
    X = np.tile(np.eye(4, 12), (10, 1))
    y = np.repeat(["a", "b"], 20)  # every row is of both classes
    model = clone(model).set_params(random_state=0)
    for heavy in "ab":
        weights = np.where(y == heavy, 5.0, 0.2)
        assert set(model.fit(X, y, sample_weight=weights).predict(X)) == {heavy}


@pytest.mark.parametrize("model", [LabelTree(), DiSMEC(), TextClassifier()], ids=str)
def test_class_weight_decides_and_is_part_of_the_model(model, tmp_path):
    texts = ["same words here"] * 40 + ["other words there"] * 40
    X = np.repeat(np.eye(2, 6), 40, axis=0)
    y = np.array((["rare"] + ["common"] * 7) * 10)
    X = texts if isinstance(model, TextClassifier) else X
    model = clone(model).set_params(random_state=0)
    assert set(model.fit(X, y).predict(X)) == {"common"}
    for given in ({"rare": 1, "common": 0.02}, {"common": np.float32(0.02)}, {"common": 0}):
        model.set_params(class_weight=given).fit(X, y)
        assert set(model.predict(X)) == {"rare"}
    assert set(model.set_params(class_weight={"rare": 0.5}).fit(X, y).predict(X)) == {"common"}
    balanced = model.set_params(class_weight="balanced").fit(X, y)
    same = clone(balanced).set_params(class_weight=None)
    same.fit(X, y, sample_weight=np.where(y == "rare", 4.0, 4 / 7).astype(np.float32))
    assert answers(balanced, X) == answers(same, X)
    for value in ("balanced", {"rare": 2.5}, None):
        model.set_params(class_weight=value).fit(X, y).save(tmp_path / "m")
        assert load(tmp_path / "m").get_params()["class_weight"] == value
    for value in ("heavy", {"rare": -1}, {"rare": np.nan}, 3):
        with pytest.raises(ValueError, match=r"class_weight of .* must be None, 'balanced', or a"):
            model.set_params(class_weight=value).fit(X, y)
    with pytest.raises(ValueError, match="class_weight must have labels of Y, got 'absent'"):
        model.set_params(class_weight={"absent": 1}).fit(X, y)
    with pytest.raises(ValueError, match="class_weight must be None in a plan, got 'balanced'"):
        plan(model.set_params(class_weight="balanced"), X, y, n_parts=2)


def test_texts_have_weights_and_names_have_class_weights():
    texts = ["same words"] * 8
    labels = [["a"], ["b"]] * 4
    model = TextClassifier(random_state=0).fit(texts, labels, sample_weight=[9, 0.1] * 4)
    assert model.predict_topk(["words"])[0][0, 0] == "a"
    model.set_params(class_weight={"b": 50})
    assert model.fit(texts, labels).predict_topk(["words"])[0][0, 0] == "b"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(299), r"one number per point \(300\), got float64 of shape \(299,\)"),
        (np.ones((300, 1)), r"one number per point \(300\), got float64 of shape \(300, 1\)"),
        (["x"] * 300, "one number per point"),
        (np.full(300, -1), r"sample_weight must be numbers in \[0, 1e9\]"),
        (np.full(300, np.nan), r"sample_weight must be numbers in \[0, 1e9\]"),
        (np.zeros(300), "sample_weight must have at least one number that is non-zero"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        LabelTree().fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("model", [PPDSparse(), Refrag(), Focused(PPDSparse())], ids=str)
def test_methods_without_weights_say_so(model):
    message = r"^\w+ takes no sample_weight, because its method has none: .* or use LabelTree"
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y, sample_weight=np.ones(300))
    model.fit(X, Y, sample_weight=None)
