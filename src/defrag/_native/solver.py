"""One-vs-rest training; see ``cpp/core/solver.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from defrag import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from defrag.typing import Csr, Floats, Offsets, Progress

__all__ = ["FlatSolution", "solve_blocks"]


@dataclass(frozen=True)
class FlatSolution:
    """Classifiers, shape (n_features, n_labels), and the final state of each."""

    weights: Csr
    bias: Floats
    passes: Offsets
    converged: NDArray[np.bool_]
    violation: NDArray[np.float64]
    primal: NDArray[np.float64]
    dual: NDArray[np.float64]


def solve_blocks(
    X: Csr,
    positives: Csr,
    options: _core.SolverOptions,
    *,
    first_block: int = 0,
    n_threads: int,
    progress: Progress | None = None,
) -> FlatSolution:
    """Train a classifier for each row of ``positives``, the points of a label, in blocks of 16.

    The result for a label depends on the labels of its block and on the number of the block;
    the first block has the number ``first_block``.
    """
    arrays = _core.solve_blocks(
        X, positives, options, first_block=first_block, n_threads=n_threads, progress=progress
    )
    return FlatSolution(*arrays)
