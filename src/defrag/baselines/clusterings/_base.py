"""What the clusterings have in common that the paper compares DEFRAG with.

They find as many groups as Defrag would (:class:`Rival`), most of them by vectors of the features
(:class:`VectorRival`), and refuse what would need more memory than they may use.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from defrag import _native
from defrag.agglomeration._clustering import SizedClustering, VectorClustering
from defrag.agglomeration._groups import membership, random_buckets
from defrag.trees import FeatureVectors, scale_vectors
from defrag.typing import Csr, Ids, LabelsLike, Progress

# --- Initial clusters of a sample by k-means, none of them empty.

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
    """Return the clusters of non-zero unit vectors by k-means of a random sample, -1 outside it."""
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
            sizes[old] -= old >= 0
            cluster[item] = empty.pop()
    return cluster


def sum_clusters(items: Csr, cluster: Ids, n_clusters: int, n_threads: int) -> Csr:
    """Return the sum of the items of each cluster."""
    return _native.multiply(membership(cluster, n_clusters), items, n_threads=n_threads)


class Rival(SizedClustering):
    """Base class of clusterings other than :class:`Defrag`, with the same interface.

    A subclass finds the groups in :meth:`_find`.
    """

    def _find_groups(self, X: Csr, Y: LabelsLike, seed: int) -> None:
        n_clusters = self._count_groups(X.shape[1])
        _, energy = _native.column_statistics(X, n_threads=self._threads)
        self.n_iter_ = 1
        groups = self._find(X, Y, n_clusters, seed)
        self._set_groups(X, groups, n_clusters, energy, self.scale)

    def _joint(self, X: Csr, Y: LabelsLike) -> Csr:
        """Return X^T Y, the joint distribution of features and labels up to its sum."""
        if X.nnz and X.data.min() < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}, which requires "
                f"values >= 0, got {float(X.data.min()):g}"
            )
        vectors = FeatureVectors(
            X, sample_points=1.0, volume="l1", row_norm=None, n_threads=self._threads
        )
        return vectors.joint(self._labels(Y, X.shape[0]))

    @abstractmethod
    def _find(self, X: Csr, Y: LabelsLike, n_clusters: int, seed: int) -> Ids:
        """Return ``n_clusters`` groups of the features of X, some maybe empty; set ``n_iter_``."""


class VectorRival(VectorClustering, Rival):
    """Base class of clusterings that represent features by vectors, as :class:`Defrag` does."""

    def _unit_vectors(self, X: Csr, Y: LabelsLike) -> tuple[Ids, Csr]:
        """Return the features with non-zero vectors, and their unit vectors."""
        Z = scale_vectors(
            self._vectors(X, Y), split="kmeans", threshold=0.0, n_threads=self._threads
        )
        seen = np.flatnonzero(np.diff(Z.indptr) > 0).astype(np.int32)
        return seen, Z if len(seen) == Z.shape[0] else Z[seen]


def check_memory(estimator: Any, n_bytes: float, what: str) -> None:
    """Raise ValueError if a clustering would need more memory than its ``max_memory_gb``."""
    if n_bytes > estimator.max_memory_gb * 1e9:
        raise ValueError(
            f"{type(estimator).__name__} needs about {n_bytes / 1e9:.1f} GB for {what}, more than "
            f"max_memory_gb={estimator.max_memory_gb:g}; use fewer groups, or Defrag, ITDC or SCBC"
        )
