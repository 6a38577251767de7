"""Groups of features that nearly always occur together, so that they may share a weight.

A balanced tree fills every group, whether its features are alike or not. Character n-grams and rare
words have many features with nearly the same column: of those a linear model needs only one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defrag import _native
from defrag._parameters import Float, fitted, param
from defrag.agglomeration._clustering import FeatureClustering
from defrag.persistence.fields import Number, State

if TYPE_CHECKING:
    from defrag.typing import Csr, LabelsLike


class Tight(FeatureClustering):
    """Group features whose columns are nearly equal, and leave the others alone.

    Every feature of a group has at least the cosine ``min_cosine`` with the strongest one, that
    with the most energy. Groups of equal columns change no score of a linear classifier: scaled to
    the energy of their features, they give the same products of points.

    See Also
    --------
    Hybrid : A number of groups that is given, for any features.
    defrag.Focus : Fewer entries per point; both together save the most.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.agglomeration import Tight
    >>> X = np.array([[1, 1, 0, 2], [1, 1, 1, 0], [0, 0, 1, 0], [2, 2, 0, 0.0]])
    >>> tight = Tight(random_state=0).fit(X)
    >>> tight.labels_.tolist(), round(tight.saving_, 2)
    ([0, 0, 1, 2], 0.33)
    """

    min_cosine: float = param(
        Float(0.0, 1.0, open_low=True),
        "Least cosine of the column of a feature with that of the strongest of its group.",
        default=0.8,
        kw_only=False,
    )
    scale: str | None = param(default="energy")

    saving_: float = fitted("float", "Share of the entries of the training data that disappear.")

    _state = State(Number("saving_", Float(0.0, 1.0)))

    def _find_groups(self, X: Csr, Y: LabelsLike, seed: int) -> None:  # noqa: ARG002 - of clusterings
        leaders, energy = _native.tight_leaders(
            X, min_cosine=self.min_cosine, seed=seed, n_threads=self._threads
        )
        kept, labels = np.unique(leaders, return_inverse=True)
        self.n_iter_ = 1
        self._set_groups(X, labels.astype(np.int32), len(kept), energy, None)
        counts, pooled = self._group_statistics(X)
        self.saving_ = 1.0 - int(counts.sum()) / X.nnz if X.nnz else 0.0
        if self.scale == "energy":
            self.scale_ = self._find_scale(pooled)
