"""Training of ProXML; see ``cpp/core/proxml.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from defrag import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from defrag.typing import Csr, Offsets, Progress

__all__ = ["ProxmlSolution", "train_proxml"]


@dataclass(frozen=True)
class ProxmlSolution:
    """Classifiers, shape (n_labels, n_features + 1), and the final state of each.

    The last column of ``weights`` contains the biases.
    """

    weights: Csr
    rounds: Offsets
    converged: NDArray[np.bool_]
    objective: NDArray[np.float64]


def train_proxml(
    X: Csr,
    positives: Csr,
    options: _core.ProxmlOptions,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> ProxmlSolution:
    """Train a classifier for each row of ``positives``, the points of a label."""
    arrays = _core.train_proxml(X, positives, options, n_threads=n_threads, progress=progress)
    return ProxmlSolution(*arrays)
