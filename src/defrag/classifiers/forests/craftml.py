"""CRAFTML: k-ary trees whose nodes cluster points by their labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from defrag import _native
from defrag._native import FULL_HASH, CraftmlOptions, FeatureHash
from defrag._parameters import Float, Int, OrAuto
from defrag.classifiers.forests._base import ForestClassifier

if TYPE_CHECKING:
    from defrag.classifiers._division import Arrays
    from defrag.typing import Csr, Seed

__all__ = ["CRAFTML"]

# With feature_share="auto", a tree uses at least a quarter of the features, and enough of them to
# keep about this many entries per point. On splits of training data with 40 to 70 entries per
# point (debian, Bibtex), half of the features lose up to two points of P@1 and a quarter three to
# six; with 240 entries (EURLex-4K), a quarter gains one.
_ENTRIES_PER_TREE = 40
_MIN_SHARE = 0.25


class CRAFTML(ForestClassifier):
    """A forest of shallow trees over hashed features (Siblini, Kuntz and Meyer, 2018).

    A node clusters a sample of its points by spherical k-means on their hashed labels. Each
    cluster is a child; its centroid is the mean of the hashed features of its points, cut to the
    largest entries and L2-normalised, and every point moves to the child with the most similar
    centroid. A leaf keeps the mean labels of its points; the score of a label is its
    mean over the leaves that a point reaches, one per tree.

    Parameters
    ----------
    n_trees : int, default=50
        Number of trees that are averaged.
    arity : int, default=20
        Maximum number of children of a node; 10 in the paper.
    max_leaf_size : int, default=10
        Maximum number of points in a leaf.
    leaf_labels : int, default=100
        Maximum number of labels that a leaf keeps, the most frequent first.
    n_buckets : int, default=10000
        Number of buckets that features, and labels, are hashed to.
    feature_share : float in (0, 1] or "auto", default="auto"
        Fraction of the features that a tree uses, chosen at random for each tree; 1 in the
        paper. "auto" is a quarter, or more so that points keep about 40 entries.
    centroid_share : float in (0, 1], default=0.2
        Fraction of the entries of a centroid that are kept, but at least ten entries.
    sample : int, default=20000
        Maximum number of points of a node whose labels are clustered.
    random_state : int, RandomState, Generator or None, default=None
        Seed; an int gives the same model for any ``n_jobs``.
    n_jobs : int, optional
        Number of threads, as in scikit-learn; -1 for all.
    verbose : int, default=0
        Whether to show progress bars on a terminal.

    Attributes
    ----------
    forest_ : Forest
        The trees.
    classes_ : ndarray
        Classes, or label ids.
    n_labels_ : int
        Number of labels.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    FastXML : Binary trees with learnt separators.
    LabelTree : Faster prediction, and more accurate on most data.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import CRAFTML
    >>> X = np.kron(np.eye(3), np.ones((12, 2)))
    >>> model = CRAFTML(n_trees=5, random_state=0).fit(X, np.repeat(["a", "b", "c"], 12))
    >>> model.predict(X[::12]).tolist()
    ['a', 'b', 'c']
    """

    # 1.6e-8 on EURLex-4K, 7.9e-8 on debian, whose points have fewer features and more labels.
    seconds_per_step: ClassVar[float] = 3.5e-8
    train_trees = staticmethod(_native.train_craftml)

    def __init__(
        self,
        n_trees: int = 50,
        *,
        arity: int = 20,
        max_leaf_size: int = 10,
        leaf_labels: int = 100,
        n_buckets: int = 10_000,
        feature_share: float | str = "auto",
        centroid_share: float = 0.2,
        sample: int = 20_000,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.arity = arity
        self.max_leaf_size = max_leaf_size
        self.leaf_labels = leaf_labels
        self.n_buckets = n_buckets
        self.feature_share = feature_share
        self.centroid_share = centroid_share
        self.sample = sample
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    parameter_rules: ClassVar[dict[str, Any]] = {
        "n_trees": Int(1),
        "arity": Int(2, 255),
        "max_leaf_size": Int(1),
        "leaf_labels": Int(1),
        "n_buckets": Int(1, 2**20),
        "feature_share": OrAuto(Float(0.0, 1.0, open_low=True)),
        "centroid_share": Float(0.0, 1.0, open_low=True),
        "sample": Int(2),
        "n_jobs": Int(none=True),
        "verbose": Int(0),
    }

    def _options(self, X: Csr) -> CraftmlOptions:
        return CraftmlOptions(
            n_clusters=self.arity,
            max_leaf_size=self.max_leaf_size,
            leaf_labels=self.leaf_labels,
            label_buckets=self.n_buckets,
            sample=self.sample,
            n_buckets=self.n_buckets,
            n_kept=max(1, round(FULL_HASH * self._share(X))),
            kept_share=self.centroid_share,
        )

    def _hash_arrays(self, X: Csr) -> Arrays:
        options = self._options(X)
        return {"hash": np.array([options.n_buckets, options.n_kept], dtype=np.int64)}

    def _hash(self, outline: Arrays) -> FeatureHash:
        n_buckets, n_kept = outline["hash"].tolist()
        return FeatureHash(outline["keys"], n_buckets, n_kept)

    def _share(self, X: Csr) -> float:
        if self.feature_share != "auto":
            return float(self.feature_share)
        entries = X.nnz / X.shape[0]
        return min(1.0, max(_MIN_SHARE, _ENTRIES_PER_TREE / max(entries, 1.0)))

    def _levels(self, n_leaves: float) -> float:
        return math.log(n_leaves, self.arity) + 1
