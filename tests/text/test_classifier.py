"""TextClassifier: texts and label names through fit, predict, files and scikit-learn's tools."""

import gc

import numpy as np
import pytest

from defrag import (
    Agglomerated,
    DiSMEC,
    Focused,
    Imputed,
    LabelTree,
    Refrag,
    TextClassifier,
    TextVectorizer,
    _native,
    load,
)
from defrag.agglomeration import Hybrid
from defrag.baselines import Parabel
from defrag.registry import entries
from tests.contract.subject import Subject
from tests.helpers.model_drafts import inside, refuse
from tests.text.data import TOPICS, ids, make_texts


def test_learns_and_answers_with_names():
    texts, labels = make_texts()
    model = TextClassifier(random_state=0).fit(texts[:90], labels[:90])
    assert model.classes_.tolist() == sorted(TOPICS)
    names, scores = model.predict_topk(texts[90:], k=2)
    assert names.shape == scores.shape == (30, 2)
    held = labels[90:]
    assert np.mean([name in given for (name, _), given in zip(names, held, strict=True)]) > 0.9
    assert model.score(texts[90:], held) > 0.9
    found = model.predict(texts[90:])
    assert np.mean([{*row} == {*given} for row, given in zip(found, held, strict=True)]) > 0.7


def test_is_its_parts():
    texts, labels = make_texts()
    model = TextClassifier(LabelTree(2), TextVectorizer(1), random_state=3).fit(texts, labels)
    X = TextVectorizer(1).fit_transform(texts)
    numbers = [[sorted(TOPICS).index(name) for name in row] for row in labels]
    base = LabelTree(2, random_state=3).fit(X, numbers)
    names, scores = model.predict_topk(texts, k=3)
    wanted, wanted_scores = base.predict_topk(X, k=3)
    np.testing.assert_array_equal(scores, wanted_scores)
    assert names.tolist() == [[sorted(TOPICS)[i] if i >= 0 else "" for i in row] for row in wanted]


def test_a_text_without_a_known_word_has_no_answer():
    texts, labels = make_texts()
    model = TextClassifier(random_state=0).fit(texts, labels)
    names, scores = model.predict_topk(["", "zzz xyzzy", texts[0]], k=2)
    assert names[:2].tolist() == [["", ""], ["", ""]]
    assert not scores[:2].any()
    assert names[2, 0]
    assert model.predict(["", "xyzzy"], threshold=0.0) == [[], []]


