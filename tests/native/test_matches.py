from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import _native
from defrag._validation import canonical_csr
from tests.oracles.rivals import best_columns


def matrices(seed, *, n=20, n_coords=9, n_cols=12, signed=False):
    """Whole numbers, so that sums are exact and ties are common."""
    draw = np.random.default_rng(seed)
    low = -3 if signed else 0
    left = draw.integers(low, 4, (n, n_coords)) * (draw.random((n, n_coords)) < 0.4)
    right = draw.integers(low, 4, (n_coords, n_cols)) * (draw.random((n_coords, n_cols)) < 0.3)
    return tuple(canonical_csr(m.astype(np.float32), name="m") for m in (left, right))


def rows_of(found):
    pairs = list(zip(found.columns.tolist(), found.scores.tolist(), strict=True))
    return [pairs[a:b] for a, b in pairwise(found.indptr)]


def bits(found):
    return tuple(getattr(found, part).tobytes() for part in ("indptr", "columns", "scores", "own"))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_best=st.sampled_from([1, 2, 5, 99]),
    dense_share=st.sampled_from([0, 1, 3, 1000]),
    dense_bytes=st.sampled_from([0, 130, 1 << 20]),
    signed=st.booleans(),
)
def test_the_slow_twin_finds_the_same(seed, n_best, dense_share, dense_bytes, signed):
    left, right = matrices(seed, signed=signed)
    own = np.random.default_rng(seed).integers(0, right.shape[1], left.shape[0], dtype=np.int32)
    found = _native.best_matches(
        left,
        right,
        n_best=n_best,
        own=own,
        dense_share=dense_share,
        dense_bytes=dense_bytes,
        n_threads=1,
    )
    assert rows_of(found) == best_columns(left.toarray(), right.toarray(), n_best)
    product = (left @ right).toarray()
    np.testing.assert_array_equal(found.own, product[np.arange(len(own)), own])


@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.parametrize("dense_share", [0, 8, 1000])
def test_threads_and_dense_lines_cannot_be_seen(n_threads, dense_share):
    draw = np.random.default_rng(0)
    left, right = (
        canonical_csr(sparse.random_array(shape, density=0.1, rng=draw, dtype=np.float32), name="m")
        for shape in ((500, 80), (80, 60))
    )
    expected = _native.best_matches(left, right, n_best=4, n_threads=1)
    found = _native.best_matches(
        left, right, n_best=4, dense_share=dense_share, n_threads=n_threads
    )
    assert bits(found) == bits(expected)


def test_no_rows_and_no_columns():
    nothing = sparse.csr_array((0, 3), dtype=np.float32)
    index = sparse.csr_array((3, 0), dtype=np.float32)
    assert _native.best_matches(nothing, index, n_best=2, n_threads=1).indptr.tolist() == [0]
    rows = sparse.csr_array(np.ones((2, 3), dtype=np.float32))
    assert len(_native.best_matches(rows, index, n_best=2, n_threads=1).columns) == 0
