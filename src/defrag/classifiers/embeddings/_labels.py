"""Neighbours of points by their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from defrag import _native

if TYPE_CHECKING:
    from defrag.typing import Csr

__all__ = ["label_neighbours"]


def label_neighbours(Y: Csr, n_neighbours: int, *, power: float, n_threads: int) -> Csr:
    """Find the points with the most similar labels, each point among its own.

    Parameters
    ----------
    Y : csr_array, shape (n_points, n_labels)
        0/1 labels.
    n_neighbours : int
        How many points, those with a common label only.
    power : float
        The similarity is the number of common labels over the number of labels of the
        neighbour to this power: 0.5 orders by cosine.
    n_threads : int
        Threads.

    Returns
    -------
    neighbours : csr_array, shape (n_points, n_points)
        The similarities; columns rise.
    """
    counts = np.diff(Y.indptr)
    scaled = Y.copy()
    scaled.data = np.repeat(np.maximum(counts, 1) ** -power, counts).astype(np.float32)
    best = _native.best_matches(
        Y, sparse.csr_array(scaled.T), n_best=n_neighbours, n_threads=n_threads
    )
    found = sparse.csr_array(
        (best.scores, best.columns, best.indptr), shape=(Y.shape[0], Y.shape[0])
    )
    found.sort_indices()
    return found
