"""First centres, by the k-means kernel: none of them without a feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defrag import _native
from defrag.agglomeration._budget import deal_buckets
from defrag.agglomeration._groups import membership

if TYPE_CHECKING:
    from defrag.typing import Csr, Ids, Progress

__all__ = ["add_up", "start_clusters"]

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
    """Cluster a random sample by spherical k-means.

    Parameters
    ----------
    items : csr_array
        Vectors of length 1, none of them empty.
    n_clusters : int
        How many clusters; fewer where there are fewer items.
    n_sampled : int
        Size of the sample.
    max_rounds : int
        The most rounds.
    seed : int
        Of the sample and of the starts.
    n_threads : int
        Threads.
    progress : callable, optional
        Told the share done.

    Returns
    -------
    cluster : ndarray of int32
        The cluster of each item, -1 outside the sample.
    """
    everybody = np.arange(items.shape[0], dtype=np.int32)
    # Shuffled like a pack of cards; the first are the sample.
    pack = np.argsort(deal_buckets(everybody, max(1, len(everybody)), seed))
    sample = np.sort(pack[:n_sampled])
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
    # A cluster that lost all its items begins again with one of the pack, if that does not
    # empty another.
    sizes = np.bincount(found.cluster[found.cluster >= 0], minlength=n_clusters)
    empty = np.flatnonzero(sizes == 0).tolist()
    for item in pack.tolist():
        if not empty:
            break
        old = int(cluster[item])
        if old < 0 or sizes[old] > 1:
            if old >= 0:
                sizes[old] -= 1
            cluster[item] = empty.pop()
    return cluster


def add_up(items: Csr, cluster: Ids, n_clusters: int, n_threads: int) -> Csr:
    """Add up the items of each cluster."""
    return _native.multiply(membership(cluster, n_clusters), items, n_threads=n_threads)
