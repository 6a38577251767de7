"""Feature agglomeration: the paper's DEFRAG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from defrag import _native
from defrag._parameters import Choice, Float, Int
from defrag._progress import progress_bar
from defrag.agglomeration._clustering import GROUP_RULES, VECTOR_RULES, FeatureClustering
from defrag.agglomeration._groups import fill_groups, pick_singletons, random_buckets
from defrag.trees import build_tree, scale_vectors

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from defrag.trees import BalancedTree
    from defrag.typing import Csr, Ids, LabelsLike, Seed

__all__ = ["Defrag", "Hybrid"]


class Defrag(FeatureClustering):
    """Cluster sparse features into balanced groups and sum each group.

    With its defaults this is DEFRAG-X of the paper: features are represented by the
    points they occur in, and a tree of balanced spherical 2-means splits puts at most
    ``max_cluster_size`` of them into a group. ``representation="xy"`` is DEFRAG-XY,
    ``split="ndcg"`` DEFRAG-N, and a matrix or mapping of vectors DEFRAG-G. The options
    ``singletons``, ``rest`` and ``scale`` are not in the paper; see :class:`Hybrid`.

    Parameters
    ----------
    representation : {"x", "xy"}, matrix or mapping, default="x"
        The vector of a feature: its column of X, its row of X^T Y, or an external vector
        (a matrix with one row per feature, or a mapping from feature name to vector).
    split : {"kmeans", "ndcg"}, default="kmeans"
        How a node is split.
    max_cluster_size : int, default=8
        Maximum number of features in a group, d0 in the paper.
    n_clusters : int, optional
        Number of groups; overrides ``max_cluster_size``.
    stop : {"leaf<=d0", "leaf<2*d0"}, default="leaf<=d0"
        When a node becomes a group. The first is the rule of the paper's text and program,
        the second that of its tables: groups of up to ``2 * max_cluster_size - 1``.
    pooling : {"sum", "mean", "mean_nonzero"}, default="sum"
        The value of a group for a point: the sum of its features, the sum divided by the size
        of the group, or the sum divided by the number of its features that are non-zero.
    sample_points : float, default=0.25
        Fraction of the points used for clustering, those with the largest volume first.
    volume : {"l1", "l0"}, default="l1"
        The volume of a point: its sum of absolute values, or its number of non-zeros.
    sample_labels : float, default=0.05
        Fraction of the labels used by "xy", the most frequent first.
    min_labels : int, default=1000
        Minimum number of labels used by "xy".
    popularity : {"all", "sample"}, default="all"
        Whether label frequencies are counted on all points or on the sampled ones.
    row_norm : {None, "l2"}, default=None
        L2-normalise points before clustering; the paper does not.
    threshold : float, default=0.0
        Ignore coordinates of unit vectors whose absolute value is at most this.
    unseen : {"fill", "cluster", "drop"}, default="fill"
        Features that never occur fill the groups up to equal sizes, are clustered as zero
        vectors (as in the official program), or are dropped (group -1).
    tol : float, default=1e-3
        A split stops when the relative increase of its objective is below this.
    max_iter : int, default=50
        Maximum number of iterations of a split.
    singletons : float, default=0.0
        Fraction of the groups that are single features: those with the most energy, the sum
        of squares over unit rows.
    rest : {"cluster", "hash", "drop"}, default="cluster"
        The other features are clustered, put into random buckets of equal size, or dropped.
    scale : {None, "energy"}, default=None
        Scale each group to the energy of its features on the training data, so that groups of
        features that occur together do not dominate the others.
    random_state : int, RandomState, Generator or None, default=None
        Seed; an int gives the same groups for any ``n_jobs``.
    n_jobs : int, optional
        Number of threads, as in scikit-learn; -1 for all.
    verbose : bool or int, default=0
        Whether to show a progress bar on a terminal.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_features,)
        The group of each feature, or -1.
    n_clusters_ : int
        Number of groups.
    tree_ : BalancedTree or None
        The tree over the clustered features, if any.
    n_iter_ : int
        Number of iterations of the longest split.
    energy_ : ndarray of float64, shape (n_features,)
        Energy of each feature: its sum of squares over unit rows of the training data.
    scale_ : ndarray of float32, shape (``n_clusters_``,) or None
        Factors of the groups.
    n_features_in_ : int
        Number of features.

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

    def __init__(
        self,
        representation: Any = "x",
        *,
        split: str = "kmeans",
        max_cluster_size: int = 8,
        n_clusters: int | None = None,
        stop: str = "leaf<=d0",
        pooling: str = "sum",
        sample_points: float = 0.25,
        volume: str = "l1",
        sample_labels: float = 0.05,
        min_labels: int = 1000,
        popularity: str = "all",
        row_norm: str | None = None,
        threshold: float = 0.0,
        unseen: str = "fill",
        tol: float = 1e-3,
        max_iter: int = 50,
        singletons: float = 0.0,
        rest: str = "cluster",
        scale: str | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.representation = representation
        self.split = split
        self.max_cluster_size = max_cluster_size
        self.n_clusters = n_clusters
        self.stop = stop
        self.pooling = pooling
        self.sample_points = sample_points
        self.volume = volume
        self.sample_labels = sample_labels
        self.min_labels = min_labels
        self.popularity = popularity
        self.row_norm = row_norm
        self.threshold = threshold
        self.unseen = unseen
        self.tol = tol
        self.max_iter = max_iter
        self.singletons = singletons
        self.rest = rest
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    parameter_rules: ClassVar[dict[str, Any]] = {
        **GROUP_RULES,
        **VECTOR_RULES,
        "split": Choice(("kmeans", "ndcg")),
        "volume": Choice(("l1", "l0")),
        "popularity": Choice(("all", "sample")),
        "row_norm": Choice((None, "l2")),
        "threshold": Float(0.0, 1.0),
        "unseen": Choice(("fill", "cluster", "drop")),
        "tol": Float(0.0),
        "max_iter": Int(1, 2**31 - 1),
        "singletons": Float(0.0, 1.0),
        "rest": Choice(("cluster", "hash", "drop")),
    }

    def _find_groups(self, X: Csr, Y: LabelsLike, seed: int) -> None:
        self._check_representation()
        n_clusters = self._count_groups(X.shape[1])
        threads = _native.n_threads(self.n_jobs)
        _, energy = _native.column_statistics(X, n_threads=threads)
        single = pick_singletons(energy, n_clusters, self.singletons)
        others = np.setdiff1d(np.arange(X.shape[1], dtype=np.int32), single, assume_unique=True)
        labels = np.full(X.shape[1], -1, dtype=np.int32)
        labels[single] = np.arange(len(single), dtype=np.int32)
        tree, groups, n_groups = self._group_rest(X, Y, others, n_clusters - len(single), seed)
        labels[others] = np.where(groups >= 0, groups + len(single), -1)

        self.tree_: BalancedTree | None = tree
        self.n_iter_: int = 1 if tree is None else max(1, int(tree.n_rounds.max(initial=0)))
        self._set_groups(X, labels, len(single) + n_groups, energy, self.scale)

    def _group_rest(
        self, X: Csr, Y: LabelsLike, features: Ids, n_clusters: int, seed: int
    ) -> tuple[BalancedTree | None, Ids, int]:
        """Return the tree, the groups of features that are not singletons, and their number."""
        if self.rest == "drop" or not len(features):
            return None, np.full(len(features), -1, dtype=np.int32), 0
        if n_clusters == 0:
            raise ValueError(
                f"singletons={self.singletons} of {type(self).__name__} leaves no group for the "
                f"other {len(features)} features; lower it or set rest='drop'"
            )
        n_clusters = min(n_clusters, len(features))
        if self.rest == "hash":
            return None, random_buckets(features, n_clusters, seed), n_clusters
        return self._cluster(self._scaled_vectors(X, Y)[features], n_clusters, seed)

    def _scaled_vectors(self, X: Csr, Y: LabelsLike) -> Csr:
        threads = _native.n_threads(self.n_jobs)
        Z = self._vectors(X, Y)
        return scale_vectors(Z, split=self.split, threshold=self.threshold, n_threads=threads)

    def _cluster(self, Z: Csr, n_clusters: int, seed: int) -> tuple[BalancedTree, Ids, int]:
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
            groups[~seen] = fill_groups(free)
        return tree, groups, tree.n_leaves

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.split == "ndcg"
        tags.target_tags.required = isinstance(self.representation, str) and (
            self.representation == "xy" and self.rest == "cluster"
        )
        return tags


# --- Hybrid: the features with the most energy as singletons, the others in random buckets.


class Hybrid(Defrag):
    """Keep the features with the most energy and put the others into random buckets.

    This agglomeration, which is not in the paper, is the recommended one. Half of the groups
    are single features, those with the most energy (sum of squares over unit rows); all other
    features share the other half in random buckets of equal size, which are scaled to the
    energy of their features. At the same number of groups it loses about a quarter of the
    precision that the clusters of the paper lose, and it needs no clustering. The clusters of
    the paper merge words that occur together and leave fewer non-zeros per row, so that
    training is faster on long documents.

    Parameters
    ----------
    max_cluster_size : int, default=8
        Determines the number of groups, as in :class:`Defrag`.
    n_clusters : int, optional
        Number of groups; overrides ``max_cluster_size``.
    stop : {"leaf<=d0", "leaf<2*d0"}, default="leaf<=d0"
        The rule that determines the number of groups.
    singletons : float, default=0.5
        Fraction of the groups that are single features.
    pooling : {"sum", "mean", "mean_nonzero"}, default="sum"
        The value of a group for a point; see :class:`Defrag`.
    scale : {None, "energy"}, default="energy"
        Scale each group to the energy of its features.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the buckets; every member of an ensemble uses a different one.
    n_jobs : int, optional
        Number of threads.
    verbose : bool or int, default=0
        Whether to show a progress bar on a terminal.

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

    def __init__(
        self,
        *,
        max_cluster_size: int = 8,
        n_clusters: int | None = None,
        stop: str = "leaf<=d0",
        singletons: float = 0.5,
        pooling: str = "sum",
        scale: str | None = "energy",
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            max_cluster_size=max_cluster_size,
            n_clusters=n_clusters,
            stop=stop,
            pooling=pooling,
            singletons=singletons,
            rest="hash",
            scale=scale,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
