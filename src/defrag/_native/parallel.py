"""Number of threads of the kernels."""

from __future__ import annotations

import os
from numbers import Integral

__all__ = ["n_threads"]

# Every thread needs scratch memory: more threads than this are used only if there are as many
# processors.
_MAX_THREADS = 64


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs`` of scikit-learn."""
    if n_jobs is None:
        return 1
    if type(n_jobs) is int and 0 < n_jobs <= _MAX_THREADS:
        return n_jobs
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise ValueError(  # noqa: TRY004 - as for all invalid parameters
            f"n_jobs must be an int or None, got {n_jobs!r}"
        )
    if 0 < n_jobs <= _MAX_THREADS:
        return int(n_jobs)
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    processors = available or 1
    if n_jobs > 0:
        return min(int(n_jobs), max(processors, _MAX_THREADS))
    return max(1, processors + 1 + int(n_jobs))
