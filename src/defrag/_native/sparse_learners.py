"""Kernels that train linear classifiers with few weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from defrag import _core
from defrag._native.arrays import csr_from_parts, csr_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr, Offsets, Progress

__all__ = [
    "PpdSparseOptions",
    "ProxmlOptions",
    "ProxmlSolution",
    "train_ppd_sparse",
    "train_proxml",
]


@dataclass(frozen=True)
class PpdSparseOptions:
    """What PPDSparse solves, and how; see ``cpp/core/ppd_sparse.hpp``."""

    cost: float = 1.0
    l1: float = 0.05
    bias: float = 0.3
    max_rounds: int = 3
    passes: int = 2
    slack: float = 0.3
    final_passes: int = 1
    skip: float = 1e-2
    threshold: float = 0.01
    seed: int = 0
    instructions: str = "best"


@dataclass(frozen=True)
class ProxmlOptions:
    """What ProXML solves, and how; see ``cpp/core/proxml.hpp``."""

    cost: float = 1.0
    l1: float = 0.1
    max_rounds: int = 50
    max_sweeps: int = 10
    tolerance: float = 1e-2


@dataclass(frozen=True)
class ProxmlSolution:
    """Classifiers of labels by features and, last, the bias; and how each came about."""

    weights: Csr
    rounds: Offsets
    converged: NDArray[np.bool_]
    objective: NDArray[np.float64]


def train_ppd_sparse(
    X: Csr,
    positives: Csr,
    options: PpdSparseOptions,
    *,
    first: int = 0,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Csr:
    """Train a classifier per row of ``positives``, labels by points.

    The weights come as labels by features and, last, the bias. Random streams are keyed by
    ``first``, a multiple of 16, plus the number of the row.
    """
    core = _core.PpdSparseOptions()
    for name, value in asdict(options).items():
        setattr(core, name, value)
    parts = _core.train_ppd_sparse(
        csr_parts(X),
        csr_parts(positives),
        n_features=X.shape[1],
        first=first,
        options=core,
        n_threads=n_threads,
        progress=progress,
    )
    return csr_from_parts(parts, (positives.shape[0], X.shape[1] + 1))


def train_proxml(
    X: Csr,
    positives: Csr,
    options: ProxmlOptions,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> ProxmlSolution:
    """Train a classifier per row of ``positives``, labels by points."""
    core = _core.ProxmlOptions()
    for name, value in asdict(options).items():
        setattr(core, name, value)
    parts, rounds, converged, objective = _core.train_proxml(
        csr_parts(X),
        csr_parts(positives),
        n_features=X.shape[1],
        options=core,
        n_threads=n_threads,
        progress=progress,
    )
    weights = csr_from_parts(parts, (positives.shape[0], X.shape[1] + 1))
    return ProxmlSolution(weights, rounds, converged.astype(np.bool_), objective)
