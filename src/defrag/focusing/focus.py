"""Focus: re-weighting of features, and selection of the important entries of points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from defrag import _native
from defrag._estimator import Estimator, all_or_nothing, on_snapshot
from defrag._parameters import Float, Int, OrAuto
from defrag._validation import check_features, check_labels, check_seed, require_labels
from defrag.focusing._pilot import feature_importance, pilot_points

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from defrag.typing import Csr, Floats, LabelsLike, MatrixLike, Seed

__all__ = ["Focus"]

LEAST_AUTO, MOST_AUTO = 4, 8
"""Bounds of the budget "auto", chosen on splits of training data; see docs/faster.md."""

_MIN_RELATIVE = 1e-3


class Focus(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Re-weight features by their importance and keep the important entries of points.

    A pilot, a linear classifier of 16 groups of labels, is trained by two passes over the points;
    the importance of a feature is the norm of its weights in the pilot. The entries of a point
    are ranked by absolute value times importance. A point with c entries keeps the
    ``ceil(budget * sqrt(c))`` best, each multiplied by the square root of its importance
    relative to the median. The time of training and prediction is proportional to the number of
    entries, so long points gain most.

    Parameters
    ----------
    budget : float, None or "auto", default="auto"
        Number of entries that a point keeps, divided by the square root of its number of entries;
        None keeps all entries and only re-weights; "auto" is between 4, for rare features, where
        dropping entries prevents overfitting, and 8, for frequent features.
    power : float, default=0.5
        Power of the relative importance that values are multiplied by; 0 keeps the values.
    random_state : int, RandomState, Generator or None, default=None
        Seed; an int gives the same result for any ``n_jobs``.
    n_jobs : int, optional
        Number of threads, as in scikit-learn; -1 for all.

    Attributes
    ----------
    importance_ : ndarray of float32, shape (n_features,)
        The importance of each feature; 0 for features without weights in the pilot.
    factor_ : ndarray of float32, shape (n_features,)
        Factors of the values of the features.
    auto_budget_ : int
        The budget "auto": the number of binary digits of the mean number of entries of a
        feature, minus 2, clipped to [4, 8].
    n_features_in_ : int
        Number of features.

    See Also
    --------
    Focused : A classifier on transformed points.
    Hybrid : Fewer features instead of fewer entries per point.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import Focus
    >>> X = np.hstack([np.kron(np.eye(4), np.ones((3, 2))), np.full((12, 8), 0.1)])
    >>> Y = np.repeat([0, 1, 2, 3], 3)
    >>> rows = Focus(budget=0.6, random_state=0).fit_transform(X, Y)
    >>> np.flatnonzero(rows[0]).tolist()  # of 10 entries, the two that separate the classes
    [0, 1]
    """

    def __init__(
        self,
        budget: float | str | None = "auto",
        *,
        power: float = 0.5,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.budget = budget
        self.power = power
        self.random_state = random_state
        self.n_jobs = n_jobs

    parameter_rules: ClassVar[dict[str, Any]] = {
        "budget": OrAuto(Float(0.0, 1e6, open_low=True, none=True)),
        "power": Float(0.0, 4.0),
        "n_jobs": Int(none=True),
    }

    @all_or_nothing
    def fit(self, X: MatrixLike, Y: LabelsLike) -> Focus:
        """Compute the importance of each feature.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            Training data.
        Y : indicator matrix, label lists or classes
            Labels of the points.

        Returns
        -------
        self : Focus
            The fitted transformer.
        """
        self.check_parameters()
        require_labels(self, Y)
        X = check_features(self, X, reset=True)
        return self._learn(X, check_labels(Y, n_rows=X.shape[0], names=True).matrix)

    @all_or_nothing
    def fit_canonical(self, X: Csr, Y: Csr) -> Focus:
        """Fit on validated matrices, as part of a composite."""
        self.check_parameters()
        self.n_features_in_: int = X.shape[1]
        return self._learn(X, Y)

    def _learn(self, X: Csr, Y: Csr) -> Focus:
        seed = check_seed(self.random_state)
        if Y.nnz == 0:
            raise ValueError("Y must have at least one label, got none for any point")
        threads = _native.n_threads(self.n_jobs)
        points = pilot_points(X)
        importance = feature_importance(X, Y, points=points, seed=seed, n_threads=threads)
        self.importance_: Floats = importance
        self.factor_: Floats = self._factors(importance)
        # All features that occur have weights in the pilot.
        n_entries = X.nnz if points is None else np.diff(X.indptr)[points].sum()
        self.auto_budget_: int = auto_budget(int(n_entries), int(np.count_nonzero(importance)))
        return self

    def _factors(self, importance: Floats) -> Floats:
        positive = importance[importance > 0]
        median = np.median(positive) if len(positive) else np.float32(1.0)
        relative = np.maximum(importance.astype(np.float64) / median, _MIN_RELATIVE)
        return np.power(relative, self.power).astype(np.float32)

    @on_snapshot
    def transform(self, X: MatrixLike) -> Any:
        """Re-weight the features and keep the important entries.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            Points with the features of ``fit``.

        Returns
        -------
        Xt : csr_array, or ndarray for dense X, shape (n_points, n_features)
            The transformed points, float32.
        """
        check_is_fitted(self)
        result = self.select(check_features(self, X, reset=False))
        return result if sparse.issparse(X) else result.toarray()

    def select(self, X: Csr) -> Csr:
        """Transform a canonical matrix, or ``KernelRows``; the result has the same type."""
        budget = self.check_parameter("budget")
        if budget == "auto":
            budget = self.auto_budget_
        is_matrix = not isinstance(X, _native.KernelRows)
        kernel: Any = _native.focus_rows if is_matrix else _native.focus_kernel_rows
        rows: Csr = kernel(
            X,
            self.importance_,
            self.factor_,
            budget=0.0 if budget is None else float(budget),
            n_threads=_native.n_threads(self.n_jobs),
        )
        return rows

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def auto_budget(n_entries: int, n_features: int) -> int:
    """Return the budget "auto" for training points with ``n_entries`` of ``n_features``.

    Examples
    --------
    >>> from defrag.focusing.focus import auto_budget
    >>> [auto_budget(3 * n, 3) for n in (1, 63, 64, 300, 10_000)]
    [4, 4, 5, 7, 8]
    """
    digits = (n_entries // max(1, n_features)).bit_length()
    return min(max(digits - 2, LEAST_AUTO), MOST_AUTO)
