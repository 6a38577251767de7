"""Matrices on their way to the kernels and back."""

from __future__ import annotations

import os
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from defrag import _core

if TYPE_CHECKING:
    from defrag.typing import Csr, Floats, Ids, Offsets

__all__ = ["KernelRows", "csr_from_parts", "csr_parts", "inspect_csr", "n_threads"]

_CSR_STATES = ("canonical", "unsorted", "bad pointers", "bad indices")

# Scratch memory is per thread: more threads than this, and than processors, are never useful.
_MAX_THREADS = 64


def n_threads(n_jobs: int | None) -> int:
    """Translate scikit-learn's ``n_jobs`` into a number of threads."""
    if n_jobs is None:
        return 1
    if type(n_jobs) is int and 0 < n_jobs <= _MAX_THREADS:
        return n_jobs
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise ValueError(  # noqa: TRY004 - as every other bad parameter
            f"n_jobs must be an int or None, got {n_jobs!r}"
        )
    if 0 < n_jobs <= _MAX_THREADS:
        return int(n_jobs)
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    processors = available or 1
    if n_jobs > 0:
        return min(int(n_jobs), max(processors, _MAX_THREADS))
    return max(1, processors + 1 + int(n_jobs))


class KernelRows(NamedTuple):
    """A canonical matrix on its way from one kernel to the next.

    Making a scipy matrix takes longer than a search for one row.
    """

    indptr: Offsets
    indices: Ids
    data: Floats
    shape: tuple[int, int]


def csr_parts(X: Csr | KernelRows) -> tuple[Offsets, Ids, Floats]:
    """Give the three arrays of a canonical matrix in the types that the kernels take."""
    return (
        np.ascontiguousarray(X.indptr, dtype=np.int64),
        np.ascontiguousarray(X.indices, dtype=np.int32),
        np.ascontiguousarray(X.data, dtype=np.float32),
    )


def csr_from_parts(parts: tuple[Any, Any, Any], shape: tuple[int, int]) -> Csr:
    """Make a scipy matrix of the arrays a kernel returned; they are sorted and unique."""
    indptr, indices, data = parts
    if indptr[-1] <= np.iinfo(np.int32).max:
        # scipy wants one index type for both; the narrow one is free unless nnz is huge.
        indptr = indptr.astype(np.int32)
    result = sparse.csr_array((data, indices, indptr), shape=shape)
    result.has_canonical_format = True
    return result


def inspect_csr(indptr: Offsets, indices: Ids, *, n_cols: int) -> str:
    """Look at every index of a matrix from outside and name its state."""
    return _CSR_STATES[_core.inspect_csr(indptr, indices, n_cols=n_cols)]
