"""The batched solver."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from defrag import _core
from defrag._native.arrays import csr_from_parts, csr_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr, Floats, Offsets, Progress

__all__ = ["FlatSolution", "SolverOptions", "can_run", "solve_blocks"]


@dataclass(frozen=True)
class SolverOptions:
    """What the dual coordinate descent solves, and how; see ``cpp/core/solver.hpp``.

    Parameters
    ----------
    loss : {"squared_hinge", "logistic"}
        The loss of a margin.
    cost : float
        Weight of the losses against the regulariser, usually called C.
    bias : float
        Value of the bias feature, 0 for none.
    offset : bool
        Whether a fixed 2 p / m - 1 is part of the score of a label with p of m positives.
    max_passes : int
        Passes over the rows.
    tolerance : float
        Stop when the projected gradients lie within this; 0 for never.
    shrink : float
        Leave out rows whose lanes are all at zero with a gradient above this; inf for never.
    restore : int
        Visit all rows every so many passes, left out or not; 0 for never.
    skip : float
        Leave the weights alone when no dual variable of a row moves by more than this.
    threshold : float
        Drop weights of at most this size.
    measure : bool
        Compute the primal and dual objectives.
    seed : int
        Seed of the visiting orders.
    instructions : {"best", "baseline", "avx2", "avx512"}
        Which version of the vector code runs; all give the same bits.
    """

    loss: str = "squared_hinge"
    cost: float = 1.0
    bias: float = 0.3
    offset: bool = True
    max_passes: int = 8
    tolerance: float = 0.0
    shrink: float = 0.0
    restore: int = 0
    skip: float = 1e-2
    threshold: float = 0.1
    measure: bool = False
    seed: int = 0
    instructions: str = "best"

    def to_core(self) -> _core.SolverOptions:
        """Make the compiled module's twin of these options."""
        core = _core.SolverOptions()
        for name, value in asdict(self).items():
            setattr(core, name, value)
        return core


@dataclass(frozen=True)
class FlatSolution:
    """One-vs-rest classifiers of all labels, and how each came about."""

    weights: Csr
    bias: Floats
    passes: Offsets
    converged: NDArray[np.bool_]
    violation: NDArray[np.float64]
    primal: NDArray[np.float64]
    dual: NDArray[np.float64]


def can_run(instructions: str) -> bool:
    """Tell whether this processor can run a version of the vector code."""
    return bool(_core.can_run(instructions))


def solve_blocks(
    X: Csr,
    positives: Csr,
    options: SolverOptions,
    *,
    first_block: int = 0,
    n_threads: int,
    progress: Progress | None = None,
) -> FlatSolution:
    """Solve every row of ``positives``, the points of a label, against the rest, by sixteens.

    The weights come as a matrix of features by labels. The result for a label depends on the
    labels it shares a block of sixteen with and on the number of that block, counted from
    ``first_block``.
    """
    parts, bias, passes, converged, violation, primal, dual = _core.solve_blocks(
        csr_parts(X),
        csr_parts(positives),
        n_features=X.shape[1],
        options=options.to_core(),
        first_block=first_block,
        n_threads=n_threads,
        progress=progress,
    )
    weights = csr_from_parts(parts, (X.shape[1], positives.shape[0]))
    return FlatSolution(weights, bias, passes, converged.astype(np.bool_), violation, primal, dual)
