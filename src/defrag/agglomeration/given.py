"""Groups of features that are known already, such as those of a file.

``defrag agglomerate`` calls this with the groups that ``defrag cluster`` or the official program
has written.
"""

from __future__ import annotations

from defrag import _native
from defrag._parameters import Choice, Int, param
from defrag._validation import check_features
from defrag.agglomeration._clustering import FeaturePooling
from defrag.typing import Csr, Ids, MatrixLike


class GivenGroups(FeaturePooling):
    """Replace features by given groups.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.agglomeration import GivenGroups
    >>> groups = np.array([0, 1, 0], dtype=np.int32)
    >>> GivenGroups(groups, 2).fit_transform(np.float32([[1, 2, 3]]))
    array([[4., 2.]], dtype=float32)
    """

    groups: Ids = param(
        doc="The group of each feature, or -1 if it has none.",
        kind="ndarray of int32, shape (n_features,)",
        kw_only=False,
    )
    n_clusters: int = param(Int(1), "Number of groups.", kw_only=False)
    scale: str | None = param(
        Choice((None, "energy")),
        "Scale each group to the energy of its features in the data given to ``fit``.",
        default=None,
    )

    def fit(self, X: MatrixLike, y: None = None) -> GivenGroups:
        """Compute the energy of the features on the data."""
        self._learn(check_features(self, X, reset=True), y)
        return self

    def _learn(self, X: Csr, Y: None) -> None:  # noqa: ARG002 - the groups are known
        _, energy = _native.column_statistics(X, n_threads=self._threads)
        self._set_groups(X, self.groups, self.n_clusters, energy, self.scale)
