"""Arguments of kernels: what is refused, by which error, before a kernel sees it."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from defrag import LabelTree, _core, _native
from defrag._native import SolverOptions
from tests.data import random_csr
from tests.helpers.bits import bits
from tests.helpers.processes import run_in_child
from tests.oracles.label_trees import flat_tree


def matrix(n_rows=6, n_cols=5):
    return random_csr(n_rows, n_cols, density=0.5)


def fitted():
    X, Y = matrix(40, 12), matrix(40, 9)
    Y.data[:] = 1.0
    return LabelTree(random_state=0, max_leaf_size=3).fit(X, Y), X


def rows(indptr, indices, shape):
    data = np.ones(len(indices), dtype=np.float32)
    return SimpleNamespace(
        indptr=np.array(indptr), indices=np.array(indices, dtype=np.int32), data=data, shape=shape
    )


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([], [0, 1, 2], "must|row pointers"),
        ([0, 2, 1, 3], [0, 1, 2], "row pointers"),
        ([1, 2, 3, 3], [0, 1, 2], "row pointers"),
        ([0, 1, 2, 9], [0, 1, 2], "row pointers"),
        ([0, 1, 2, 3], [0, 1, 5], r"column index of a matrix is outside \[0, 5\)"),
        ([0, 1, 2, 3], [0, -1, 2], r"column index of a matrix is outside \[0, 5\)"),
        ([0, 1, 2, 3], [0, 1, 2**31 - 1], r"column index of a matrix is outside \[0, 5\)"),
    ],
)
def test_broken_matrices_are_refused(indptr, indices, message):
    broken = rows(indptr, indices, (3, 5))
    one, dense = np.ones((1, 1)), np.ones((5, 2), dtype=np.float32)
    for kernel in (
        lambda: _native.column_statistics(broken, n_threads=1),
        lambda: _native.sparse_dense(broken, dense, n_threads=1),
        lambda: _native.pair_products(broken, dense, dense, n_threads=1),
        lambda: _native.rank_votes(0 * one, one, broken, k=1, n_threads=1),
    ):
        with pytest.raises(ValueError, match=message):
            kernel()


def test_matrix_with_fewer_values_is_refused():
    broken = rows([0, 1, 2, 3], [0, 1, 2], (3, 5))
    broken.data = broken.data[:2]
    with pytest.raises(ValueError, match=r"must|row pointers"):
        _native.column_statistics(broken, n_threads=1)


def test_groups_out_of_range_are_refused():
    full = sparse.csr_array(np.ones((2, 5), dtype=np.float32))
    for group in (3, 7):
        groups = np.array([0, 1, 2, group, -1], dtype=np.int32)
        with pytest.raises(ValueError, match=f"feature 3 is in group {group}, but there are 3"):
            _native.agglomerate(full, groups, n_groups=3, n_threads=2)
    pooled = _native.agglomerate(full, groups, n_groups=2**31 - 1, n_threads=2)
    assert pooled.nnz == 8


def test_sums_beyond_float32_are_an_error():
    huge = sparse.csr_array(np.full((2, 4), 3e38, dtype=np.float32))
    groups = np.zeros(4, dtype=np.int32)
    with pytest.raises(ValueError, match="row 0: the features of group 0 add up to more than"):
        _native.agglomerate(huge, groups, n_groups=1, n_threads=1)


@pytest.mark.parametrize("beam_size", [0, -3])
def test_empty_beam_is_refused(beam_size):
    model, X = fitted()
    member = model.trees_[0]
    with pytest.raises(ValueError, match=f"beam_size must be at least 1, got {beam_size}"):
        _native.beam_search(member.tree, member.weights, X, beam_size=beam_size)


def test_rows_narrower_than_the_model_are_searched():
    model, X = fitted()
    member = model.trees_[0]
    narrow = sparse.csr_array(X[:, :4])
    wide = sparse.csr_array((narrow.data, narrow.indices, narrow.indptr), shape=X.shape)
    found = _native.beam_search(member.tree, member.weights, narrow)
    expected = _native.beam_search(member.tree, member.weights, wide)
    assert bits(found) == bits(expected)


def search_wide_rows(_step):
    model, X = fitted()
    member = model.trees_[0]
    X = sparse.csr_array(sparse.vstack([X] * 50))
    declared = sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], 2**31 - 1))
    expected = _native.beam_search(member.tree, member.weights, X)
    found = _native.beam_search(member.tree, member.weights, declared)  # 8.6 GB, were it dense
    assert bits(found) == bits(expected)
    with pytest.raises(ValueError, match=r"fewer than 2\^26 features, got 2147483647"):
        _native.solve_blocks(declared, sparse.csr_array(X.T), SolverOptions(), n_threads=1)


def test_memory_is_proportional_to_entries():
    run_in_child(search_wide_rows)


@pytest.mark.parametrize("label", [3, 9])
def test_tree_of_other_labels_is_refused(label):
    X, positives = matrix(2, 3), sparse.csr_array((3, 2), dtype=np.float32)
    tree = flat_tree([[0, 1], [2, label]])
    with pytest.raises(ValueError, match=f"a label tree holds label {label}, but there are 3"):
        _native.train_label_tree(X, positives, tree, SolverOptions(), n_threads=1)


def test_candidates_without_prototype_are_refused():
    X, prototypes = matrix(2, 5), matrix(3, 5)
    with pytest.raises(ValueError, match="a candidate must have a prototype"):
        _native.candidate_products(X, np.array([[0, 3], [1, -1]]), prototypes, n_threads=1)


def test_canonical_matrices_are_recognised():
    clean = matrix()
    assert _native.is_clean(clean)
    assert not _native.is_clean(clean.toarray())
    assert not _native.is_clean(clean.astype(np.float64))
    assert not _native.is_clean(rows([0, 2, 2, 3], [1, 0, 2], (3, 5)))
    assert not _native.is_clean(rows([0, 1, 2, 9], [0, 1, 2], (3, 5)))
    assert not _native.is_clean(rows([0, 1, 3], [0, 1, 2], (3, 5)))
    for value in (0.0, -0.0, np.nan, np.inf, -np.inf):
        bad = clean.copy()
        bad.data[3] = value
        assert not _native.is_clean(bad)


class Matrix:
    def __init__(self, error):
        self.error = error

    @property
    def shape(self):
        raise self.error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), RuntimeError("odd")])
def test_error_of_an_attribute_is_propagated(error):
    with pytest.raises(type(error)) as found:
        _core.sparse_dense(Matrix(error), np.zeros((2, 2), np.float32), n_threads=1)
    assert found.value is error


@pytest.mark.parametrize("thing", [Matrix(AttributeError("shape")), None, 3, np.zeros((2, 2))])
def test_non_matrix_is_a_type_error(thing):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.sparse_dense(thing, np.zeros((2, 2), np.float32), n_threads=1)


# --- Kernels of texts.


def corpus():
    return _core.TextCorpus(["two words", "two other words"], n_threads=1, progress=None)


def choose_terms(*, pairs, least=0, most=0, max_features=None):
    lengths = {"pairs": pairs, "least": least, "most": most}
    return corpus().choose_terms(**lengths, min_df=1, max_features=max_features, n_threads=1)


def features(words, word_feature, pairs=(), *, n_idf, least=0, most=0):
    numbers = (np.array(some, dtype=np.int32) for some in (word_feature, pairs))
    idf = np.ones(n_idf, dtype=np.float32)
    return _core.TextFeatures(_core.StringList(words), *numbers, idf, least=least, most=most)


@pytest.mark.parametrize(("least", "most"), [(-1, 3), (0, 3), (4, 3), (1, 0), (-3, -2)])
def test_bad_lengths_of_n_grams_are_refused(least, most):
    with pytest.raises(ValueError, match="n-grams must be positive and must not decrease"):
        choose_terms(pairs=False, least=least, most=most)
    with pytest.raises(ValueError, match="lengths of n-grams"):
        features(["ab"], [0], n_idf=1, least=least, most=most)


def test_negative_number_of_features_is_refused():
    with pytest.raises(ValueError, match="max_features must not be negative"):
        choose_terms(pairs=True, max_features=-1)


@pytest.mark.parametrize(
    ("words", "word_feature", "pairs", "n_idf", "message"),
    [
        (["ab", "cd"], [0], [], 1, "words must have a feature each"),
        (["ab", "cd"], [0, 2], [], 2, "features of words must be numbers of features or -1"),
        (["ab", "cd"], [0, -2], [], 2, "features of words must be numbers of features or -1"),
        (["ab", "ab"], [0, 1], [], 2, "words of a vocabulary must differ"),
        (["ab", "cd"], [0, 1], [0], 2, "pairs must have two words each"),
        (["ab", "cd"], [0, 1], [0, 2], 3, "pairs must be numbers of words"),
        (["ab", "cd"], [0, 1], [-1, 0], 3, "pairs must be numbers of words"),
        (["ab", "cd"], [0, 1], [0, 1, 0, 1], 4, "pairs of a vocabulary must differ"),
        (["ab"], [-1], [0, 0], 0, "features must have an idf each"),
    ],
)
def test_features_that_do_not_fit_are_refused(words, word_feature, pairs, n_idf, message):
    with pytest.raises(ValueError, match=message):
        features(words, word_feature, pairs, n_idf=n_idf)


def test_lists_of_strings_are_checked():
    strings = _core.StringList(["", "ab", "\u4e2d\0x"])
    assert len(strings) == 3
    assert list(strings) == ["", "ab", "\u4e2d\0x"]
    with pytest.raises(TypeError, match="bad argument type"):
        _core.StringList(["good", 3])


def test_words_may_differ_in_trailing_zeros_only():
    features(["ab", "ab\0\0"], [0, 1], n_idf=2)  # whose first bytes are the same


def test_wrong_number_of_stems_is_refused():
    with pytest.raises(ValueError, match="one replacement per word"):
        corpus().replace_words(["one"], n_threads=1)


def test_non_string_words_are_refused():
    with pytest.raises(TypeError, match="bad argument type"):
        _core.TextCorpus(["good", 3], n_threads=1, progress=None)
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        _core.TextCorpus(["\ud800"], n_threads=1, progress=None)
