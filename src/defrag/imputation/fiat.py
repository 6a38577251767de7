"""Imputation of missing features from co-occurring ones: FIAT of the paper.

Points are L2-normalised before and after. The paper replaces x by C x, where C is the pseudo
co-occurrence of the features; this is dominated by frequent features and loses a fifth of the
precision on complete points. The default therefore adds to a point only as much as it seems to
have lost.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from defrag import _native
from defrag._estimator import Estimator, all_or_nothing, on_snapshot
from defrag._parameters import Choice, Float, Int, OrAuto
from defrag._validation import check_features, check_seed
from defrag.agglomeration import Defrag
from defrag.agglomeration.co_occurrence import CoOccurrence, find_groups
from defrag.classifiers._base import unit_rows
from defrag.explain.shares import MatrixShares, normalised_shares
from defrag.imputation._companions import Companions
from defrag.imputation._missing import MissingRule
from defrag.trees.seeds import member_seeds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sklearn.utils import Tags

    from defrag.typing import Csr, Floats, Ids, LabelsLike, MatrixLike, Seed

__all__ = ["Fiat"]


class Fiat(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Impute missing features of points.

    A unit row u becomes ``u + beta u C / |u C|``, where C[j, k] is the slope of the regression
    of feature k on feature j over the training points. With ``beta="auto"``, each point gets its
    own beta, the odds that a feature is missing, estimated from the number of features of the
    point and the usual number in points with these features. The estimate is learnt on erased
    training points; points that seem complete are not changed.

    Classifiers should be trained on unchanged points: use :class:`Imputed`, since a
    scikit-learn ``Pipeline`` would impute the training points too.

    Parameters
    ----------
    mode : {"blend", "cosine", "paper"}, default="blend"
        The sum above; u C alone, with cosines instead of slopes; or u C with raw products, as
        in the paper.
    beta : float or "auto", default="auto"
        Weight of the imputed part for "blend".
    companions : int or None, default=32
        Number of companions of a feature for "blend". None: the features of its groups, which
        are used by the other modes, and by "blend" if ``agglomeration`` is given.
    agglomeration : Defrag or list of Defrag, optional
        The clustering of the features; default: by labels, or by points if ``fit`` gets no Y,
        with up to 32 features in a group, on all points.
    prefit : bool, default=False
        Whether ``agglomeration`` is a fitted clustering or a list of them.
    n_clusterings : int, default=3
        Number of clusterings, over which C is averaged.
    max_growth : int, default=2
        A point keeps at most this multiple of its number of features, the largest ones, but at
        least the mean number of features of a training point; None for all.
    row_norm : bool, default=True
        Whether to L2-normalise imputed points or to keep their norms.
    random_state : int, RandomState, Generator or None, default=None
        Seed of samples, clusterings and erasures.
    n_jobs : int, optional
        Number of threads.

    Attributes
    ----------
    co_occurrence_ : Companions or CoOccurrence
        C, as lists or as blocks.
    usual_size_ : int
        Mean number of features of a training point.
    rule_ : MissingRule or None
        Estimator of beta for "auto".
    n_features_in_ : int
        Number of features.

    See Also
    --------
    Imputed : A classifier that imputes points before prediction.
    defrag.metrics.erase_features : The simulation used for evaluation.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import Fiat
    >>> X = np.kron(np.eye(4), np.ones((10, 2)))  # features occur in pairs
    >>> fiat = Fiat(beta=1.0, random_state=0).fit(X)
    >>> fiat.transform([[1, 0, 0, 0, 0, 0, 0, 0]]).astype(float).round(2).tolist()
    [[0.96, 0.29, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        mode: str = "blend",
        *,
        beta: float | str = "auto",
        companions: int | None = 32,
        agglomeration: Defrag | Sequence[Defrag] | None = None,
        prefit: bool = False,
        n_clusterings: int = 3,
        max_growth: int | None = 2,
        row_norm: bool = True,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.mode = mode
        self.beta = beta
        self.companions = companions
        self.agglomeration = agglomeration
        self.prefit = prefit
        self.n_clusterings = n_clusterings
        self.max_growth = max_growth
        self.row_norm = row_norm
        self.random_state = random_state
        self.n_jobs = n_jobs

    parameter_rules: ClassVar[dict[str, Any]] = {
        "mode": Choice(("blend", "cosine", "paper")),
        "beta": OrAuto(Float(0.0)),
        "companions": Int(1, none=True),
        "prefit": Choice((True, False)),
        "n_clusterings": Int(1),
        "max_growth": Int(1, none=True),
        "row_norm": Choice((True, False)),
        "n_jobs": Int(none=True),
    }

    @all_or_nothing
    def fit(self, X: MatrixLike, Y: LabelsLike = None) -> Fiat:
        """Compute the co-occurrence of the features.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            Complete training points.
        Y : indicator matrix, label lists or classes, optional
            Labels of the points, for groups by labels.

        Returns
        -------
        self : Fiat
            The fitted transformer.
        """
        self.check_parameters()
        X = check_features(self, X, reset=True)
        return self._learn(X, Y)

    @all_or_nothing
    def fit_canonical(self, X: Csr, Y: LabelsLike = None) -> Fiat:
        """Fit on a validated matrix, as part of a composite."""
        self.check_parameters()
        self.n_features_in_: int = X.shape[1]
        return self._learn(X, Y)

    def _learn(self, X: Csr, Y: LabelsLike) -> Fiat:
        seed = check_seed(self.random_state)
        threads = _native.n_threads(self.n_jobs)
        rows = unit_rows(X, threads)
        groups = self._find_groups(rows, Y, seed)
        rule = None
        if self.mode == "blend" and self.beta == "auto":
            if rows.shape[0] < 2:
                raise ValueError(
                    "Fiat requires at least 2 points to learn beta, got n_samples = "
                    f"{rows.shape[0]}: set beta"
                )
            rule = MissingRule.learn(rows, seed=seed)
        self.co_occurrence_ = self._relate(rows, groups, seed)
        self.usual_size_ = math.ceil(rows.nnz / rows.shape[0])
        self.rule_: MissingRule | None = rule
        return self

    def uses_companions(self) -> bool:
        """Return whether features have lists of companions instead of groups."""
        lists = self.mode == "blend" and self.companions is not None
        return lists and self.agglomeration is None and not self.prefit

    def _find_groups(self, rows: Csr, Y: LabelsLike, seed: int) -> list[Ids] | None:
        """Return the groups of the features, or None if lists of companions are used."""
        if self.uses_companions():
            return None
        representation = "x" if Y is None else "xy"
        default = Defrag(representation, max_cluster_size=32, sample_points=1.0)
        return find_groups(
            rows,
            Y,
            default if self.agglomeration is None else self.agglomeration,
            prefit=self.prefit,
            seeds=member_seeds(seed, self.n_clusterings),
            n_jobs=self.n_jobs,
            owner="Fiat",
        )

    def _relate(self, rows: Csr, groups: list[Ids] | None, seed: int) -> Companions | CoOccurrence:
        """Return C, as lists of companions or as blocks."""
        threads = _native.n_threads(self.n_jobs)
        if groups is None:
            best: int = self.companions  # type: ignore[assignment] # with None there are groups
            return Companions.of_rows(rows, best, seed=seed, n_threads=threads)
        scale = {"paper": "raw", "cosine": "cosine", "blend": "slope"}[self.mode]
        return CoOccurrence.of_rows(rows, groups, scale=scale, n_threads=threads)

    @on_snapshot
    def transform(self, X: MatrixLike) -> Any:
        """Return imputed points.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            Points with the features of ``fit``.

        Returns
        -------
        Xt : csr_array, or ndarray for dense X, shape (n_points, n_features)
            The imputed points, float32.
        """
        check_is_fitted(self)
        result = self.impute(check_features(self, X, reset=False))
        return result if sparse.issparse(X) else result.toarray()

    def impute(self, X: Csr) -> Csr:
        """Return the imputed points of a validated matrix."""
        threads = _native.n_threads(self.n_jobs)
        rows = unit_rows(X, threads)
        betas = self._betas(rows)
        max_growth = self.check_parameter("max_growth")
        # No row can grow beyond the number of features.
        growth = 0 if max_growth is None else min(max_growth, X.shape[1])
        result = self.co_occurrence_.impute(
            rows, betas, max_growth=growth, usual_size=self.usual_size_, n_threads=threads
        )
        if not self.check_parameter("row_norm"):
            lengths = _native.row_norms(X, norm=_native.Norm.l2, n_threads=threads)
            result.data *= np.repeat(lengths, np.diff(result.indptr))
        return result

    def shares(self, row: Csr, imputed: Csr) -> MatrixShares:
        """Return the share of each feature of a row in each entry of the imputed row.

        Parameters
        ----------
        row, imputed : csr_array, shape (1, n_features)
            The row and the result of :meth:`impute`.

        Returns
        -------
        shares : MatrixShares, of shape (n_imputed_entries, n_entries)
            Rows add up to 1.
        """
        rows = unit_rows(row, 1)
        betas = self._betas(rows)
        related = self.co_occurrence_.of_features(rows.indices).astype(np.float64)
        parts = sparse.coo_array(sparse.diags_array(rows.data.astype(np.float64)) @ related)
        entries, features, values = parts.row, parts.col, parts.data
        if betas is not None:
            length = np.linalg.norm(np.bincount(features, values))
            values = values * (betas[0] / length if length else 0.0)
            entries = np.append(entries, np.arange(rows.nnz))
            features = np.append(features, rows.indices)
            values = np.append(values, rows.data)
        kept = np.isin(features, imputed.indices)
        places = np.searchsorted(imputed.indices, features[kept])
        return normalised_shares(values[kept], (places, entries[kept]), (imputed.nnz, row.nnz))

    def _betas(self, rows: Csr) -> Floats | None:
        """Return the weight of the imputed part of each row; None if it replaces the row."""
        if self.rule_ is not None:
            return self.rule_.betas(rows)
        if self.check_parameter("mode") == "blend":
            return np.full(rows.shape[0], self._beta(), dtype=np.float32)
        return None

    def _beta(self) -> float:
        beta = self.check_parameter("beta")
        if beta == "auto":
            raise ValueError("beta of Fiat must be a number, got 'auto': fit again to learn it")
        return float(beta)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
