"""Kernels over the companions of each feature; see ``cpp/core/companions.hpp``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from defrag import _core
from defrag._native.arrays import csr_from_parts, csr_parts

if TYPE_CHECKING:
    from defrag.typing import Csr, Floats

__all__ = ["companions"]


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
