"""Rows reduced to the entries that matter; see ``cpp/core/focus.hpp``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from defrag import _core
from defrag._native.arrays import csr_from_parts, csr_parts

if TYPE_CHECKING:
    from defrag.typing import Csr, Floats

__all__ = ["focus_rows"]


def focus_rows(X: Csr, importance: Floats, factor: Floats, *, budget: float, n_threads: int) -> Csr:
    """Keep the ``ceil(budget * sqrt(c))`` most important entries of rows with c entries.

    Parameters
    ----------
    X : csr_array
        The points.
    importance, factor : ndarray of float32, shape (n_features,)
        What an entry is ranked by, times its size, and what it is multiplied by.
    budget : float
        0 keeps every entry.
    n_threads : int
        Threads.
    """
    parts = _core.focus_rows(
        csr_parts(X), importance, factor, budget=budget, n_threads=n_threads, progress=None
    )
    return csr_from_parts(parts, X.shape)
