"""Initial clusters of a sample by k-means, none of them empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defrag import _native
from defrag.agglomeration._budget import random_buckets
from defrag.agglomeration._groups import membership

if TYPE_CHECKING:
    from defrag.typing import Csr, Ids, Progress

__all__ = ["start_clusters", "sum_clusters"]

_TOLERANCE = 1e-4


def start_clusters(
    items: Csr,
    n_clusters: int,
    *,
    n_sampled: int,
    max_rounds: int,
    seed: int,
    n_threads: int,
    progress: Progress | None = None,
) -> Ids:
    """Return clusters of a random sample by spherical k-means.

    Parameters
    ----------
    items : csr_array
        Non-zero unit vectors.
    n_clusters : int
        Number of clusters; at most the number of items.
    n_sampled : int
        Size of the sample.
    max_rounds : int
        Maximum number of iterations.
    seed : int
        Seed of the sample and of the initial centres.
    n_threads : int
        Number of threads.
    progress : callable, optional
        Called with the fraction of the work that is done.

    Returns
    -------
    cluster : ndarray of int32
        The cluster of each item, -1 outside the sample.
    """
    all_items = np.arange(items.shape[0], dtype=np.int32)
    shuffled = np.argsort(random_buckets(all_items, max(1, len(all_items)), seed))
    sample = np.sort(shuffled[:n_sampled])
    found = _native.spherical_kmeans(
        items[sample],
        n_clusters=n_clusters,
        tolerance=_TOLERANCE,
        max_rounds=max_rounds,
        seed=seed,
        n_threads=n_threads,
        progress=progress,
    )
    cluster = np.full(items.shape[0], -1, dtype=np.int32)
    cluster[sample] = found.cluster
    # An empty cluster gets the next shuffled item whose cluster does not become empty.
    sizes = np.bincount(found.cluster[found.cluster >= 0], minlength=n_clusters)
    empty = np.flatnonzero(sizes == 0).tolist()
    for item in shuffled.tolist():
        if not empty:
            break
        old = int(cluster[item])
        if old < 0 or sizes[old] > 1:
            if old >= 0:
                sizes[old] -= 1
            cluster[item] = empty.pop()
    return cluster


def sum_clusters(items: Csr, cluster: Ids, n_clusters: int, n_threads: int) -> Csr:
    """Return the sum of the items of each cluster."""
    return _native.multiply(membership(cluster, n_clusters), items, n_threads=n_threads)
