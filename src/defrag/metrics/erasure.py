"""How precision falls when features go missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag.erasure import erase_features
from defrag.metrics.ranking import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag.typing import LabelsLike, MatrixLike

__all__ = ["ErasureCurve", "erase_features", "erasure_curve"]


@dataclass(frozen=True)
class ErasureCurve:
    """What a model does on rows that are erased to several degrees.

    Attributes
    ----------
    shares : tuple of float
        The shares of the features that were erased.
    values : dict from name to ndarray of float64, shape (n_shares, n_seeds)
        The measures of :func:`defrag.metrics.evaluate`, in percent.
    """

    shares: tuple[float, ...]
    values: dict[str, NDArray[np.float64]]

    def mean(self, measure: str) -> NDArray[np.float64]:
        """Give the mean of a measure over the seeds, for every share."""
        return np.asarray(self.values[measure].mean(axis=1))


def erasure_curve(
    model: Any,
    X: MatrixLike,
    Y: LabelsLike,
    *,
    shares: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    seeds: Sequence[int] = (0, 1, 2),
    k: Sequence[int] = (1, 3, 5),
) -> ErasureCurve:
    """Erase features of the points, rank their labels, and say how good they are.

    Parameters
    ----------
    model : classifier
        Fitted; anything with ``predict_topk``.
    X : sparse or dense matrix, shape (n_points, n_features)
        The points.
    Y : labels
        Their true labels.
    shares : sequence of float, default=(0.0, 0.1, ..., 0.9)
        The shares of the features to erase; see :func:`erase_features`.
    seeds : sequence of int, default=(0, 1, 2)
        Every erasure is done once per seed.
    k : sequence of int, default=(1, 3, 5)
        How many labels of each point to look at.

    Returns
    -------
    curve : ErasureCurve
        Every measure for every share and seed.
    """
    reports = []
    for share in shares:
        # Where nothing is erased, nothing is left to chance.
        chosen = seeds if share > 0 else seeds[:1]
        found = [
            evaluate(Y, model.predict_topk(erase_features(X, share, seed), max(k))[0], k=k)
            for seed in chosen
        ]
        reports.append(found * (len(seeds) // len(chosen)))
    values = {
        name: np.array([[report[name] for report in row] for row in reports])
        for name in reports[0][0]
    }
    return ErasureCurve(tuple(shares), values)
