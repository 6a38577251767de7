"""Matrices side by side."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from defrag import _native


@pytest.mark.parametrize("widths", [[3], [4, 0, 1], [5, 200, 1, 7]])
@pytest.mark.parametrize("n_rows", [0, 1, 3000])
def test_columns_are_joined_as_by_scipy(widths, n_rows):
    rng = np.random.default_rng(n_rows)
    parts = [
        sparse.random_array((n_rows, width), density=0.2, rng=rng, dtype=np.float32, format="csr")
        for width in widths
    ]
    expected = sparse.hstack(parts, format="csr")
    for n_threads in (1, 3):
        found = _native.join_columns(parts, n_threads=n_threads)
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found.indptr, expected.indptr)
        np.testing.assert_array_equal(found.indices, expected.indices)
        assert found.data.tobytes() == expected.data.tobytes()


def test_matrices_that_do_not_fit_are_refused():
    rows = [sparse.csr_array((n, 2), dtype=np.float32) for n in (3, 4)]
    with pytest.raises(ValueError, match="must have the same rows"):
        _native.join_columns(rows, n_threads=1)
    with pytest.raises(ValueError, match="must be float32 CSR matrices"):
        _native.join_columns([np.ones(3)], n_threads=1)
    wide = [sparse.csr_array((1, 2**31 - 1), dtype=np.float32)] * 2
    with pytest.raises(ValueError, match=r"fewer than 2\*\*31 columns"):
        _native.join_columns(wide, n_threads=1)
