"""Products and joins of sparse matrices."""

import numpy as np
import pytest
from scipy import sparse

from defrag import _native
from tests.helpers.processes import run_in_child

WIDE = 2**31 - 1


def spread(matrix, columns, width):
    """Move the columns of a matrix to others, in the same order."""
    indices = columns[matrix.indices].astype(np.int32)
    return sparse.csr_array((matrix.data, indices, matrix.indptr), (matrix.shape[0], width))


def two_factors():
    rng = np.random.default_rng(0)
    left = sparse.random_array((40, 30), density=0.3, rng=rng, format="csr", dtype=np.float32)
    right = sparse.random_array((30, 50), density=0.3, rng=rng, format="csr", dtype=np.float32)
    return left, right


@pytest.mark.parametrize("max_entries", [0, 7])
def test_product_takes_memory_for_used_columns_only(max_entries):
    left, right = two_factors()
    columns = np.sort(np.random.default_rng(1).choice(WIDE, 50, replace=False))
    columns[-1] = WIDE - 1

    def multiply(_step):
        narrow, wide = (
            _native.multiply(left, one, max_entries=max_entries, n_threads=2)
            for one in (right, spread(right, columns, WIDE))
        )
        np.testing.assert_array_equal(wide.indptr, narrow.indptr)
        np.testing.assert_array_equal(wide.indices, columns[narrow.indices])
        np.testing.assert_array_equal(wide.data, narrow.data)

    run_in_child(multiply, gigabytes=0.5)


@pytest.mark.parametrize("widths", [[3], [4, 0, 1], [5, 200, 1, 7]])
@pytest.mark.parametrize("n_rows", [0, 1, 3000])
def test_join_columns_equals_scipy(widths, n_rows):
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


def test_mismatched_matrices_are_refused():
    rows = [sparse.csr_array((n, 2), dtype=np.float32) for n in (3, 4)]
    with pytest.raises(ValueError, match="must have the same rows"):
        _native.join_columns(rows, n_threads=1)
    with pytest.raises(ValueError, match="must be float32 CSR matrices"):
        _native.join_columns([np.ones(3)], n_threads=1)
    wide = [sparse.csr_array((1, 2**31 - 1), dtype=np.float32)] * 2
    with pytest.raises(ValueError, match=r"fewer than 2\*\*31 columns"):
        _native.join_columns(wide, n_threads=1)
