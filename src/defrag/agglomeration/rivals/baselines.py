"""Groups without any clustering: what every clustering has to beat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from defrag._parameters import Choice
from defrag.agglomeration._budget import hash_buckets, random_buckets
from defrag.agglomeration._clustering import GROUP_RULES
from defrag.agglomeration.rivals._base import Found, Rival
from defrag.agglomeration.rivals._information import feature_information
from defrag.trees.vectors import largest_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from defrag.typing import Csr, LabelsLike, Seed

__all__ = ["HashGroups", "RandomGroups", "TopFeatures"]


class RandomGroups(Rival):
    """Deal the features to equally large groups at random.

    Parameters
    ----------
    max_cluster_size : int, default=8
        Sets the number of groups, by the same rule as :class:`Defrag`.
    n_clusters : int, optional
        The number of groups, instead.
    stop : {"leaf<=d0", "leaf<2*d0"}, default="leaf<=d0"
        The rule.
    pooling : {"sum", "mean", "mean_nonzero"}, default="sum"
        The value of a group in a row.
    scale : {None, "energy"}, default=None
        Bring each group to the energy of its members.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the groups.
    n_jobs : int, optional
        Threads.
    verbose : bool or int, default=0
        As everywhere; there is nothing to show.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_features,)
        The group of each feature.
    n_clusters_ : int
        How many groups there are.
    energy_ : ndarray of float64, shape (n_features,)
        Sum of squares of each feature over unit rows of the training data.
    scale_ : ndarray of float32, shape (``n_clusters_``,) or None
        What the groups are multiplied by.
    n_features_in_ : int
        How many features X had.

    See Also
    --------
    HashGroups : The same without equal sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.agglomeration.rivals import RandomGroups
    >>> groups = RandomGroups(n_clusters=3, random_state=0).fit(np.eye(7))
    >>> np.bincount(groups.labels_).tolist()
    [3, 2, 2]
    """

    def __init__(
        self,
        *,
        max_cluster_size: int = 8,
        n_clusters: int | None = None,
        stop: str = "leaf<=d0",
        pooling: str = "sum",
        scale: str | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_cluster_size = max_cluster_size
        self.n_clusters = n_clusters
        self.stop = stop
        self.pooling = pooling
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _find(
        self,
        X: Csr,
        Y: LabelsLike,  # noqa: ARG002 - as every rival
        energy: NDArray[np.float64],  # noqa: ARG002 - as every rival
        n_clusters: int,
        seed: int,
    ) -> Found:
        return Found(self._deal(np.arange(X.shape[1], dtype=np.int32), n_clusters, seed))

    _deal = staticmethod(random_buckets)


class HashGroups(RandomGroups):
    """Put each feature into the group that a hash of its number names.

    This is feature hashing without signs: what one does when the features are not even known
    beforehand. Groups have different sizes, and some may be empty.

    Parameters
    ----------
    max_cluster_size : int, default=8
        Sets the number of groups, by the same rule as :class:`Defrag`; groups may be larger.
    n_clusters : int, optional
        The number of groups, instead.
    stop : {"leaf<=d0", "leaf<2*d0"}, default="leaf<=d0"
        The rule.
    pooling : {"sum", "mean", "mean_nonzero"}, default="sum"
        The value of a group in a row.
    scale : {None, "energy"}, default=None
        Bring each group to the energy of its members.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the hash.
    n_jobs : int, optional
        Threads.
    verbose : bool or int, default=0
        As everywhere; there is nothing to show.

    See Also
    --------
    RandomGroups : The same with equal sizes, and the attributes.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.agglomeration.rivals import HashGroups
    >>> HashGroups(n_clusters=4, random_state=0).fit(np.eye(6)).labels_
    array([3, 0, 2, 1, 3, 3], dtype=int32)
    """

    _deal = staticmethod(hash_buckets)


class TopFeatures(Rival):
    """Keep the heaviest features, and drop the others.

    Parameters
    ----------
    by : {"energy", "information"}, default="energy"
        What makes a feature heavy: its sum of squares over unit rows, or what it adds to the
        mutual information of features and labels.
    max_cluster_size : int, default=8
        Sets how many features are kept: as many as :class:`Defrag` would make groups.
    n_clusters : int, optional
        How many features are kept, instead.
    stop : {"leaf<=d0", "leaf<2*d0"}, default="leaf<=d0"
        The rule.
    pooling : {"sum", "mean", "mean_nonzero"}, default="sum"
        As everywhere; groups of one feature have the same value in all of them.
    scale : {None, "energy"}, default=None
        As everywhere; groups of one feature have its energy as they are.
    random_state : int, RandomState, Generator or None, default=None
        As everywhere; nothing is drawn.
    n_jobs : int, optional
        Threads.
    verbose : bool or int, default=0
        As everywhere; there is nothing to show.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_features,)
        The group of each feature, -1 for those that are dropped.
    n_clusters_ : int
        How many features are kept.
    energy_ : ndarray of float64, shape (n_features,)
        Sum of squares of each feature over unit rows of the training data.
    scale_ : ndarray of float32, shape (``n_clusters_``,) or None
        What the groups are multiplied by.
    n_features_in_ : int
        How many features X had.

    See Also
    --------
    defrag.Hybrid : Half of the groups are the heaviest features.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.agglomeration.rivals import TopFeatures
    >>> TopFeatures(n_clusters=2).fit([[3.0, 0.0, 1.0], [0.0, 4.0, 1.0]]).labels_
    array([ 0,  1, -1], dtype=int32)
    """

    def __init__(
        self,
        by: str = "energy",
        *,
        max_cluster_size: int = 8,
        n_clusters: int | None = None,
        stop: str = "leaf<=d0",
        pooling: str = "sum",
        scale: str | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.by = by
        self.max_cluster_size = max_cluster_size
        self.n_clusters = n_clusters
        self.stop = stop
        self.pooling = pooling
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    parameter_rules: ClassVar[dict[str, Any]] = {
        **GROUP_RULES,
        "by": Choice(("energy", "information")),
    }

    def _find(
        self,
        X: Csr,
        Y: LabelsLike,
        energy: NDArray[np.float64],
        n_clusters: int,
        seed: int,  # noqa: ARG002 - as every rival
    ) -> Found:
        weight = energy
        if self.by == "information":
            weight = feature_information(self._joint(X, Y))
        labels = np.full(X.shape[1], -1, dtype=np.int32)
        labels[largest_ids(weight, n_clusters)] = np.arange(n_clusters, dtype=np.int32)
        return Found(labels)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.by == "information"
        tags.target_tags.required = self.by == "information"
        return tags
