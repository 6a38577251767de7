"""What is done with groups of features, however they were found.

Pooling of points, names of groups, tied weights and certificates (:class:`FeaturePooling`), and the
parameters and ``fit`` of everything that finds groups: Defrag, Hybrid and the rivals in
``baselines`` (:class:`FeatureClustering`, :class:`VectorClustering`).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._estimator import RowTransformer, all_or_nothing, on_snapshot
from defrag._native import Pooling
from defrag._parameters import SEED_KIND, VERBOSE, Choice, Float, Int, fitted, param
from defrag._scikit import check_is_fitted
from defrag._validation import check_features, check_labels, check_seed, require_labels
from defrag.agglomeration.certificate import certificate, tie_weights
from defrag.persistence.fields import LARGEST, MAX_COUNT, Array, Number, Part, State, feature_names
from defrag.persistence.kinds import Rewritten
from defrag.trees import FeatureVectors, count_leaves, given_vectors
from defrag.typing import Csr, Floats, Ids, LabelsLike, MatrixLike, Seed

if TYPE_CHECKING:
    from defrag.agglomeration.certificate import Certificate, Level, Method

# --- Base class of transformers that replace features by groups.

_NAMES_SHOWN = 3


class FeaturePooling(RowTransformer):
    """Base class of transformers that replace features by groups.

    The ``fit`` of a subclass calls :meth:`_set_groups`.
    """

    pooling: str = param(
        Choice(("sum", "mean", "mean_nonzero")),
        "The value of a group for a point: the sum of its features, the sum divided by the size "
        "of the group, or the sum divided by the number of its features that are non-zero.",
        default="sum",
    )

    labels_: Ids = fitted(
        "ndarray of int32, shape (n_features,)", "The group of each feature, or -1 if it has none."
    )
    n_clusters_: int = fitted("int", "Number of groups, including empty ones.")
    energy_: NDArray[np.float64] = fitted(
        "ndarray of float64, shape (n_features,)",
        "Energy of each feature: its sum of squares over unit rows of the training data.",
    )
    scale_: Floats | None = fitted(
        "ndarray of float32, shape (``n_clusters_``,) or None", "Factors of the groups."
    )

    def _set_groups(
        self, X: Csr, labels: Ids, n_clusters: int, energy: NDArray[np.float64], scale: str | None
    ) -> None:
        """Set the fitted attributes from the groups found on X."""
        self.labels_ = labels
        self.n_clusters_ = n_clusters
        self.energy_ = energy
        self.scale_ = None
        if scale == "energy":
            self.scale_ = self._find_scale(self._group_statistics(X)[1])

    @on_snapshot
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return names of the groups, joined from their features with the most energy.

        Parameters
        ----------
        input_features : array-like of str, optional
            Feature names; default: those of ``fit``, or x0, x1, ...

        Returns
        -------
        names : ndarray of object, shape (n_clusters_,)
            Such as ``"image+picture+jpeg+5"``: three features and five more.
        """
        from sklearn.utils.validation import _check_feature_names_in  # noqa: PLC0415 - slow to import

        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        order = np.lexsort((np.arange(len(self.labels_)), -self.energy_, self.labels_))
        ends = np.searchsorted(self.labels_[order], np.arange(self.n_clusters_ + 1))
        result = np.empty(self.n_clusters_, dtype=object)
        for k in range(self.n_clusters_):
            members = order[ends[k] : ends[k + 1]]
            shown = [str(names[j]) for j in members[:_NAMES_SHOWN]]
            more = [str(len(members) - _NAMES_SHOWN)] if len(members) > _NAMES_SHOWN else []
            result[k] = "+".join(shown + more) if len(members) else f"empty{k}"
        return result

    @on_snapshot
    def tie_weights(self, W: Any, X: MatrixLike, *, method: Method = "cluster_ls") -> Any:
        """Compress a linear model of the features into a linear model of the groups.

        Parameters
        ----------
        W : ndarray or sparse matrix, shape (n_features,) or (n_features, n_labels)
            A linear model with the scores ``X @ W``.
        X : matrix, shape (n_points, n_features)
            Points on which the scores should change little.
        method : {"cluster_ls", "mean", "joint_ls"}, default="cluster_ls"
            See :func:`defrag.agglomeration.certificate.tie_weights`.

        Returns
        -------
        tied : ndarray or sparse matrix, shape (n_clusters_,) or (n_clusters_, n_labels)
            The compressed model, for use on ``transform(X)``.
        """
        self._check_linear()
        X = check_features(self, X, reset=False)
        tied = tie_weights(X, self.labels_, W, method, n_clusters=self.n_clusters_)
        factor = self._factor()
        if factor is None:
            return tied
        wide = factor.astype(np.float64)
        inverse = np.divide(1.0, wide, out=np.zeros_like(wide), where=wide > 0)
        return sparse.diags_array(inverse) @ tied

    @on_snapshot
    def certificate(
        self, X: MatrixLike, W: Any, *, tied: Any = None, level: Level = "residual"
    ) -> Certificate:
        """Compute and bound the change of scores when a linear model is compressed.

        Parameters
        ----------
        X : matrix, shape (n_points, n_features)
            The points whose scores are compared.
        W : ndarray or sparse matrix, shape (n_features,) or (n_features, n_labels)
            The linear model.
        tied : ndarray or sparse matrix, optional
            The compressed model; default: ``tie_weights(W, X)``.
        level : {"residual", "spectral", "frobenius"}, default="residual"
            Level of the bound; see :func:`defrag.agglomeration.certificate.certificate`.

        Returns
        -------
        certificate : Certificate
            The change, the worst change of a single score, and the bound.
        """
        self._check_linear()
        X = check_features(self, X, reset=False)
        if tied is None:
            tied = self.tie_weights(W, X)
        factor = self._factor()
        if factor is not None:
            tied = sparse.diags_array(factor.astype(np.float64)) @ tied
        return certificate(X, self.labels_, W, tied=tied, level=level)

    def _check_linear(self) -> None:
        check_is_fitted(self)
        if self._pooling() == "mean_nonzero":
            raise ValueError(
                f"pooling='mean_nonzero' of {type(self).__name__} is not linear: tied weights "
                "require 'sum' or 'mean'"
            )

    def _group_statistics(self, X: Csr) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the entries of every group that is not scaled, and its energy on unit rows."""
        counts, energy = _native.group_statistics(
            X,
            self.labels_,
            n_groups=self.n_clusters_,
            pooling=self._kernel_pooling(),
            n_threads=self._threads,
        )
        factor = self._factor()
        return counts, energy if factor is None else energy * np.square(factor, dtype=np.float64)

    def _find_scale(self, energy: NDArray[np.float64]) -> Floats:
        """Return factors that give groups of this energy that of their features."""
        kept = self.labels_ >= 0
        wanted = np.bincount(self.labels_[kept], self.energy_[kept], minlength=self.n_clusters_)
        ratio = np.divide(wanted, energy, out=np.ones(self.n_clusters_), where=energy > 0)
        return np.sqrt(ratio).astype(np.float32)

    def _apply(self, X: Csr) -> Csr:
        """Replace the features of a canonical matrix by groups."""
        return _native.agglomerate(
            X,
            self.labels_,
            n_groups=self.n_clusters_,
            pooling=self._kernel_pooling(),
            scale=self._factor(),
            n_threads=self._threads,
        )

    def _pooling(self) -> str:
        pooling: str = self._check_parameter("pooling")  # it may have been set after fit
        return pooling

    def _kernel_pooling(self) -> Pooling:
        return Pooling.mean_nonzero if self._pooling() == "mean_nonzero" else Pooling.sum

    def _factor(self) -> Floats | None:
        """Return the factors of the sums of the groups, or None."""
        if self._pooling() != "mean":
            return self.scale_
        sizes = np.bincount(self.labels_[self.labels_ >= 0], minlength=self.n_clusters_)
        mean = (1.0 / np.maximum(sizes, 1)).astype(np.float32)
        return mean if self.scale_ is None else mean * self.scale_

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_


# Vectors that the user passed are not stored, but a word in their place.
_GIVEN = "given"
_STORED_VECTORS = Rewritten(
    Choice(("x", "xy", _GIVEN)), pack=lambda value: value if isinstance(value, str) else _GIVEN
)


def _check_groups(part: Part) -> None:
    n_features, n_clusters = part.size("labels"), part.size("n_clusters")
    if not 1 <= n_features <= MAX_COUNT:
        part.fail(f"{part.name('labels')} must have at least 1 and fewer than 2**31 features, "
                  f"got {n_features}")  # fmt: skip
    # Also bounds the memory that ``transform`` allocates for a hostile file.
    if n_clusters > n_features:
        part.fail(f"n_clusters must be at most the number of features ({n_features}), "
                  f"got {n_clusters}")  # fmt: skip


class FeatureClustering(FeaturePooling):
    """Base class of estimators that find groups of features."""

    _differs_by_seed: ClassVar[bool] = True
    """Whether members of an ensemble gain from clusterings of their own."""

    scale: str | None = param(
        Choice((None, "energy")), "Scale each group to the energy of its features.", default=None
    )
    random_state: Seed = param(
        doc="Seed; an int gives the same groups for any ``n_jobs``.", kind=SEED_KIND, default=None
    )
    verbose: int = param(VERBOSE, "Whether to show a progress bar on a terminal.", default=0)

    n_iter_: int = fitted("int", "Number of iterations.")

    _state = State(
        Array("labels_", "int32", low=-1, below="n_clusters"),
        Number("n_clusters_", Int(0, MAX_COUNT)),
        Number("n_iter_", Int(1, 2**31 - 1)),
        Array("energy_", "float64", length="labels", low=0),
        Array("scale_", length="n_clusters", low=0, most=LARGEST, optional=True),
        feature_names("labels"),
        check=_check_groups,
        finish=lambda part, model: setattr(model, "n_features_in_", len(part.arrays["labels"])),
        parameters={"representation": _STORED_VECTORS},
        sizes={"features": "labels", "groups": "n_clusters"},
    )

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
        self._check_parameters()
        X = check_features(self, X, reset=True)
        return self._learn(X, Y)

    def _learn(self, X: Csr, Y: LabelsLike) -> FeatureClustering:
        self._find_groups(X, Y, check_seed(self.random_state))
        return self

    @abstractmethod
    def _find_groups(self, X: Csr, Y: LabelsLike, seed: int) -> None:
        """Find the groups on a validated matrix and call ``_set_groups``."""

    def _labels(self, Y: LabelsLike, n_rows: int) -> Csr:
        """Return the validated labels; raise ValueError if there are none."""
        require_labels(self, Y)
        return check_labels(Y, n_rows=n_rows, names=True).matrix


class SizedClustering(FeatureClustering):
    """Base class of clusterings with a given number of groups."""

    max_cluster_size: int = param(
        Int(1),
        "Determines the number of groups, as in :class:`Defrag`; groups may be larger.",
        default=8,
    )
    n_clusters: int | None = param(
        Int(1, none=True), "Number of groups; overrides ``max_cluster_size``.", default=None
    )
    stop: str = param(
        Choice(("leaf<=d0", "leaf<2*d0")),
        "The rule that determines the number of groups.",
        default="leaf<=d0",
    )

    def _count_groups(self, n_features: int) -> int:
        if self.n_clusters is None:
            return count_leaves(n_features, self.max_cluster_size, stop=self.stop)
        if self.n_clusters > n_features:
            raise ValueError(
                f"n_clusters of {type(self).__name__} must be at most the number of "
                f"features ({n_features}), got {self.n_clusters}"
            )
        return self.n_clusters


class VectorClustering(SizedClustering):
    """Base class of clusterings of the vectors of features."""

    representation: Any = param(  # without a rule, since it may be an array
        doc="The vector of a feature, as in :class:`Defrag`.",
        kind='{"x", "xy"}, matrix or mapping',
        default="x",
        kw_only=False,
    )
    sample_points: float = param(
        Float(0.0, 1.0, open_low=True),
        "Fraction of the points that represent features, those with the largest volume first.",
        default=0.25,
    )
    sample_labels: float = param(
        Float(0.0, 1.0, open_low=True),
        'Fraction of the labels used by "xy", the most frequent first.',
        default=0.05,
    )
    min_labels: int = param(
        Int(1),
        'Minimum number of labels used by "xy"; 1 for the paper\'s share, which is 200 labels on '
        "EURLex-4K.",
        default=1000,
    )

    def _needs_labels(self) -> bool:
        return isinstance(self.representation, str) and self.representation == "xy"

    def _vectors(
        self,
        X: Csr,
        Y: LabelsLike,
        *,
        volume: str = "l1",
        popularity: str = "all",
        row_norm: str | None = None,
    ) -> Csr:
        """Return the unscaled vectors of the features; the defaults are those of the paper."""
        # Studies name representations that they compute before ``fit``.
        if isinstance(self.representation, str) and self.representation not in ("x", "xy"):
            raise ValueError(
                f"representation of {type(self).__name__} must be 'x', 'xy', a matrix or a "
                f"mapping, got {self.representation!r}"
            )
        vectors = FeatureVectors(
            X,
            sample_points=self.sample_points,
            volume=volume,
            row_norm=row_norm,
            n_threads=self._threads,
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
        return vectors.by_labels(labels, n_labels=n_labels, popularity=popularity)
