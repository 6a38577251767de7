"""Groups without clustering: random ones, hashed ones, and the best features alone.

Comparisons with them show how much of a result is due to clustering.
"""

from __future__ import annotations

import numpy as np

from defrag import _native
from defrag._parameters import Choice, param
from defrag.agglomeration._groups import hash_buckets, random_buckets
from defrag.baselines.clusterings._base import Rival
from defrag.baselines.clusterings.itdc import feature_information
from defrag.trees import largest_ids
from defrag.typing import Csr, Ids, LabelsLike


class RandomGroups(Rival):
    """Put features into random groups of equal size.

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

    def _find(self, X: Csr, Y: LabelsLike, n_clusters: int, seed: int) -> Ids:  # noqa: ARG002 - the signature of Rival
        return self._assign(np.arange(X.shape[1], dtype=np.int32), n_clusters, seed)

    _assign = staticmethod(random_buckets)


class HashGroups(RandomGroups):
    """Put features into groups by a hash of their ids.

    This is feature hashing without signs. Groups have different sizes, and some may be empty.

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

    ``n_clusters`` is the number of features to keep. ``pooling``, ``scale`` and ``random_state``
    change nothing: groups of one feature have its values and its energy.

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

    by: str = param(
        Choice(("energy", "information")),
        "Rank features by energy, the sum of squares over unit rows, or by their contribution "
        "to the mutual information of features and labels.",
        default="energy",
        kw_only=False,
    )

    def _find(self, X: Csr, Y: LabelsLike, n_clusters: int, seed: int) -> Ids:  # noqa: ARG002 - the signature of Rival
        if self.by == "information":
            weight = feature_information(self._joint(X, Y))
        else:
            _, weight = _native.column_statistics(X, n_threads=self._threads)
        groups = np.full(X.shape[1], -1, dtype=np.int32)
        groups[largest_ids(weight, n_clusters)] = np.arange(n_clusters, dtype=np.int32)
        return groups

    def _needs_labels(self) -> bool:
        return bool(self.by == "information")

    _needs_positive = _needs_labels
