"""Products and joins of matrices, and what embeddings need: nearest rows, votes, matches."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import _native
from defrag._native import Instructions, RowPanels
from defrag._validation import canonical_csr
from tests.data import random_csr, unit_items
from tests.helpers.bits import bits
from tests.helpers.processes import run_in_child
from tests.oracles.embeddings import best_rows, pair_dots, votes
from tests.oracles.rivals import best_columns

WIDE = 2**31 - 1
VERSIONS = [v for v in list(Instructions)[1:] if _native.can_run(v)]


def dense(seed, n_rows, n_cols):
    return np.random.default_rng(seed).standard_normal((n_rows, n_cols)).astype(np.float32)


def check_same_bits(kernel, *arguments):
    """Check that a kernel has one result with any threads and instructions; return it."""
    found = kernel(*arguments, n_threads=1)
    for version, n_threads in product(VERSIONS, (1, 3)):
        again = kernel(*arguments, n_threads=n_threads, instructions=version)
        np.testing.assert_array_equal(again, found)
    return found


@pytest.mark.parametrize("n_cols", [1, 7, 16, 63, 64, 65, 150])
def test_sparse_dense_product_equals_scipy(n_cols):
    A = unit_items(n_cols, n=300, n_coords=40, signed=True)
    B = dense(n_cols, 40, n_cols)
    found = check_same_bits(_native.sparse_dense, A, B)
    np.testing.assert_allclose(found, A.toarray().astype(np.float64) @ B, atol=1e-5)


@pytest.mark.parametrize("n_cols", [1, 15, 16, 17, 100])
def test_pair_products_equal_numpy(n_cols):
    pattern = unit_items(5, n=90, n_coords=50)
    left, right = dense(1, 90, n_cols), dense(2, 50, n_cols)
    found = check_same_bits(_native.pair_products, pattern, left, right)
    np.testing.assert_allclose(found, pair_dots(pattern, left, right), atol=1e-4)


@given(
    st.integers(0, 10**6),
    st.tuples(st.integers(0, 40), st.integers(0, 70), st.integers(1, 9)),
    st.integers(1, 80),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_nearest_rows_equal_the_oracle(seed, sizes, n_best, biased):
    n_queries, n_rows, n_cols = sizes
    # Small whole numbers: every sum is exact, and ties are many.
    draw = np.random.default_rng(seed)
    queries = draw.integers(-2, 3, (n_queries, n_cols)).astype(np.float32)
    rows = draw.integers(-2, 3, (n_rows, n_cols)).astype(np.float32)
    bias = draw.integers(-1, 2, n_rows).astype(np.float32) if biased else None
    expected = best_rows(queries, rows, n_best, bias)
    panels = RowPanels.pack(rows, bias)
    np.testing.assert_array_equal(panels.unpack(), rows)
    for version, n_threads in product(VERSIONS, (1, 2)):
        ids, scores = _native.nearest_rows(
            queries, panels, n_best=n_best, n_threads=n_threads, instructions=version
        )
        np.testing.assert_array_equal(ids, expected[0])
        np.testing.assert_array_equal(scores, expected[1])


def test_single_query_and_batch_give_the_same_bits():
    queries, rows = dense(0, 100, 33), dense(1, 500, 33)
    panels = RowPanels.pack(rows, -(rows**2).sum(axis=1) / 2)
    ids, scores = _native.nearest_rows(queries, panels, n_best=10, n_threads=2)
    distances = ((queries[:, None] - rows[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(ids, np.argsort(distances, axis=1)[:, :10])
    for q in range(len(queries)):
        alone = _native.nearest_rows(queries[[q]], panels, n_best=10, n_threads=1)
        assert bits(alone) == bits((ids[[q]], scores[[q]]))


def test_nan_is_no_neighbour():
    rows = np.float32([[1.0], [np.inf], [np.nan], [-np.inf], [2.0]])
    queries = np.float32([[1.0], [0.0], [-1.0]])
    ids, scores = _native.nearest_rows(queries, RowPanels.pack(rows), n_best=5, n_threads=1)
    assert ids.tolist() == [[1, 4, 0, 3, -1], [0, 4, -1, -1, -1], [3, 0, 4, 1, -1]]
    assert scores[1].tolist() == [0.0] * 5


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(0, 12), st.integers(1, 15))
@settings(max_examples=60, deadline=None)
def test_votes_equal_the_oracle(seed, n_rows, n_neighbours, k):
    draw = np.random.default_rng(seed)
    Y = sparse.csr_array((draw.random((20, 11)) < 0.2).astype(np.float32))
    neighbours = draw.integers(-1, 20, (n_rows, n_neighbours)).astype(np.int32)
    weights = draw.integers(-1, 4, (n_rows, n_neighbours)).astype(np.float32)
    expected = votes(neighbours, weights, Y, k)
    for n_threads in (1, 3):
        labels, scores = _native.rank_votes(neighbours, weights, Y, k=k, n_threads=n_threads)
        np.testing.assert_array_equal(labels, expected[0])
        np.testing.assert_array_equal(scores, expected[1])


def test_mismatched_shapes_are_refused_before_a_kernel():
    identity = sparse.csr_array(np.eye(2, dtype=np.float32))
    with pytest.raises(ValueError, match="as many columns as B has rows"):
        _native.sparse_dense(identity, dense(0, 3, 3), n_threads=1)
    with pytest.raises(ValueError, match="equal columns"):
        _native.pair_products(identity, dense(0, 2, 3), dense(0, 2, 4), n_threads=1)
    panels = RowPanels.pack(dense(0, 20, 3))
    for bad in (
        RowPanels(panels.lines, 33),
        RowPanels(panels.lines, -1),
        RowPanels(panels.lines[:, :2].copy(), 20),
        RowPanels(panels.lines, 20, np.zeros(19, dtype=np.float32)),
    ):
        with pytest.raises(ValueError, match=r"panels must|bias for each"):
            _native.nearest_rows(dense(0, 4, 3), bad, n_best=2, n_threads=1)
    with pytest.raises(ValueError, match="rows of Y"):
        _native.rank_votes(np.array([[2]]), np.ones((1, 1)), identity, k=1, n_threads=1)


def whole_numbers(draw, shape, density, *, signed):
    """Return a random matrix whose products are exact, with many ties."""
    dense = draw.integers(-3 if signed else 0, 4, shape) * (draw.random(shape) < density)
    return canonical_csr(dense.astype(np.float32), name="m")


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_best=st.sampled_from([1, 2, 5, 99]),
    dense_share=st.sampled_from([0, 1, 3, 1000]),
    dense_bytes=st.sampled_from([0, 130, 1 << 20]),
    signed=st.booleans(),
)
def test_matches_equal_the_oracle(seed, n_best, dense_share, dense_bytes, signed):
    draw = np.random.default_rng(seed)
    left = whole_numbers(draw, (20, 9), 0.4, signed=signed)
    right = whole_numbers(draw, (9, 12), 0.3, signed=signed)
    own = draw.integers(0, 12, 20, dtype=np.int32)
    shares = {"dense_share": dense_share, "dense_bytes": dense_bytes}
    found = _native.best_matches(left, right, n_best=n_best, own=own, n_threads=1, **shares)
    pairs = list(zip(found.columns.tolist(), found.scores.tolist(), strict=True))
    rows = [pairs[begin:end] for begin, end in pairwise(found.indptr)]
    assert rows == best_columns(left.toarray(), right.toarray(), n_best)
    np.testing.assert_array_equal(found.own, (left @ right).toarray()[np.arange(20), own])


@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.parametrize("dense_share", [0, 8, 1000])
def test_threads_and_dense_lines_give_the_same_bits(n_threads, dense_share):
    left, right = random_csr(500, 80, density=0.1), random_csr(80, 60, density=0.1, seed=1)
    expected = _native.best_matches(left, right, n_best=4, n_threads=1)
    found = _native.best_matches(
        left, right, n_best=4, dense_share=dense_share, n_threads=n_threads
    )
    assert bits(found) == bits(expected)


def test_empty_matrices_have_no_matches():
    nothing = sparse.csr_array((0, 3), dtype=np.float32)
    index = sparse.csr_array((3, 0), dtype=np.float32)
    assert _native.best_matches(nothing, index, n_best=2, n_threads=1).indptr.tolist() == [0]
    rows = sparse.csr_array(np.ones((2, 3), dtype=np.float32))
    assert len(_native.best_matches(rows, index, n_best=2, n_threads=1).columns) == 0


def spread(matrix, columns, width):
    """Move the columns of a matrix to others, in the same order."""
    indices = columns[matrix.indices].astype(np.int32)
    return sparse.csr_array((matrix.data, indices, matrix.indptr), (matrix.shape[0], width))


def assert_same(found, expected):
    """Check every array of a matrix."""
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    assert found.data.tobytes() == expected.data.tobytes()


@pytest.mark.parametrize("max_entries", [0, 7])
def test_product_takes_memory_for_used_columns_only(max_entries):
    left, right = random_csr(40, 30, density=0.3), random_csr(30, 50, density=0.3)
    columns = np.sort(np.random.default_rng(1).choice(WIDE, 50, replace=False))
    columns[-1] = WIDE - 1

    def multiply(_step):
        narrow, wide = (
            _native.multiply(left, one, max_entries=max_entries, n_threads=2)
            for one in (right, spread(right, columns, WIDE))
        )
        assert_same(wide, spread(narrow, columns, WIDE))

    run_in_child(multiply, gigabytes=0.5)


@pytest.mark.parametrize("widths", [[3], [4, 0, 1], [5, 200, 1, 7]])
@pytest.mark.parametrize("n_rows", [0, 1, 3000])
def test_join_columns_equals_scipy(widths, n_rows):
    parts = [random_csr(n_rows, width, density=0.2, seed=n_rows) for width in widths]
    expected = sparse.hstack(parts, format="csr")
    for n_threads in (1, 3):
        assert_same(_native.join_columns(parts, n_threads=n_threads), expected)


def test_mismatched_matrices_are_refused():
    rows = [sparse.csr_array((n, 2), dtype=np.float32) for n in (3, 4)]
    with pytest.raises(ValueError, match="must have the same rows"):
        _native.join_columns(rows, n_threads=1)
    with pytest.raises(ValueError, match="must be float32 CSR matrices"):
        _native.join_columns([np.ones(3)], n_threads=1)
    wide = [sparse.csr_array((1, WIDE), dtype=np.float32)] * 2
    with pytest.raises(ValueError, match=r"fewer than 2\*\*31 columns"):
        _native.join_columns(wide, n_threads=1)
