"""Missing features, imputed from those they occur with: the paper's FIAT.

Rows are taken at length 1, and so is what comes out. The paper replaces x by C x, with C the
pseudo co-occurrence of the features; taken literally this is dominated by frequent features and
loses a fifth of the precision on complete rows, so that the default only adds to a row what it
seems to lack.
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
from defrag.imputation._companions import Companions
from defrag.imputation._missing import MissingRule
from defrag.trees.seeds import member_seeds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sklearn.utils import Tags

    from defrag.typing import Csr, Floats, Ids, LabelsLike, MatrixLike, Seed

__all__ = ["Fiat"]


class Fiat(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Add to rows the features that theirs usually occur with.

    For rows that have lost features on the way: ``u + beta u C / |u C|``, where u is the row
    at length 1 and C says what a feature tells of its companions, the slopes of these on the
    feature over the training rows. With
    ``beta="auto"`` each row gets a beta of its own: the odds that a feature of it is missing,
    judged by how many features it has and how many rows with such features usually have. The
    rule is learnt on training rows that are erased, and rows that seem complete stay as they are.

    A classifier is to be trained on rows as they are: use :class:`Imputed`, since a
    scikit-learn ``Pipeline`` would impute the training rows too.

    Parameters
    ----------
    mode : {"blend", "cosine", "paper"}, default="blend"
        The sum above; u C alone, with cosines instead of slopes; or with raw counts, as printed.
    beta : float or "auto", default="auto"
        How much "blend" adds.
    companions : int or None, default=32
        How many companions of a feature "blend" knows: the strongest. None: those of the same
        group, which is what the other modes use, and "blend" too where ``agglomeration`` is given.
    agglomeration : Defrag or list of Defrag, optional
        How features are grouped; default: by labels, or by points where ``fit`` gets no Y, up
        to 32 in a group, on all points.
    prefit : bool, default=False
        Whether ``agglomeration`` is fitted, one or a list, and to be used as it is.
    n_clusterings : int, default=3
        How many clusterings C is the mean of, where they are not given.
    max_growth : int, default=2
        A row keeps at most so many times the features it had, the largest, though as many as
        training rows have on average; None for all.
    row_norm : bool, default=True
        Whether rows come out at length 1, or at the length they had.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the samples, of the clusterings and of the erasures.
    n_jobs : int, optional
        Threads.

    Attributes
    ----------
    co_occurrence_ : Companions or CoOccurrence
        C, as lists or as flat blocks.
    usual_size_ : int
        How many features a training row has on average.
    rule_ : MissingRule or None
        How "auto" finds the beta of a row.
    n_features_in_ : int
        How many features X had.

    See Also
    --------
    Imputed : A classifier whose rows are imputed before they are ranked.
    defrag.metrics.erase_features : The protocol by which this is judged.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import Fiat
    >>> X = np.kron(np.eye(4), np.ones((10, 2)))  # features come in pairs
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
        """Learn which features occur together.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            Training data, complete rows.
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
        """Learn from a matrix that was checked already, as a part of a composite does."""
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
                    "Fiat needs at least 2 rows to learn beta from, got n_samples = "
                    f"{rows.shape[0]}: set beta"
                )
            rule = MissingRule.learn(rows, seed=seed)
        self.co_occurrence_ = self._relate(rows, groups, seed)
        self.usual_size_ = math.ceil(rows.nnz / rows.shape[0])
        self.rule_: MissingRule | None = rule
        return self

    def uses_companions(self) -> bool:
        """Return whether features have lists of companions instead of groups."""
        own = self.mode == "blend" and self.companions is not None
        return own and self.agglomeration is None and not self.prefit

    def _find_groups(self, rows: Csr, Y: LabelsLike, seed: int) -> list[Ids] | None:
        """Group the features, unless each has a list of its own."""
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
        """Find out what features say about each other."""
        threads = _native.n_threads(self.n_jobs)
        if groups is None:
            best: int = self.companions  # type: ignore[assignment] # with None there are groups
            return Companions.of_rows(rows, best, seed=seed, n_threads=threads)
        scale = {"paper": "raw", "cosine": "cosine", "blend": "slope"}[self.mode]
        return CoOccurrence.of_rows(rows, groups, scale=scale, n_threads=threads)

    @on_snapshot
    def transform(self, X: MatrixLike) -> Any:
        """Impute rows.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            Data with the features of ``fit``.

        Returns
        -------
        Xt : csr_array, or ndarray for dense X, shape (n_points, n_features)
            The rows, float32.
        """
        check_is_fitted(self)
        result = self.impute(check_features(self, X, reset=False))
        return result if sparse.issparse(X) else result.toarray()

    def impute(self, X: Csr) -> Csr:
        """Impute the rows of a canonical matrix."""
        threads = _native.n_threads(self.n_jobs)
        rows = unit_rows(X, threads)
        betas: Floats | None = None
        if self.rule_ is not None:
            betas = self.rule_.betas(rows)
        elif self.check_parameter("mode") == "blend":
            betas = np.full(rows.shape[0], self._beta(), dtype=np.float32)
        max_growth = self.check_parameter("max_growth")
        # No row can grow beyond the number of features.
        growth = 0 if max_growth is None else min(max_growth, X.shape[1])
        result = self.co_occurrence_.impute(
            rows, betas, max_growth=growth, usual_size=self.usual_size_, n_threads=threads
        )
        if not self.check_parameter("row_norm"):
            lengths = _native.row_norms(X, l1=False, n_threads=threads)
            result.data *= np.repeat(lengths, np.diff(result.indptr))
        return result

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
