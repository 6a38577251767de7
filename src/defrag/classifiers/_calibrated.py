"""Calibrated probabilities, for all classifiers."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from defrag._estimator import Estimator, on_snapshot
from defrag._parameters import fitted
from defrag._validation import check_features, check_labels
from defrag.classifiers._label_names import labels_of_model
from defrag.persistence._checks import check_finite, check_length
from defrag.persistence.fields import Array, Object, Part, State

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

    from defrag.typing import Csr, Floats, Ids, LabelsLike, MatrixLike

# --- Calibration of scores by isotonic regression on held-out points.


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
            The result of :meth:`Classifier._rank`.
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


def _is_calibrated(model: Calibrated) -> bool:
    if getattr(model, "calibration_", None) is None:
        name = type(model).__name__
        raise AttributeError(f"{name} has no predict_proba before calibrate(X, Y) is called")
    return True


def _check_calibration(part: Part) -> None:
    check_length(part, "probabilities", len(part.arrays["scores"]))
    for name, values in part.arrays.items():
        if not len(values):
            part.fail(f"{part.name(name)} must have at least one item, got none")
        check_finite(part, name)
        if values.min() < 0 or values.max() > 1 or (np.diff(values) < 0).any():
            part.fail(f"{part.name(name)} must increase within [0, 1]")


_CALIBRATION = State(
    Array("scores", "float64"),
    Array("probabilities", "float64"),
    make=Calibration,
    check=_check_calibration,
)


class Calibrated(Estimator):
    """Mixin of classifiers that turns scores into probabilities."""

    n_labels_: int = fitted()
    multilabel_: bool = fitted()
    dense_answers_: bool = fitted()
    calibration_: Calibration | None = fitted()

    _state = State(Object("calibration_", _CALIBRATION, prefix="calibration/", optional=True))

    @property
    @abstractmethod
    def classes_(self) -> NDArray[Any]:
        """The classes, or the label ids."""

    @abstractmethod
    def predict_topk(
        self, X: MatrixLike, k: int = 5, *, empty: str = "bias", names: bool = False
    ) -> tuple[Any, Floats]:
        """Return the best labels of each point."""

    @abstractmethod
    def _score_matrix(self, X: Csr, k: int | None, *, above: float = -1.0) -> Csr:
        """Return the scores of the labels that a search finds for canonical points."""

    def calibrate(self, X: MatrixLike, Y: LabelsLike, *, k: int = 50) -> Self:
        """Fit the map from scores to probabilities that ``predict_proba`` uses.

        The map is an isotonic regression, over the best k labels of each point, of whether a
        label is true on its score. All labels share one map. It is part of the saved model,
        and ``fit`` discards it.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            Points that the classifier was not trained on: on training points the
            probabilities would be too high.
        Y : labels
            Their true labels, in any form that ``fit`` accepts.
        k : int, default=50
            Number of labels per point to learn from.

        Returns
        -------
        self : classifier
            The classifier; its rankings do not change.
        """
        labels, scores = self.predict_topk(X, k)
        truth = labels_of_model(self, check_labels(Y, n_rows=len(labels), names=True))
        calibrated = copy(self)
        calibrated.calibration_ = Calibration.of_ranking(labels, scores, truth)
        self.__dict__ = calibrated.__dict__
        return self

    @available_if(_is_calibrated)  # type: ignore[untyped-decorator] # of scikit-learn
    @on_snapshot
    def predict_proba(self, X: MatrixLike) -> Any:
        """Return probabilities of labels; requires :meth:`calibrate`.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            The points.

        Returns
        -------
        probabilities : csr_array, shape (n_points, n_labels)
            The probability that a label is true, for the labels that the search finds. After
            ``fit`` with a dense Y, a dense array; for classes, the probabilities of a point
            are divided by their sum.
        """
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        scores = self._score_matrix(X, None)
        calibration: Calibration = self.calibration_  # type: ignore[assignment] # see available_if
        scores.data = calibration(scores.data)
        if not self.dense_answers_:
            return scores
        dense = scores.toarray()
        if self.multilabel_:
            return dense
        sums = dense.sum(axis=1, keepdims=True)
        return np.where(sums > 0, dense / np.where(sums > 0, sums, 1), 1 / self.n_labels_)
