"""Texts are ranked as rows of a kernel where the classifier takes them, with the same results."""

import gc

import numpy as np
import pytest

from defrag import DiSMEC, Focused, LabelTree, Refrag, TextClassifier, TextVectorizer, _native

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
