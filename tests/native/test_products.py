"""Products: memory follows the columns in use, not those that are declared."""

from __future__ import annotations

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
def test_a_product_of_billions_of_columns_is_that_of_those_in_use(max_entries):
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
