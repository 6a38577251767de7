"""Products and joins of sparse matrices."""

import numpy as np
import pytest
from scipy import sparse

from defrag import _native
from tests.data import random_csr
from tests.helpers.processes import run_in_child

WIDE = 2**31 - 1


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
    wide = [sparse.csr_array((1, 2**31 - 1), dtype=np.float32)] * 2
    with pytest.raises(ValueError, match=r"fewer than 2\*\*31 columns"):
        _native.join_columns(wide, n_threads=1)
