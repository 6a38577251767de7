"""Base class of clusterings of features."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from defrag import _native
from defrag._estimator import all_or_nothing
from defrag._parameters import VERBOSE, Choice, Float, Int
from defrag._validation import check_features, check_labels, check_seed, require_labels
from defrag.agglomeration._pooling import FeaturePooling
from defrag.trees.balanced import count_leaves
from defrag.trees.vectors import FeatureVectors, given_vectors

if TYPE_CHECKING:
    from defrag._parameters import Rule
    from defrag.typing import Csr, LabelsLike, MatrixLike, Seed

__all__ = ["GROUP_RULES", "VECTOR_RULES", "FeatureClustering"]

GROUP_RULES: dict[str, Any] = {
    "max_cluster_size": Int(1),
    "n_clusters": Int(1, none=True),
    "stop": Choice(("leaf<=d0", "leaf<2*d0")),
    "pooling": Choice(("sum", "mean", "mean_nonzero")),
    "scale": Choice((None, "energy")),
    "n_jobs": Int(none=True),
    "verbose": VERBOSE,
}
"""Parameters of all clusterings."""

VECTOR_RULES: dict[str, Any] = {
    "sample_points": Float(0.0, 1.0, open_low=True),
    "sample_labels": Float(0.0, 1.0, open_low=True),
    "min_labels": Int(1),
}
"""Parameters of clusterings of vectors; ``representation`` is checked separately, since it
may be an array."""


class FeatureClustering(FeaturePooling):
    """Base class of clusterings with a given number of groups.

    A subclass has the parameters of ``GROUP_RULES``; one that calls :meth:`_vectors` also has
    ``representation`` and those of ``VECTOR_RULES``.
    """

    max_cluster_size: int
    n_clusters: int | None
    stop: str
    representation: Any
    sample_points: float
    sample_labels: float
    min_labels: int
    # Parameters of Defrag; other clusterings use the values of the paper.
    volume: str = "l1"
    popularity: str = "all"
    row_norm: str | None = None

    random_state: Seed
    scale: str | None
    n_iter_: int

    parameter_rules: ClassVar[dict[str, Any]] = GROUP_RULES
    learnt_numbers: ClassVar[dict[str, Rule]] = {}
    """Rules of additional fitted numbers that model files store; ``objective`` is the rule of
    the attribute ``objective_``."""

    @all_or_nothing
    def fit(self, X: MatrixLike, Y: LabelsLike = None) -> FeatureClustering:
        """Find the groups.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            Training data.
        Y : indicator matrix, label lists or classes, optional
            Labels of the points, for clusterings that use them.

        Returns
        -------
        self : FeatureClustering
            The fitted transformer. It is unchanged if ``fit`` raises an exception.
        """
        self.check_parameters()
        X = check_features(self, X, reset=True)
        return self._learn(X, Y)

    @all_or_nothing
    def fit_canonical(self, X: Csr, Y: LabelsLike = None) -> FeatureClustering:
        """Find the groups on a validated matrix, as part of a composite."""
        self.check_parameters()
        self.n_features_in_: int = X.shape[1]
        return self._learn(X, Y)

    def _learn(self, X: Csr, Y: LabelsLike) -> FeatureClustering:
        self._find_groups(X, Y, check_seed(self.random_state))
        return self

    @abstractmethod
    def _find_groups(self, X: Csr, Y: LabelsLike, seed: int) -> None:
        """Find the groups on a validated matrix and call ``_set_groups``."""

    def _count_groups(self, n_features: int) -> int:
        if self.n_clusters is None:
            return count_leaves(n_features, self.max_cluster_size, stop=self.stop)
        if self.n_clusters > n_features:
            raise ValueError(
                f"n_clusters of {type(self).__name__} must be at most the number of "
                f"features ({n_features}), got {self.n_clusters}"
            )
        return self.n_clusters

    def _check_representation(self) -> None:
        if isinstance(self.representation, str) and self.representation not in ("x", "xy"):
            raise ValueError(
                f"representation of {type(self).__name__} must be 'x', 'xy', a matrix or a "
                f"mapping, got {self.representation!r}"
            )

    def _labels(self, Y: LabelsLike, n_rows: int) -> Csr:
        """Return the validated labels; raise ValueError if there are none."""
        require_labels(self, Y)
        return check_labels(Y, n_rows=n_rows, names=True).matrix

    def _vectors(self, X: Csr, Y: LabelsLike) -> Csr:
        """Return the unscaled vectors of the features."""
        vectors = FeatureVectors(
            X,
            sample_points=self.sample_points,
            volume=self.volume,
            row_norm=self.row_norm,
            n_threads=_native.n_threads(self.n_jobs),
        )
        if not isinstance(self.representation, str):
            names = getattr(self, "feature_names_in_", None)
            given = given_vectors(self.representation, n_features=X.shape[1], names=names)
            return vectors.by_given(given)
        if self.representation == "x":
            return vectors.by_points()
        labels = self._labels(Y, X.shape[0])
        share = int(np.ceil(self.sample_labels * labels.shape[1]))
        n_labels = max(share, min(self.min_labels, labels.shape[1]))
        return vectors.by_labels(labels, n_labels=n_labels, popularity=self.popularity)
