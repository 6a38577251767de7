"""Features and trees that keep their places when a model is trained again."""

import numpy as np
import pytest
from scipy import sparse

from defrag import LabelTree, TextClassifier, TextVectorizer, load
from tests.text.data import make_texts

OLD = ["sparse matrix here", "sparse matrix there", "old word here", "old word there", "a b"]
NEW = ["dense sparse matrix", "dense sparse matrix", "new matrix here", "new vector here"]
SETTINGS = [{}, {"ngrams": 2}, {"characters": 3}, {"ngrams": 2, "max_features": 5}]


def ids(model):
    return {name: number for number, name in enumerate(model.get_feature_names_out().tolist())}


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_features_keep_their_ids_and_new_ones_follow(settings, tmp_path):
    old = TextVectorizer(**settings).fit(OLD)
    alone = TextVectorizer(**settings)
    wanted = alone.fit_transform(NEW)
    model = TextVectorizer(**settings)
    rows = model.fit_transform(NEW, shape=old)
    before, after, fresh = ids(old), ids(model), ids(alone)
    assert set(after) == set(before) | set(fresh)
    assert set(fresh) - set(before)
    assert set(before) - set(fresh)
    for name, number in after.items():
        assert number == before[name] if name in before else number >= len(before)
        assert (model.idf_[number] > 0) == (name in fresh)
    order = [after[name] for name in fresh]
    assert rows.nnz == wanted.nnz
    assert rows.has_sorted_indices
    # Their squares are added in another order.
    np.testing.assert_allclose(rows.toarray()[:, order], wanted.toarray(), rtol=1e-6)
    model.save(tmp_path / "a")
    again = load(tmp_path / "a")
    many = [*OLD, *NEW] * 20  # enough for the other kernel
    for one in (model, again):
        assert (one.transform(many) != many_rows(model, many)).nnz == 0
        found = one.transform(many).toarray()[:, order]
        np.testing.assert_allclose(found, alone.transform(many).toarray(), rtol=1e-6)
    text = "old word: sparse matrix"
    features, _, _ = again.spans(text)
    assert set(features.tolist()) == set(model.transform([text]).indices.tolist())


def many_rows(model, texts):
    """Transform texts one at a time."""
    return sparse.vstack([model.transform([text]) for text in texts], format="csr")


def test_the_same_texts_have_the_same_features():
    old = TextVectorizer(2).fit(OLD)
    model = TextVectorizer(2).fit(OLD, shape=old)
    for name in ("word_feature_", "pairs_", "idf_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(old, name))
    # What had gone comes back at its place.
    again = TextVectorizer(2).fit(OLD, shape=TextVectorizer(2).fit(NEW, shape=old))
    assert {name: ids(again)[name] for name in ids(old)} == ids(old)
    np.testing.assert_array_equal(again.idf_[: len(old.idf_)], old.idf_)


@pytest.mark.parametrize(
    "shape",
    [TextVectorizer(), TextVectorizer(characters=3).fit(OLD)],
    ids=["not fitted", "characters"],
)
def test_shape_requires_same_tokenisation(shape):
    with pytest.raises(ValueError, match="shape must be a fitted TextVectorizer with the same"):
        TextVectorizer().fit(NEW, shape=shape)


def test_a_classifier_that_follows_keeps_words_and_trees(tmp_path):
    texts, labels = make_texts(120)
    more, their_labels = make_texts(60, seed=1)
    words = [f"{text} entirely new" for text in more]
    old = TextClassifier(LabelTree(max_leaf_size=2), random_state=0).fit(texts, labels)
    old.save(tmp_path / "old")
    given = [*texts, *words], [*labels, *their_labels]
    model = TextClassifier(LabelTree(max_leaf_size=2), random_state=0)
    model.fit(*given, shape=tmp_path / "old")
    before, after = ids(old.vectorizer_), ids(model.vectorizer_)
    assert {name: after[name] for name in before} == before
    assert after["entirely new"] >= len(before)
    order = [old.base_.trees_[0].tree.order, model.base_.trees_[0].tree.order]
    np.testing.assert_array_equal(*order)
    assert model.score(*given) > 0.9
    # Other words cannot keep their ids.
    other = TextClassifier(model.base, TextVectorizer(characters=3), random_state=0)
    other.fit(*given, shape=old)
    assert ids(other.vectorizer_) == ids(TextVectorizer(characters=3).fit(given[0]))
