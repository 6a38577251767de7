"""Nearest neighbours of points by their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from defrag import _native

if TYPE_CHECKING:
    from defrag.typing import Csr

__all__ = ["label_neighbours"]


def label_neighbours(Y: Csr, n_neighbours: int, *, power: float, n_threads: int) -> Csr:
    """Return the points with the most similar labels, for each point, including itself.

    Parameters
    ----------
    Y : csr_array, shape (n_points, n_labels)
        0/1 labels.
    n_neighbours : int
        Maximum number of neighbours; points without a common label are not neighbours.
    power : float
        The similarity is the number of common labels divided by the number of labels of the
        neighbour, raised to this power; 0.5 gives the order of cosines.
    n_threads : int
        Number of threads.

    Returns
    -------
    neighbours : csr_array, shape (n_points, n_points)
        The similarities, with sorted columns.
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
