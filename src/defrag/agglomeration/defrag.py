"""Defrag, the feature agglomeration of the paper, and Hybrid, the recommended one.

Defrag clusters the vectors of the features by a balanced tree (``trees.py``). Hybrid keeps the
features with the most energy and hashes the others, which was better at the same number of groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from defrag import _native
from defrag._parameters import Choice, Float, Int, fitted, param
from defrag._progress import progress_bar
from defrag.agglomeration._clustering import SizedClustering, VectorClustering
from defrag.agglomeration._groups import random_buckets
from defrag.persistence.fields import Object, Part, State
from defrag.trees import (
    BALANCED_TREE,
    BalancedTree,
    build_tree,
    grow_freely,
    largest_ids,
    scale_vectors,
)
from defrag.typing import Csr, Ids, LabelsLike

_FREE = "ndcg-unbalanced"


class SingletonClustering(SizedClustering):
    """Base class of clusterings that may keep the features with the most energy.

    The others are put into random buckets, unless :meth:`_group_rest` is overridden.
    """

    singletons: float = param(
        Float(0.0, 1.0),
        "Fraction of the groups that are single features: those with the most energy, the sum "
        "of squares over unit rows.",
        default=0.0,
    )

    def _find_groups(self, X: Csr, Y: LabelsLike, seed: int) -> None:
        n_clusters = self._count_groups(X.shape[1])
        _, energy = _native.column_statistics(X, n_threads=self._threads)
        n_single = min(int(self.singletons * n_clusters), int(np.count_nonzero(energy > 0)))
        single = largest_ids(energy, n_single)
        others = np.setdiff1d(np.arange(X.shape[1], dtype=np.int32), single, assume_unique=True)
        labels = np.full(X.shape[1], -1, dtype=np.int32)
        labels[single] = np.arange(len(single), dtype=np.int32)
        self.n_iter_ = 1
        groups, n_groups = self._group_rest(X, Y, others, n_clusters - len(single), seed)
        labels[others] = np.where(groups >= 0, groups + len(single), -1)
        self._set_groups(X, labels, len(single) + n_groups, energy, self.scale)

    def _group_rest(
        self,
        X: Csr,  # noqa: ARG002 - of clusterings
        Y: LabelsLike,  # noqa: ARG002 - of clusterings
        features: Ids,
        n_clusters: int,
        seed: int,
    ) -> tuple[Ids, int]:
        """Return the groups of the features that are not singletons, and their number."""
        n_clusters = self._limit(n_clusters, features)
        return random_buckets(features, n_clusters, seed), n_clusters

    def _limit(self, n_clusters: int, features: Ids) -> int:
        """Return the number of groups of some features: at most one for each, at least one."""
        if n_clusters == 0 and len(features):
            raise ValueError(
                f"singletons={self.singletons} of {type(self).__name__} leaves no group for the "
                f"other {len(features)} features; lower it or set rest='drop'"
            )
        return min(n_clusters, len(features))


def _check_size(part: Part, model: Defrag) -> None:
    tree, n_features, n_clusters = model.tree_, part.size("labels"), part.size("n_clusters")
    if tree is not None and (len(tree.order) > n_features or tree.n_leaves > n_clusters):
        part.fail(f"the tree must have at most {n_features} items and {n_clusters} leaves, got "
                  f"{len(tree.order)} and {tree.n_leaves}")  # fmt: skip


class Defrag(SingletonClustering, VectorClustering):
    """Cluster sparse features into balanced groups and sum each group.

    With its defaults this is DEFRAG-X of the paper: features are represented by the
    points they occur in, and a tree of balanced spherical 2-means splits puts at most
    ``max_cluster_size`` of them into a group. ``representation="xy"`` is DEFRAG-XY, with at
    least 1,000 labels; ``min_labels=1`` makes it the paper's 5% of the labels, however few these
    are. ``split="ndcg"`` is DEFRAG-N, and a matrix or mapping of vectors DEFRAG-G. The options
    ``singletons``, ``rest`` and ``scale`` are not in the paper; see :class:`Hybrid`.

    See Also
    --------
    Hybrid : The recommended settings.
    sklearn.cluster.FeatureAgglomeration : For dense data with few features.

    Notes
    -----
    ``transform`` makes one pass over the non-zeros. The result is sparse if X is, and is
    bit-identical for any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from defrag import Defrag
    >>> X = sparse.csr_array(np.kron(np.eye(4), np.ones((3, 2))))
    >>> defrag = Defrag(max_cluster_size=2, sample_points=1.0, random_state=0).fit(X)
    >>> [sorted(np.flatnonzero(defrag.labels_ == k).tolist()) for k in defrag.labels_[::2]]
    [[0, 1], [2, 3], [4, 5], [6, 7]]
    >>> defrag.transform(X).shape
    (12, 4)
    """

    representation: Any = param(
        doc="The vector of a feature: its column of X, its row of X^T Y, or an external vector (a "
        "matrix with one row per feature, or a mapping from feature name to vector).",
        default="x",
    )
    split: str = param(
        Choice(("kmeans", "ndcg", _FREE)),
        "How a node is split: into halves, or each feature goes to the ranking that suits it.",
        default="kmeans",
    )
    max_cluster_size: int = param(
        doc="Maximum number of features in a group, d0 in the paper.", default=8
    )
    n_clusters: int | None = param(default=None)
    stop: str = param(
        doc="When a node becomes a group. The first is the rule of the paper's text and program, "
        "the second that of its tables: groups of up to ``2 * max_cluster_size - 1``.",
        default="leaf<=d0",
    )
    pooling: str = param(default="sum")
    sample_points: float = param(
        doc="Fraction of the points used for clustering, those with the largest volume first.",
        default=0.25,
    )
    volume: str = param(
        Choice(("l1", "l0")),
        "The volume of a point: its sum of absolute values, or its number of non-zeros.",
        default="l1",
    )
    sample_labels: float = param(default=0.05)
    min_labels: int = param(default=1000)
    popularity: str = param(
        Choice(("all", "sample")),
        "Whether label frequencies are counted on all points or on the sampled ones.",
        default="all",
    )
    row_norm: str | None = param(
        Choice((None, "l2")),
        "L2-normalise points before clustering; the paper does not.",
        default=None,
    )
    threshold: float = param(
        Float(0.0, 1.0),
        "Ignore coordinates of unit vectors whose absolute value is at most this.",
        default=0.0,
    )
    unseen: str = param(
        Choice(("fill", "cluster", "drop")),
        "Features that never occur fill the groups up to equal sizes, are clustered as zero "
        "vectors (as in the official program), or are dropped (group -1).",
        default="fill",
    )
    tol: float = param(
        Float(0.0),
        "A split stops when the relative increase of its objective is below this.",
        default=1e-3,
    )
    max_iter: int = param(Int(1, 2**31 - 1), "Maximum number of iterations of a split.", default=50)
    singletons: float = param(default=0.0)
    rest: str = param(
        Choice(("cluster", "hash", "drop")),
        "The other features are clustered, put into random buckets of equal size, or dropped.",
        default="cluster",
    )
    scale: str | None = param(
        doc="Scale each group to the energy of its features on the training data, so that groups "
        "of features that occur together do not dominate the others.",
        default=None,
    )

    tree_: BalancedTree | None = fitted(
        "BalancedTree or None", "The tree over the clustered features, if any."
    )
    n_iter_: int = fitted("int", "Number of iterations of the longest split.")

    _state = State(
        Object("tree_", BALANCED_TREE, prefix="tree/", optional=True), finish=_check_size
    )

    def _find_groups(self, X: Csr, Y: LabelsLike, seed: int) -> None:
        sized = self.n_clusters is not None or self.singletons > 0.0
        if self.split == _FREE and sized:
            raise ValueError(
                f"split={_FREE!r} of Defrag requires n_clusters=None and singletons=0, got "
                f"{self.n_clusters} and {self.singletons:g}"
            )
        self.tree_ = None
        super()._find_groups(X, Y, seed)

    def _group_rest(
        self, X: Csr, Y: LabelsLike, features: Ids, n_clusters: int, seed: int
    ) -> tuple[Ids, int]:
        if self.rest == "drop" or not len(features):
            return np.full(len(features), -1, dtype=np.int32), 0
        if self.rest == "hash":
            return super()._group_rest(X, Y, features, n_clusters, seed)
        n_clusters = self._limit(n_clusters, features)
        vectors = self._vectors(
            X, Y, volume=self.volume, popularity=self.popularity, row_norm=self.row_norm
        )
        Z = scale_vectors(
            vectors, split=self.split, threshold=self.threshold, n_threads=self._threads
        )[features]
        if self.split == _FREE:
            limit = self.max_cluster_size
            limit = limit if self.stop == "leaf<=d0" else 2 * limit - 1
            groups, n_groups, self.n_iter_ = grow_freely(
                Z, max_leaf_size=limit, max_iter=self.max_iter, seed=seed
            )
            return groups, n_groups
        groups, self.tree_ = self._cluster(Z, n_clusters, seed)
        self.n_iter_ = max(1, int(self.tree_.n_rounds.max(initial=0)))
        return groups, self.tree_.n_leaves

    def _cluster(self, Z: Csr, n_clusters: int, seed: int) -> tuple[Ids, BalancedTree]:
        seen = np.diff(Z.indptr) > 0
        if self.unseen == "cluster":
            seen[:] = True
        items = Z if seen.all() else Z[seen]
        by_rule = self.n_clusters is None and self.singletons == 0.0
        with progress_bar("clustering features", enabled=self.verbose > 0) as progress:
            tree, free = build_tree(
                items,
                max_leaf_size=self.max_cluster_size,
                stop=self.stop,
                n_leaves=None if by_rule else min(n_clusters, len(seen)),
                capacity=int(seen.sum()) if self.unseen == "drop" else len(seen),
                split=self.split,
                tol=self.tol,
                max_iter=self.max_iter,
                seed=seed,
                n_jobs=self.n_jobs,
                progress=progress,
            )
        groups = np.full(len(seen), -1, dtype=np.int32)
        groups[seen] = tree.leaf_of_items()
        if self.unseen == "fill":
            groups[~seen] = np.repeat(np.arange(len(free), dtype=np.int32), free)
        return groups, tree

    def _needs_labels(self) -> bool:
        return super()._needs_labels() and self.rest == "cluster"

    def _needs_positive(self) -> bool:
        return bool(self.split != "kmeans")


class Hybrid(SingletonClustering):
    """Keep the features with the most energy and put the others into random buckets.

    This agglomeration, which is not in the paper, is the recommended one. Half of the groups
    are single features, those with the most energy (sum of squares over unit rows); all other
    features share the other half in random buckets of equal size, which are scaled to the
    energy of their features. At the same number of groups it loses about a quarter of the
    precision that the clusters of the paper lose, and it needs no clustering. The clusters of
    the paper merge words that occur together and leave fewer non-zeros per row, so that
    training is faster on long documents.

    See Also
    --------
    Defrag : The methods of the paper, and all options.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from defrag.agglomeration import Hybrid
    >>> X = sparse.random_array((50, 40), density=0.2, rng=np.random.default_rng(0))
    >>> Hybrid(n_clusters=10, random_state=0).fit(X).transform(X.tocsr()).shape
    (50, 10)
    """

    singletons: float = param(doc="Fraction of the groups that are single features.", default=0.5)
    scale: str | None = param(default="energy")
