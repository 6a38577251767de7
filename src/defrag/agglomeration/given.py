"""Groups of features that are known already, such as those of a file.

``defrag agglomerate`` calls this with the groups that ``defrag cluster`` or the official program
has written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from defrag import _native
from defrag._validation import check_features
from defrag.agglomeration._clustering import FeaturePooling

if TYPE_CHECKING:
    from defrag.typing import Csr, Ids

__all__ = ["GivenGroups"]


class GivenGroups(FeaturePooling):
    """Replace features by given groups.

    Parameters
    ----------
    groups : ndarray of int32, shape (n_features,)
        The group of each feature, or -1 if it has none.
    n_clusters : int
        Number of groups.
    pooling : {"sum", "mean", "mean_nonzero"}, default="sum"
        The value of a group for a point; see :class:`defrag.Defrag`.
    scale : {"energy"}, optional
        Scale each group to the energy of its features in the data given to ``fit``.
    n_jobs : int, optional
        Number of threads; -1 for all.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.agglomeration import GivenGroups
    >>> groups = np.array([0, 1, 0], dtype=np.int32)
    >>> GivenGroups(groups, 2).fit_transform(np.float32([[1, 2, 3]]))
    array([[4., 2.]], dtype=float32)
    """

    def __init__(
        self,
        groups: Ids,
        n_clusters: int,
        *,
        pooling: str = "sum",
        scale: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.groups = groups
        self.n_clusters = n_clusters
        self.pooling = pooling
        self.scale = scale
        self.n_jobs = n_jobs

    def fit(self, X: Csr, y: None = None) -> GivenGroups:  # noqa: ARG002 - scikit-learn's form
        """Compute the energy of the features on the data."""
        X = check_features(self, X, reset=True)
        _, energy = _native.column_statistics(X, n_threads=_native.n_threads(self.n_jobs))
        self._set_groups(X, self.groups, self.n_clusters, energy, self.scale)
        return self
