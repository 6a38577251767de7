"""Training in parts: the same bytes as ``fit``, whatever the parts and their order."""

import pickle
from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from defrag import (
    Agglomerated,
    Defrag,
    DiSMEC,
    Fiat,
    Focused,
    Imputed,
    LabelTree,
    Refrag,
    TextClassifier,
    TextVectorizer,
    _native,
)
from defrag.baselines import (
    LPSR,
    FastXML,
    Parabel,
)
from defrag.classifiers._division import Piece, Work
from defrag.distributed import fit_part, join, load_plan, plan, save_plan
from defrag.distributed._plan import (
    join_found,
    plan_and_data,
    search_between,
    search_rows,
    train_part,
    with_rows,
)
from tests.contract.subject import subjects


def divided(subject):
    """Return an estimator of several members, if it has members."""
    model = subject.new()
    members = {"n_trees", "n_learners"} & model.get_params().keys()
    return model.set_params(**dict.fromkeys(members, 5))


MODELS = {
    **{str(one): divided(one) for one in subjects() if one.classifies},
    "one wide node": LabelTree(max_leaf_size=256, root_arity=256, random_state=1),
    "several jobs": Agglomerated(
        LabelTree(2), Defrag(max_cluster_size=4), random_state=9, n_jobs=2
    ),
    "agglomerated forest": Agglomerated(FastXML(15), random_state=18),
    "nested": Focused(Agglomerated(Parabel(2)), random_state=12),
    "imputed flat": Imputed(DiSMEC(), Fiat(), random_state=11),
    "fixed": Refrag(LabelTree(), gamma=5, propensity_weight=0.3, random_state=13),
    "fixed, paper": Refrag(
        DiSMEC(), co_occurrence="cosine", gamma=5, propensity_weight=0, random_state=13
    ),
    "lpsr in another": Agglomerated(LPSR(DiSMEC()), random_state=19),
    "refrag of lpsr": Refrag(LPSR(), gamma=5, propensity_weight=0.3, random_state=20),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 150), density=0.06, rng=rng, dtype=np.float32, format="csr")
    Y = sparse.random_array((400, 90), density=0.03, rng=rng, format="csr") > 0
    return X, sparse.csr_array(Y.astype(np.float32))


def bytes_of(model, folder):
    path = folder / "model.safetensors"
    model.save(path)
    return path.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 7, 64])
@pytest.mark.parametrize("name", MODELS)
def test_joined_parts_give_the_bytes_of_fit(name, n_parts, data, tmp_path):
    X, Y = data
    wanted = bytes_of(MODELS[name].fit(X, Y), tmp_path)
    todo = pickle.loads(pickle.dumps(plan(MODELS[name], X, Y, n_parts=n_parts)))  # noqa: S301
    assert 1 <= len(todo.parts) <= n_parts
    assert sum(part.share for part in todo.parts) == pytest.approx(1)
    keys = [(part.wave, -part.share) for part in todo.parts]
    assert keys == sorted(keys)
    order = np.random.default_rng(n_parts).permutation(len(todo.parts))
    results = [fit_part(todo, todo.parts[i], X, Y) for i in order]
    joined = join(todo, [*results, results[0]], *(data if "lpsr" in name else ()))
    assert bytes_of(joined, tmp_path) == wanted


@pytest.mark.parametrize(
    "name", ["label-tree", "dismec", "agglomerated", "fastxml", "sleec", "fixed", "lpsr"]
)
def test_large_models_have_the_requested_parts(name, data):
    assert len(plan(MODELS[name], *data, n_parts=5).parts) == 5


@pytest.mark.parametrize("name", ["label-tree", "agglomerated"])
def test_results_of_the_first_wave_save_time_and_change_nothing(name, data):
    X, Y = data
    todo = plan(MODELS[name], X, Y, n_parts=6)
    waves = [part.wave for part in todo.parts]
    assert waves == sorted(waves)
    assert set(waves) == {0, 1}
    first = [fit_part(todo, part, X, Y) for part in todo.parts if part.wave == 0]
    last = todo.parts[-1]
    results = [fit_part(todo, last, X, Y, earlier) for earlier in ((), first[:-1], first)]
    for one in results:
        assert one.arrays.keys() == results[0].arrays.keys()
        for array, same in results[0].arrays.items():
            assert one.arrays[array].tobytes() == same.tobytes()
    others = plan(MODELS["dismec"], X, Y, n_parts=2)
    with pytest.raises(ValueError, match="part 0 belongs to another plan"):
        fit_part(todo, last, X, Y, [fit_part(others, 0, X, Y)])


