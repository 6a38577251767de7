"""Calibration of scores by isotonic regression on held-out points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.isotonic import IsotonicRegression

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr, Floats, Ids

__all__ = ["Calibration"]


@dataclass(frozen=True)
class Calibration:
    """An increasing, piecewise linear function from scores to probabilities.

    Attributes
    ----------
    scores : ndarray of float64, shape (n_knots,)
        Scores in increasing order.
    probabilities : ndarray of float64, shape (n_knots,)
        The probability that a label with that score is true; constant beyond the ends.
    """

    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    @classmethod
    def of_ranking(cls, labels: Ids, scores: Floats, Y: Csr) -> Calibration:
        """Fit the function to ranked labels of points whose true labels are Y.

        Parameters
        ----------
        labels, scores : ndarray, shape (n_points, k)
            The result of :meth:`Classifier.rank`.
        Y : csr_array, shape (n_points, n_labels)
            The true labels.
        """
        rows, places = np.nonzero((labels >= 0) & (labels < Y.shape[1]))
        found = labels[rows, places]
        hits = np.asarray(Y[rows, found]).ravel() > 0
        given = scores[rows, places].astype(np.float64)
        if not len(given):
            raise ValueError("calibrate needs at least one label with a score, got none")
        model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(given, hits)
        knots, values = model.X_thresholds_, model.y_thresholds_
        return cls(np.asarray(knots, np.float64), np.asarray(values, np.float64))

    def __call__(self, scores: Floats) -> Floats:
        """Return the probabilities for scores."""
        return np.interp(scores, self.scores, self.probabilities).astype(np.float32)
