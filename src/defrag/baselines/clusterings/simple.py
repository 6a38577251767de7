"""Baselines: groups without clustering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from defrag._parameters import Choice
from defrag.agglomeration._clustering import GROUP_RULES
from defrag.agglomeration._groups import hash_buckets, random_buckets
from defrag.baselines.clusterings._base import FoundGroups, Rival
from defrag.baselines.clusterings.itdc import feature_information
from defrag.trees import largest_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from defrag.typing import Csr, LabelsLike, Seed

__all__ = []


class RandomGroups(Rival):
    """Put features into random groups of equal size.

    Parameters
    ----------
    max_cluster_size : int, default=8
        Determines the number of groups, as in :class:`Defrag`.
    n_clusters : int, optional
        Number of groups; overrides ``max_cluster_size``.
    stop : {"leaf<=d0", "leaf<2*d0"}, default="leaf<=d0"
        The rule that determines the number of groups.
    pooling : {"sum", "mean", "mean_nonzero"}, default="sum"
        The value of a group for a point; see :class:`Defrag`.
    scale : {None, "energy"}, default=None
        Scale each group to the energy of its features.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the groups.
    n_jobs : int, optional
        Number of threads.
    verbose : bool or int, default=0
        Ignored.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_features,)
        The group of each feature.
    n_clusters_ : int
        Number of groups.
    energy_ : ndarray of float64, shape (n_features,)
        Energy of each feature: its sum of squares over unit rows of the training data.
    scale_ : ndarray of float32, shape (``n_clusters_``,) or None
        Factors of the groups.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    HashGroups : Random groups of different sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import RandomGroups
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
        Y: LabelsLike,  # noqa: ARG002 - the signature of Rival
        energy: NDArray[np.float64],  # noqa: ARG002 - the signature of Rival
        n_clusters: int,
        seed: int,
    ) -> FoundGroups:
        return FoundGroups(self._assign(np.arange(X.shape[1], dtype=np.int32), n_clusters, seed))

    _assign = staticmethod(random_buckets)


class HashGroups(RandomGroups):
    """Put features into groups by a hash of their ids.

    This is feature hashing without signs. Groups have different sizes, and some may be empty.

    Parameters
    ----------
    max_cluster_size : int, default=8
        Determines the number of groups, as in :class:`Defrag`; groups may be larger.
    n_clusters : int, optional
        Number of groups; overrides ``max_cluster_size``.
    stop : {"leaf<=d0", "leaf<2*d0"}, default="leaf<=d0"
        The rule that determines the number of groups.
    pooling : {"sum", "mean", "mean_nonzero"}, default="sum"
        The value of a group for a point; see :class:`Defrag`.
    scale : {None, "energy"}, default=None
        Scale each group to the energy of its features.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the hash.
    n_jobs : int, optional
        Number of threads.
    verbose : bool or int, default=0
        Ignored.

    See Also
    --------
    RandomGroups : Random groups of equal size; lists the attributes.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import HashGroups
    >>> HashGroups(n_clusters=4, random_state=0).fit(np.eye(6)).labels_
    array([3, 0, 2, 1, 3, 3], dtype=int32)
    """

    _assign = staticmethod(hash_buckets)


class TopFeatures(Rival):
    """Keep the features with the most energy or information and drop the others.

    Parameters
    ----------
    by : {"energy", "information"}, default="energy"
        Rank features by energy, the sum of squares over unit rows, or by their contribution
        to the mutual information of features and labels.
    max_cluster_size : int, default=8
        Determines the number of features to keep: the number of groups of :class:`Defrag`.
    n_clusters : int, optional
        Number of features to keep; overrides ``max_cluster_size``.
    stop : {"leaf<=d0", "leaf<2*d0"}, default="leaf<=d0"
        The rule that determines the number of groups.
    pooling : {"sum", "mean", "mean_nonzero"}, default="sum"
        Ignored: all poolings are equal for groups of one feature.
    scale : {None, "energy"}, default=None
        Ignored: groups of one feature have the energy of that feature.
    random_state : int, RandomState, Generator or None, default=None
        Ignored.
    n_jobs : int, optional
        Number of threads.
    verbose : bool or int, default=0
        Ignored.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_features,)
        The group of each feature, or -1 for dropped features.
    n_clusters_ : int
        Number of features that are kept.
    energy_ : ndarray of float64, shape (n_features,)
        Energy of each feature: its sum of squares over unit rows of the training data.
    scale_ : ndarray of float32, shape (``n_clusters_``,) or None
        Factors of the groups.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    defrag.agglomeration.Hybrid : Half of the groups are the features with the most energy.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import TopFeatures
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
        seed: int,  # noqa: ARG002 - the signature of Rival
    ) -> FoundGroups:
        weight = energy
        if self.by == "information":
            weight = feature_information(self._joint(X, Y))
        groups = np.full(X.shape[1], -1, dtype=np.int32)
        groups[largest_ids(weight, n_clusters)] = np.arange(n_clusters, dtype=np.int32)
        return FoundGroups(groups)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.by == "information"
        tags.target_tags.required = self.by == "information"
        return tags