def test_trees_without_hard_negatives_have_one_wave(data):
    plain = LabelTree(2, max_leaf_size=8, hard_negatives=False, random_state=1)
    assert all(part.wave == 0 for part in plan(plain, *data, n_parts=6).parts)


def test_lpsr_requires_its_data_to_join(data):
    X, Y = data
    todo = plan(MODELS["lpsr"], X, Y, n_parts=2)
    results = [fit_part(todo, part, X, Y) for part in todo.parts]
    with pytest.raises(ValueError, match="LPSR is fitted to its trained base and the data"):
        join(todo, results)
    with pytest.raises(ValueError, match="not those of the plan"):
        join(todo, results, X[:, ::-1], Y)
    with pytest.raises(ValueError, match="requires both X and Y"):
        join(todo, results, X)


TEXTS = {
    "default": TextClassifier(random_state=1),
    "two trees": TextClassifier(LabelTree(2, root_arity=8, max_leaf_size=4), random_state=2),
    "characters": TextClassifier(DiSMEC(), TextVectorizer(characters=3), random_state=3, n_jobs=2),
}


@pytest.mark.parametrize("n_parts", [1, 7, 64])
@pytest.mark.parametrize("name", TEXTS)
def test_joined_parts_of_texts_give_the_bytes_of_fit(name, n_parts, tmp_path):
    rng = np.random.default_rng(0)
    words = [f"w{'abcdefghij'[i % 10]}{i}" for i in range(120)]
    texts = [" ".join(rng.choice(words, 12)) for _ in range(300)]
    labels = [[f"label {j}" for j in rng.choice(60, 2, replace=False)] for _ in texts]
    model = clone(TEXTS[name])
    wanted = bytes_of(model.fit(texts, labels), tmp_path)
    path = tmp_path / "model.plan"
    save_plan(plan(model, texts, labels, n_parts=n_parts), path)
    todo = load_plan(path)
    assert len(todo.parts) == 1 if n_parts == 1 else len(todo.parts) > 1
    results = [fit_part(todo, part, texts, labels) for part in reversed(todo.parts)]
    joined = join(todo, results)
    assert bytes_of(joined, tmp_path) == wanted
    assert joined.predict(texts[:9]) == model.predict(texts[:9])
    with pytest.raises(ValueError, match="not those of the plan"):
        fit_part(todo, 0, [*texts[1:], "other words"], labels)


SHAPE = {"max_leaf_size": 4, "arity": 3, "root_arity": 3, "random_state": 1}
IN_ROWS = {
    "label tree": LabelTree(**SHAPE),
    "one wave": LabelTree(2, hard_negatives=False, **SHAPE),
    "focused": Focused(LabelTree(2, **SHAPE), random_state=2),
    "members": Agglomerated(LabelTree(2, **SHAPE), Defrag(max_cluster_size=4), random_state=3),
    "wrapped": Refrag(LabelTree(**SHAPE), gamma=5, propensity_weight=0.3, random_state=4),
    "texts": TextClassifier(LabelTree(**SHAPE), random_state=5),
    "parabel": Parabel(max_leaf_size=8, random_state=6),
    **{name: MODELS[name] for name in ("dismec", "fastxml", "leml")},
}


@pytest.mark.parametrize("name", IN_ROWS)
def test_parts_have_the_same_bytes_on_the_rows_that_they_need(name, data):
    X, Y = data
    if name == "texts":
        X = [" ".join(f"w{j}" for j in row.indices) for row in X]
    todo, known = plan_and_data(IN_ROWS[name], X, Y, n_parts=64)
    X, Y = rows = known.X, known.labels.matrix
    found, first, sizes = {}, [], set()
    for wave, parts in groupby(todo.parts, key=lambda part: part.wave):
        if wave:
            search = search_between(todo, first, Y)
            found = search_rows(search, X, 0)
            blocks = [search_rows(search, X[a:b], a) for a, b in pairwise([0, 7, 150, 400])]
            for tree, lists in join_found(blocks[::-1]).items():
                for array, same in zip(lists, found[tree], strict=True):
                    np.testing.assert_array_equal(array, same)
        before = list(first)
        for part, some, inside in with_rows(todo, parts, rows, found):
            sizes.add(some[0].shape[0])
            first.append(train_part(todo, part.index, *some, inside))
            whole = train_part(todo, part.index, *rows, {}, earlier=before)
            assert first[-1].arrays.keys() == whole.arrays.keys()
            for key, array in first[-1].arrays.items():
                assert array.tobytes() == whole.arrays[key].tobytes()
    assert max(sizes) == 400
    assert (min(sizes) < 300) == (name not in {"dismec", "fastxml", "leml"})


