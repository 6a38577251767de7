"""Conversion to scipy matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from defrag._core import KernelRows
    from defrag.typing import Csr

__all__ = ["as_matrix", "csr_from_parts"]


def as_matrix(rows: Csr | KernelRows) -> Csr:
    """Return rows as a scipy matrix that shares their memory."""
    if isinstance(rows, sparse.csr_array):
        return rows
    return csr_from_parts((rows.indptr, rows.indices, rows.data), rows.shape)


def csr_from_parts(parts: tuple[Any, Any, Any], shape: tuple[int, int]) -> Csr:
    """Return a matrix from (indptr, indices, data) with sorted rows without duplicates."""
    indptr, indices, data = parts
    if indptr[-1] <= np.iinfo(np.int32).max:
        # scipy uses one integer type for both arrays and converts the narrower one otherwise.
        indptr = indptr.astype(np.int32)
    result = sparse.csr_array((data, indices, indptr), shape=shape)
    result.has_canonical_format = True
    return result
