"""TextClassifier with dense features from elsewhere."""

from copy import copy

import numpy as np
import pytest
from sklearn.base import clone

from defrag import DiSMEC, LabelTree, TextClassifier, TextVectorizer, load
from defrag.text._texts import extra_rows
from tests.text.data import make_texts

HINTS = {"algebra": 0, "sorting": 1, "network": 2, "größe": 3}


def hints(texts):
    """Return columns that tell the topic of texts whose words the vectoriser does not know."""
    found = np.zeros((len(texts), 5))
    for row, text in enumerate(texts):
        for name, column in HINTS.items():
            found[row, column] = 3.0 * (f"!{name}!" in text)
    return found


def hinted_texts():
    """Return texts without informative words."""
    _, labels = make_texts()
    return [" ".join(["the words", *(f"!{name}!" for name in row)]) for row in labels], labels


def new(**parameters):
    """Return a classifier that knows two words, and the hints."""
    vectorizer = TextVectorizer(max_features=2)
    return TextClassifier(DiSMEC(), vectorizer, extra=hints, random_state=0, **parameters)


@pytest.fixture(scope="module")
def fitted():
    """Return texts, their labels, and a model of them."""
    texts, labels = hinted_texts()
    return texts, labels, new().fit(texts, labels)


def test_labels_are_learnt_from_extra_features(fitted):
    texts, labels, model = fitted
    assert model.n_extra_ == 5
    plain = new().set_params(extra=None).fit(texts, labels)
    assert model.score(texts, labels) == 1.0 > plain.score(texts, labels)


def test_rows_are_blocks_of_given_lengths():
    texts, labels = make_texts()
    model = new(extra_weight=0.25).fit(texts, labels)
    rows = model._rows([*hinted_texts()[0][:7], "zz"]).toarray()
    assert rows.shape == (8, 7)
    lengths = np.linalg.norm(rows[:, 2:], axis=1)
    np.testing.assert_allclose(lengths, [0.25] * 7 + [0.0], rtol=1e-6)
    np.testing.assert_array_equal(rows[:, :2], model.vectorizer_.transform(
        [*hinted_texts()[0][:7], "zz"]).toarray())  # fmt: skip


def test_a_text_with_extra_features_only_has_an_answer(fitted):
    names, scores = fitted[2].predict_topk(["!sorting!", "unheard-of"], k=1)
    assert names.ravel().tolist() == ["sorting", ""]
    assert scores[1] == 0


def test_extra_features_are_explained(fitted):
    model = fitted[2]
    found = model.explain("!sorting! words")
    assert found.label == "sorting"
    np.testing.assert_allclose(found.score, model.predict_topk(["!sorting! words"])[1][0, 0], 1e-5)
    assert "extra[1]" in found.names


def test_loaded_model_requires_extra(fitted, tmp_path):
    texts, labels, model = fitted
    model.save(tmp_path / "a")
    loaded = load(tmp_path / "a")
    with pytest.raises(ValueError, match=r"trained with 5 features of extra, .*set_params"):
        loaded.predict_topk(texts)
    loaded.set_params(extra=hints)
    np.testing.assert_array_equal(loaded.predict_topk(texts)[1], model.predict_topk(texts)[1])
    loaded.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert clone(model).fit(texts, labels).score(texts, labels) == 1.0


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (3, "extra must be a function of a list of texts, got 3"),
        (lambda texts: np.ones(len(texts)), r"shape \(120, n_extra\), got float64 of shape \(12"),
        (lambda _: np.ones((2, 3)), r"got float64 of shape \(2, 3\)"),
        (lambda texts: np.full((len(texts), 2), "x"), "array of numbers"),
        (lambda texts: np.full((len(texts), 2), np.nan), "extra must return finite numbers"),
        (lambda texts: np.ones((len(texts), 0)), "at least 1 columns, got 0"),
    ],
)
def test_bad_extra_is_refused(extra, message):
    texts, labels = make_texts()
    with pytest.raises(ValueError, match=message):
        TextClassifier(LabelTree(), extra=extra).fit(texts, labels)


def test_another_width_is_refused(fitted):
    texts, _, model = fitted
    model = copy(model).set_params(extra=lambda texts: np.ones((len(texts), 4)))
    with pytest.raises(ValueError, match="extra must return 5 columns, got 4"):
        model.predict_topk(texts)


@pytest.mark.parametrize("weight", [0, -1.0, None, float("nan")])
def test_bad_weight_is_refused(weight):
    texts, labels = make_texts()
    with pytest.raises(ValueError, match="extra_weight of TextClassifier must be"):
        new(extra_weight=weight).fit(texts, labels)


def test_huge_and_tiny_numbers_are_scaled():
    values = np.array([[1e300, 1e300], [1e-300, 0.0], [0.0, 0.0]])
    rows = extra_rows(lambda _: values, ["a", "b", "c"], 2.0)
    np.testing.assert_allclose(rows, [[2**0.5, 2**0.5], [2.0, 0.0], [0.0, 0.0]], rtol=1e-6)
