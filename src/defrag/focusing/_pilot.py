"""The pilot: importance of features for a coarse classification of the points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defrag import _native
from defrag._native import SolverOptions

if TYPE_CHECKING:
    from defrag.typing import Csr, Floats, Ids, Offsets

__all__ = ["feature_importance", "group_labels", "pilot_points"]

N_GROUPS = 16
"""Number of groups of labels: one block of the solver, which takes the time of a single label."""

_PASSES, _SHRINK, _SKIP = 2, 0.05, 0.03
# Sixteen outputs need no more, and the pilot copies its entries (8 bytes each).
_MAX_ENTRIES = 100_000_000


def pilot_points(X: Csr) -> Offsets | None:
    """Return evenly spaced points with about ``_MAX_ENTRIES`` non-zeros, or None for all points."""
    if X.nnz <= _MAX_ENTRIES:
        return None
    n_points = X.shape[0]
    n_chosen = max(1, n_points * _MAX_ENTRIES // int(X.nnz))
    return np.arange(n_chosen) * n_points // n_chosen


def group_labels(Y: Csr, seed: int) -> Ids:
    """Return a group for each label such that all groups have similar label frequencies.

    Every sixteen consecutive labels, in the order of decreasing frequency, are assigned to the
    sixteen groups at random.
    """
    frequency = np.bincount(Y.indices, minlength=Y.shape[1])
    order = np.argsort(-frequency, kind="stable")
    rng = np.random.default_rng([seed, 0])
    n_rounds = -(-len(order) // N_GROUPS)
    assigned = rng.permuted(np.tile(np.arange(N_GROUPS, dtype=np.int32), (n_rounds, 1)), axis=1)
    groups = np.empty(len(order), dtype=np.int32)
    groups[order] = assigned.ravel()[: len(order)]
    return groups


def feature_importance(
    X: Csr, Y: Csr, *, points: Offsets | None = None, seed: int, n_threads: int
) -> Floats:
    """Return the norm of each feature's weights in a linear classifier of label groups.

    Parameters
    ----------
    X : csr_array, shape (n_points, n_features)
        The points; the pilot is trained on their L2-normalised rows.
    Y : csr_array, shape (n_points, n_labels)
        Their labels.
    points : ndarray of int64, optional
        The points to train on; all if None.
    seed : int
        Seed.
    n_threads : int
        Number of threads.
    """
    groups = group_labels(Y if points is None else Y[points], seed)
    options = SolverOptions(
        max_passes=_PASSES, shrink=_SHRINK, skip=_SKIP, threshold=0.0, seed=seed
    )
    return _native.feature_importance(X, Y, groups, options, points=points, n_threads=n_threads)
