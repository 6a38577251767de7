"""Kernels over the companions of each feature; see ``cpp/core/companions.hpp``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from defrag import _core
from defrag._native.arrays import KernelRows, csr_from_parts, csr_parts

if TYPE_CHECKING:
    from defrag.typing import Csr, Floats

__all__ = ["companions", "impute_companions"]


def companions(
    columns: Csr,
    X: Csr,
    weights: Floats,
    *,
    n_best: int,
    max_rows: int,
    ridge: float,
    common: float,
    seed: int,
    n_threads: int,
) -> Csr:
    """Give what each feature says about itself and its strongest companions, one row each."""
    parts = _core.companions(
        csr_parts(columns),
        csr_parts(X),
        weights,
        n_best=n_best,
        max_rows=max_rows,
        ridge=ridge,
        common=common,
        seed=seed,
        n_threads=n_threads,
    )
    return csr_from_parts(parts, (X.shape[1], X.shape[1]))


def impute_companions(
    X: Csr | KernelRows,
    C: Csr,
    betas: Floats | None,
    *,
    max_growth: int,
    usual_size: int = 0,
    max_entries: int = 0,
    n_threads: int,
) -> Csr:
    """Add to rows of length 1 the companions of their features; None: replace rows by those."""
    parts = _core.impute_companions(
        csr_parts(X),
        csr_parts(C),
        betas,
        max_growth=max_growth,
        usual_size=usual_size,
        max_entries=max_entries,
        n_threads=n_threads,
    )
    return csr_from_parts(parts, X.shape)
