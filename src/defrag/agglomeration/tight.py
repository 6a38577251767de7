"""Groups of features that nearly always occur together, so that they may share a weight.

A balanced tree fills every group, whether its features are alike or not. Character n-grams and rare
words have many features with nearly the same column: of those a linear model needs only one.
"""

from __future__ import annotations

import numpy as np

from defrag import _native
from defrag._parameters import Float, OrAuto, fitted, param
from defrag._progress import logger
from defrag.agglomeration._clustering import FeatureClustering
from defrag.persistence.fields import Number, State
from defrag.typing import Csr, LabelsLike

AUTO_COSINE = 0.7
"""The cosine "auto", chosen on splits of training texts; see decision 045."""

LEAST_SAVING = 0.05
"""The share of entries that "auto" needs to group anything."""


class Tight(FeatureClustering):
    """Group features whose columns are nearly equal, and leave the others alone.

    Every feature of a group has at least the cosine ``min_cosine`` with the strongest one, that
    with the most energy. Groups of equal columns change no score of a linear classifier: scaled to
    the energy of their features, they give the same products of points. In general, the matrix of
    these products changes by at most ``2 * sqrt(1 - min_cosine**2)`` times the energy of the
    features that are not alone.

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

    min_cosine: float | str = param(
        OrAuto(Float(0.0, 1.0, open_low=True)),
        "Least cosine of the column of a feature with that of the strongest of its group; "
        f'"auto" is {AUTO_COSINE}, and groups nothing if less than {LEAST_SAVING:.0%} of the '
        "entries would disappear.",
        kind='float or "auto"',
        default="auto",
        kw_only=False,
    )
    scale: str | None = param(default="energy")

    saving_: float = fitted(
        "float", "Share of the entries of the training data that disappear, or would disappear."
    )

    _differs_by_seed = False

    _state = State(Number("saving_", Float(0.0, 1.0)), told=("saving",))

    def _find_groups(self, X: Csr, Y: LabelsLike, seed: int) -> None:  # noqa: ARG002 - of clusterings
        auto = isinstance(self.min_cosine, str)
        leaders, energy = _native.tight_leaders(
            X,
            min_cosine=float(AUTO_COSINE if auto else self.min_cosine),
            seed=seed,
            n_threads=self._threads,
        )
        kept, labels = np.unique(leaders, return_inverse=True)
        self.n_iter_ = 1
        self._set_groups(X, labels.astype(np.int32), len(kept), energy, None)
        counts, pooled = self._group_statistics(X)
        self.saving_ = 1.0 - int(counts.sum()) / X.nnz if X.nnz else 0.0
        logger.info("Tight: %.0f%% of the entries say nothing new", 100 * self.saving_)
        if auto and self.saving_ < LEAST_SAVING:
            alone = np.arange(X.shape[1], dtype=np.int32)
            self._set_groups(X, alone, X.shape[1], energy, None)
        elif self.scale == "energy":
            self.scale_ = self._find_scale(pooled)


_MOST_POINTS = 20_000


def repeated_share(X: Csr) -> float:
    """Return the share of the entries of some points that :class:`Tight` would save.

    They are 20,000 points, evenly spaced, or all if there are fewer.
    """
    rows = X[np.arange(0, X.shape[0], max(1, -(-X.shape[0] // _MOST_POINTS)))]
    share: float = Tight(random_state=0)._fit_canonical(rows, None).saving_
    return round(share, 3)