def test_label_trees_need_the_points_of_their_labels_and_their_negatives(data):
    X, Y = data
    units = LabelTree(2, **SHAPE)._units()
    division = units.divide(units.prepare(X, Y), 0)
    n_units, having = len(division.costs), Y.toarray() > 0
    first = Work(0, division.outline, 0, n_units - int(division.waves.sum()))
    piece = Piece(0, first.last, units.train(units.prepare(X, Y), first))
    found = units.search(Y, replace(first, earlier=[piece]))(_native.scale_rows(X, n_threads=1))
    for begin in range(0, n_units, 3):
        work = Work(0, division.outline, begin, min(begin + 3, n_units), found=found)
        points, lists = units.needs(sparse.csr_array(Y.T), work)
        wanted, n_reached = set(), 0
        for number, blocks in units._blocks(work.outline, work.first, work.last):
            tree = division.outline[number // 2]
            for node in blocks[:, 0]:
                below = tree.order[tree.begin[node] : tree.end[node]]
                wanted |= set(
                    range(400) if node == 0 else having[:, below].any(axis=1).nonzero()[0]
                )
                if number % 2:
                    offsets, reached = found[str(number // 2)]
                    wanted |= set(reached[offsets[node] : offsets[node + 1]])
                    n_reached += offsets[node + 1] - offsets[node]
        assert list(range(400) if points is None else points) == sorted(wanted)
        assert points is None or n_reached == sum(len(own) for _, own in lists.values())


def test_plan_with_extra_function_is_refused():
    model = TextClassifier(extra=lambda texts: np.ones((len(texts), 2)))
    with pytest.raises(ValueError, match="extra must be None in a plan"):
        plan(model, ["a", "b"], [["x"], ["y"]], n_parts=2)


@pytest.mark.parametrize("change", [{"base": "tree"}, {"vectorizer": DiSMEC()}])
def test_bad_parts_of_a_text_classifier_are_refused(change):
    name = next(iter(change))
    with pytest.raises(ValueError, match=f"{name} of TextClassifier must be a "):
        plan(TextClassifier(**change), ["a", "b"], [["x"], ["y"]], n_parts=2)


def test_joined_classes_and_dense_labels_equal_fit(data, tmp_path):
    X, _ = data
    classes = np.repeat(["ant", "bee", "cat", "dog"], 100)
    model = LabelTree(random_state=0)
    todo = plan(model, X, classes, n_parts=3)
    joined = join(todo, [fit_part(todo, i, X, classes) for i in range(len(todo.parts))])
    assert bytes_of(joined, tmp_path) == bytes_of(model.fit(X, classes), tmp_path)
    assert joined.predict(X[:3]).tolist() == model.predict(X[:3]).tolist()


def test_part_on_other_data_is_refused(data):
    X, Y = data
    todo = plan(MODELS["dismec"], X, Y, n_parts=2)
    with pytest.raises(ValueError, match="not those of the plan: it has 400 points"):
        fit_part(todo, 0, X[:-1], Y[:-1])
    other = X.copy()
    other.data[0] += 1
    for points, labels in ((other, Y), (X, Y[::-1])):
        with pytest.raises(ValueError, match="not those of the plan"):
            fit_part(todo, 0, points, labels)
    with pytest.raises(ValueError, match="the parts 0 to 1, got 2"):
        fit_part(todo, 2, X, Y)


def test_missing_parts_are_named(data):
    X, Y = data
    todo = plan(MODELS["dismec"], X, Y, n_parts=3)
    results = [fit_part(todo, 1, X, Y)]
    with pytest.raises(ValueError, match="2 of 3 parts are missing: 0, 2"):
        join(todo, results)
    with pytest.raises(ValueError, match="part 3 belongs to another plan"):
        join(todo, [replace(results[0], index=3)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": "tree"}, "must be a classifier of defrag, got 'tree'"),
        ({"estimator": DiSMEC(C=0.0)}, "C of DiSMEC must be"),
        ({"n_parts": 0}, "n_parts must be an int >= 1, got 0"),
    ],
)
def test_bad_arguments_of_plans_are_refused(change, message, data):
    values = {"estimator": DiSMEC(), "n_parts": 2, **change}
    with pytest.raises(ValueError, match=message):
        plan(values["estimator"], *data, n_parts=values["n_parts"])
