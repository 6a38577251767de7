"""A classifier that imputes points before prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import clone

from defrag._parameters import Int
from defrag.classifiers import LabelTree
from defrag.classifiers._composite import check_part
from defrag.classifiers._cost import Cost
from defrag.classifiers._reducing import Transforming
from defrag.imputation.fiat import Fiat

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier
    from defrag.explain.shares import MatrixShares
    from defrag.typing import Csr, Seed

__all__ = ["Imputed"]

# Estimated time of clustering the features, on one thread and per non-zero of X.
_SECONDS_PER_CLUSTERED_NON_ZERO = 2e-7


class Imputed(Transforming):
    """Train a classifier on unchanged points and impute points before prediction.

    Parameters
    ----------
    base : classifier, default=LabelTree(n_trees=3)
        Any classifier of this library. Agglomeration and re-ranking in the base are applied to
        imputed points.
    imputation : Fiat, default=Fiat()
        The imputation.
    random_state : int, RandomState, Generator or None, default=None
        Seed; overrides those of ``base`` and ``imputation``.
    n_jobs : int, optional
        Number of threads; overrides those of ``base`` and ``imputation``.

    Attributes
    ----------
    base_ : classifier
        The trained base classifier.
    imputation_ : Fiat
        The fitted imputation.
    classes_ : ndarray
        Classes, or label ids.
    n_labels_ : int
        Number of labels.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import Fiat, Imputed, Parabel
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = np.repeat(["a", "b", "c"], 4)
    >>> model = Imputed(Parabel(1), Fiat(beta=0.3), random_state=0).fit(X, Y)
    >>> model.predict(X[::4]).tolist()
    ['a', 'b', 'c']
    """

    def __init__(
        self,
        base: Classifier | None = None,
        imputation: Fiat | None = None,
        *,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.base = base
        self.imputation = imputation
        self.random_state = random_state
        self.n_jobs = n_jobs

    parameter_rules: ClassVar[dict[str, Any]] = {"n_jobs": Int(none=True)}
    part_names = ("base_", "imputation_")

    def fit_reduction(self, X: Csr, Y: Csr, seed: int) -> Fiat:
        """Return the fitted imputation."""
        imputation = Fiat() if self.imputation is None else self.imputation
        check_part(self, "imputation", imputation, Fiat)
        own: Fiat = _copy(imputation).set_params(random_state=seed, n_jobs=self.n_jobs)
        return own.fit_canonical(X, Y)

    def reduce(self, reduction: Fiat, X: Csr) -> Csr:  # noqa: ARG002 - only predictions are imputed
        """Return the points unchanged: the base is not trained on imputed points."""
        return X

    def set_members(self, members: list[tuple[Fiat, Classifier]]) -> None:
        """Set the fitted parts."""
        ((self.imputation_, self.base_),) = members

    def default_base(self) -> Classifier:
        """Return a ``LabelTree`` with three trees."""
        return LabelTree(3)

    def training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost of the base and of the co-occurrence of features."""
        imputation = Fiat() if self.imputation is None else self.imputation
        n_clusterings = 0 if imputation.uses_companions() else imputation.n_clusterings
        clusterings = Cost(n_clusterings * X.nnz * _SECONDS_PER_CLUSTERED_NON_ZERO, 0.0)
        return self.unfitted_base().training_cost(X, Y).times(1.1) + clusterings

    def transformed(self, X: Csr) -> Csr:
        """Return the imputed rows."""
        return self.imputation_.impute(X)

    def shares(self, row: Csr, transformed: Csr) -> MatrixShares:
        """Return the shares of entries in the values that were imputed from them."""
        return self.imputation_.shares(row, transformed)


def _copy(imputation: Fiat) -> Fiat:
    """Return an unfitted clone of an imputation that shares its fitted clusterings."""
    parameters = imputation.get_params(deep=False)
    return Fiat(**parameters) if imputation.prefit else clone(imputation)