def test_more_labels_above_the_threshold_than_looked_at_first():
    names = [f"label{i}" for i in range(120)]
    texts = [f"word{i % 3} common" for i in range(30)]
    model = TextClassifier(DiSMEC(), TextVectorizer(min_df=1), random_state=0)
    model.fit(texts, [names] * 30)
    assert sorted(model.predict(texts[:1], threshold=0.5)[0]) == sorted(names)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([["a"], [3]], "labels of text 1 must be strings that are not empty, got 3"),
        ([["a"], [""]], "labels of text 1 must be strings that are not empty, got ''"),
        ([["a"], 4], "labels of text 1 must be a list of names, got 4"),
        ("ab", "labels must be a sequence of lists of names, got 'ab'"),
        ([[], []], "Y must have at least one label"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        TextClassifier().fit(["some words", "some words"], labels)


def test_bad_parts():
    with pytest.raises(ValueError, match="base of TextClassifier must be a Classifier, got 3"):
        TextClassifier(3).fit(["a b"], [["a"]])
    with pytest.raises(ValueError, match="vectorizer of TextClassifier must be a TextVectorizer"):
        TextClassifier(vectorizer=3).fit(["a b"], [["a"]])
    texts, labels = make_texts()
    model = TextClassifier(random_state=0).fit(texts, labels)
    for k in (0, 1.5, None):
        with pytest.raises(ValueError, match="k must be an int >= 1"):
            model.predict_topk(texts, k=k)
    with pytest.raises(ValueError, match="threshold must be a finite number"):
        model.predict(texts, threshold=2.0)


def test_file_with_other_labels_is_refused(tmp_path):
    TextClassifier(LabelTree(), random_state=0).fit(*make_texts()).save(tmp_path / "a")
    message = r"must have the labels of its owner \(3\), got 4"
    refuse(tmp_path, (tmp_path / "a").read_bytes(), inside("state", n_labels=3), message)


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


# --- Every classifier of the registry is a base.

BASES = {entry.word: Subject(entry).new() for entry in entries("classifier", "composite")}
STACKED = {
    "focus and refrag": Refrag(Focused(LabelTree())),
    "focus and imputation": Imputed(Focused(LabelTree())),
    "agglomeration of focus": Agglomerated(Focused(LabelTree()), Hybrid(n_clusters=12)),
    "focus of agglomeration": Focused(Agglomerated(Parabel(), Hybrid(n_clusters=12))),
}


@pytest.mark.parametrize("name", [*BASES, *STACKED])
def test_any_classifier_is_a_base(name, tmp_path):
    base = {**BASES, **STACKED}[name]
    texts, labels = make_texts()
    model = TextClassifier(base, TextVectorizer(2), random_state=0, n_jobs=1)
    model.fit(texts[:90], labels[:90])
    assert model.score(texts[90:], labels[90:]) > 0.5  # by chance: 0.4
    asked = [*texts[90:], "", "xyzzy"]
    names, scores = model.predict_topk(asked, k=3)
    assert names.shape == scores.shape == (32, 3)
    assert set(names.ravel()) <= {*model.classes_, ""}
    assert ((names == "") == (scores == 0)).all() or not scores[names == ""].any()
    assert (names[-2:] == "").all()
    assert (np.diff(scores, axis=1) <= 0).all()
    for row, found in zip(names, model.predict(asked, threshold=0.0), strict=True):
        assert [name for name in row if name] == found[: np.count_nonzero(row != "")]
    model.save(tmp_path / "a")
    again, scores_again = load(tmp_path / "a").predict_topk(asked, k=3)
    assert again.tolist() == names.tolist()
    np.testing.assert_array_equal(scores_again, scores)


# --- Texts are ranked as rows of a kernel where the classifier takes them, with the same results.

TEXTS = ["sparse matrix", "sparse vector", "fast sort", "quick sort", "sort a vector", "nothing"]
LABELS = [["algebra"], ["algebra"], ["sorting"], ["sorting"], ["algebra", "sorting"], ["rest"]]


@pytest.mark.parametrize(
    ("base", "takes_rows"),
    [
        (LabelTree(), True),
        (LabelTree(3), True),
        (Focused(LabelTree()), True),
        (Focused(Focused(LabelTree())), True),
        (DiSMEC(), False),
        (Focused(DiSMEC()), False),
        (Refrag(LabelTree()), False),
    ],
)
def test_rows_of_a_kernel_rank_as_a_matrix(base, takes_rows):
    model = TextClassifier(base, TextVectorizer(min_df=1), random_state=0).fit(TEXTS, LABELS)
    assert model.base_._ranks_kernel_rows is takes_rows
    asked = [*TEXTS, "a sparse vector of vectors", "sort"]
    labels, scores = model._predict_ids(asked, k=2)
    expected = model.base_._rank(model._rows(asked), 2, exhaustive=False)
    np.testing.assert_array_equal(labels, expected[0])
    np.testing.assert_array_equal(scores, expected[1])


def test_focus_keeps_the_kind_of_its_rows():
    model = TextClassifier(vectorizer=TextVectorizer(min_df=1), random_state=0).fit(TEXTS, LABELS)
    rows = model.vectorizer_._weigh(TEXTS)
    assert isinstance(rows, _native.KernelRows)
    kept = model.base_.focus_._apply(rows)
    assert isinstance(kept, _native.KernelRows)
    expected = model.base_.focus_._apply(model.vectorizer_.transform(TEXTS))
    assert (_native.as_matrix(kept) != expected).nnz == 0
    assert expected.nnz > 0


@pytest.mark.slow
def test_a_matrix_of_rows_keeps_their_memory():
    vectorizer = TextVectorizer(min_df=1).fit(TEXTS)
    X = vectorizer.transform(TEXTS)
    expected = X.toarray()
    for _ in range(20):
        vectorizer.transform(TEXTS * 50)
    gc.collect()
    np.testing.assert_array_equal(X.toarray(), expected)
    assert X.indptr.dtype == X.indices.dtype == np.int32
    assert X.has_canonical_format
    X.data[:] = 0.0  # is the caller's own
