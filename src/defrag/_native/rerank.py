"""Kernels over candidate labels; see ``cpp/core/rerank.hpp``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defrag import _core
from defrag._native.arrays import KernelRows, csr_parts

if TYPE_CHECKING:
    from defrag.typing import Csr, Floats, Ids

__all__ = ["candidate_products", "rank_candidates"]


def candidate_products(
    X: Csr | KernelRows, labels: Ids, prototypes: Csr, *, n_threads: int
) -> Floats:
    """Multiply each row with the prototypes of its candidates; 0 where a label is -1."""
    found = _core.candidate_products(
        csr_parts(X),
        np.ascontiguousarray(labels, dtype=np.int32).ravel(),
        csr_parts(prototypes),
        n_features=X.shape[1],
        n_columns=labels.shape[1],
        n_threads=n_threads,
    )
    return np.asarray(found).reshape(labels.shape)


def rank_candidates(
    labels: Ids,
    log_scores: Floats,
    cosines: Floats,
    bonus: Floats,
    *,
    strengths: Floats,
    weights: Floats,
    k: int,
    n_threads: int,
) -> Ids:
    """Give the columns of the best candidates, ``(n, n_weighings, k)``, -1 where fewer."""
    columns = _core.rank_candidates(
        np.ascontiguousarray(labels, dtype=np.int32).ravel(),
        np.ascontiguousarray(log_scores, dtype=np.float32).ravel(),
        np.ascontiguousarray(cosines, dtype=np.float32).ravel(),
        np.ascontiguousarray(bonus, dtype=np.float32),
        np.ascontiguousarray(strengths, dtype=np.float32),
        np.ascontiguousarray(weights, dtype=np.float32),
        n_columns=labels.shape[1],
        k=k,
        n_threads=n_threads,
    )
    return np.asarray(columns).reshape(len(labels), len(strengths), k)
