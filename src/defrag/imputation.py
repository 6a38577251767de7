"""Imputation of missing features from co-occurring ones: FIAT of the paper.

The paper replaces a point x by C x, where C is the pseudo co-occurrence of the features; this is
dominated by frequent features and loses most of the precision on complete points. The default
therefore adds to a point only as much as it seems to have lost, and L2-normalises points before and
after.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._estimator import RowTransformer, all_or_nothing
from defrag._native import GroupLayout
from defrag._parameters import SEED_KIND, Choice, Float, Int, OrAuto, fitted, param
from defrag._scikit import OneToOneFeatureMixin, clone
from defrag._validation import check_features, check_matrix, check_seed
from defrag.agglomeration import Defrag
from defrag.agglomeration.co_occurrence import RIDGE, CoOccurrence, find_groups
from defrag.classifiers import LabelTree
from defrag.classifiers._base import Classifier
from defrag.classifiers._composite import BASE, Transforming, check_part
from defrag.classifiers._support import Cost, unit_rows
from defrag.explain.parts import MatrixShares, normalised_shares
from defrag.metrics.erasure import erase_features
from defrag.persistence.fields import (
    COUNT,
    LARGEST,
    MAX_COUNT,
    Array,
    Number,
    Object,
    Part,
    Sparse,
    State,
    feature_names,
)
from defrag.persistence.kinds import Child, Unfitted, kind_of
from defrag.trees import member_seeds
from defrag.typing import Csr, Floats, Ids, LabelsLike, MatrixLike, Seed

# --- Estimation of the fraction of missing features of a point, learnt from erased points.
#
# A point is incomplete if it has fewer features than training points with the same features. A
# logistic regression estimates the odds that a feature is missing from the logarithm of the
# number of features and from the mean, over the features, of that logarithm in training points.
# The odds are also the weight of the imputed part: a point that has lost half of its features
# should be half imputed. No labels are needed.

# Erased fractions; complete points have a weight of three fifths, since most are complete.
_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)
_COMPLETE = 0.6
# Maximum number of held-out points, which are at most a fifth of all points.
_MAX_HELD_OUT = 1000
# Points with smaller odds are not imputed, which saves time but costs precision if few features
# are missing; larger odds make no difference.
_MIN_BETA, _MAX_BETA = 0.15, 3.0
# Weight of either outcome for every point, so that odds are finite if nothing can be erased.
_PRIOR_WEIGHT = 1e-3
# Newton's method takes about eight steps from zero.
_MAX_NEWTON_STEPS, _SMALL_STEP = 50, 1e-10


@dataclass(frozen=True)
class MissingRule:
    """Odds that a feature of a point is missing."""

    # Shape (3,): coefficients of 1, of the logarithm of the number of features, and of its usual
    # value.
    coefficients: NDArray[np.float64]
    # Shape (n_features,): mean logarithm of the number of features over the training points of
    # each feature.
    log_sizes: Floats

    @classmethod
    def learn(cls, rows: Csr, *, seed: int) -> MissingRule:
        """Return the rule, fitted on erased held-out rows; usual sizes are computed on all rows."""
        n_rows = rows.shape[0]
        order = np.random.default_rng([seed, 2]).permutation(n_rows)
        n_held = min(_MAX_HELD_OUT, max(1, n_rows // 5))
        held = rows[np.sort(order[:n_held])]
        counts, sums = _log_sizes(rows)
        held_counts, held_sums = _log_sizes(held)
        sizes = _means(counts - held_counts, sums - held_sums)
        predictors, weights = [], []
        for number, share in enumerate(_SHARES):
            erased = erase_features(held, share, np.random.default_rng([seed, number]))
            predictors.append(_predictors(erased, sizes))
            whole = np.diff(held.indptr)
            kept = np.where(whole > 0, np.diff(erased.indptr) / np.maximum(whole, 1), 1.0)
            of_share = _COMPLETE if share == 0.0 else (1.0 - _COMPLETE) / (len(_SHARES) - 1)
            weights.append(of_share * (np.stack([kept, 1.0 - kept], axis=1) + _PRIOR_WEIGHT))
        odds = _fit_odds(np.concatenate(predictors), np.concatenate(weights))
        return cls(odds, _means(counts, sums))

    def betas(self, rows: Csr) -> Floats:
        """Return the beta of each row: the odds, or 0 if they are small."""
        size, usual = _predictors(rows, self.log_sizes).T
        constant, of_size, of_usual = self.coefficients
        logits = constant + of_size * size + of_usual * usual
        # Clipped before the exponential, which could overflow.
        betas = np.exp(np.minimum(logits, np.log(_MAX_BETA)))
        betas[betas < _MIN_BETA] = 0.0
        return np.asarray(betas, dtype=np.float32)


def _fit_odds(predictors: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coefficients of a logistic regression with weights (kept, missing) per row.

    Newton's method for three numbers, with the penalty of scikit-learn's ``LogisticRegression``.
    That class multiplies matrices by BLAS, whose rounding depends on the processor; here all sums
    are added in one order, so that models have the same bits everywhere.
    """
    columns = [np.ones(len(predictors)), *np.ascontiguousarray(predictors.T)]
    penalty = np.array([0.0, *[1.0] * (len(columns) - 1)])
    total, missing = weights.sum(axis=1), weights[:, 1]
    coefficients = np.zeros(len(columns))
    for _ in range(_MAX_NEWTON_STEPS):
        logits = sum(one * column for one, column in zip(coefficients, columns, strict=True))
        share = 1.0 / (1.0 + np.exp(-logits))
        error, curvature = total * share - missing, total * share * (1.0 - share)
        gradient = [float((error * one).sum()) for one in columns] + penalty * coefficients
        hessian = [[float((curvature * one * other).sum()) for other in columns] for one in columns]
        step = solve_small(hessian + np.diag(penalty), gradient)
        coefficients = coefficients - step
        if np.abs(step).max() < _SMALL_STEP:
            break
    return coefficients


def solve_small(matrix: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve a small positive definite system by Cholesky's method, without LAPACK."""
    n = len(right)
    lower, solution = np.zeros((n, n)), right.copy()
    for i in range(n):
        for j in range(i + 1):
            rest = float(matrix[i, j]) - sum(float(lower[i, k] * lower[j, k]) for k in range(j))
            lower[i, j] = math.sqrt(rest) if i == j else rest / float(lower[j, j])
    for i in range(n):
        known = sum(float(lower[i, k] * solution[k]) for k in range(i))
        solution[i] = (solution[i] - known) / lower[i, i]
    for i in reversed(range(n)):
        known = sum(float(lower[k, i] * solution[k]) for k in range(i + 1, n))
        solution[i] = (solution[i] - known) / lower[i, i]
    return solution


def _log_sizes(rows: Csr) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return, by feature and in total, the number of rows and their sum of log numbers of features.

    The total is the last entry.
    """
    sizes, n_features = np.diff(rows.indptr), rows.shape[1]
    logs = np.log(np.maximum(sizes, 1))
    counts = np.bincount(rows.indices, minlength=n_features)
    sums = np.bincount(rows.indices, weights=np.repeat(logs, sizes), minlength=n_features)
    return np.append(counts, len(logs)), np.append(sums, logs.sum())


def _means(counts: NDArray[np.int64], sums: NDArray[np.float64]) -> Floats:
    """Return the mean over the rows of each feature and one average row."""
    return np.asarray((sums[:-1] + sums[-1] / counts[-1]) / (counts[:-1] + 1), dtype=np.float32)


def _predictors(rows: Csr, log_sizes: Floats) -> NDArray[np.float64]:
    counts = np.diff(rows.indptr)
    sizes = np.maximum(counts, 1)
    numbers = np.repeat(np.arange(len(counts)), counts)
    sums = np.bincount(numbers, weights=log_sizes[rows.indices], minlength=len(counts))
    return np.stack([np.log(sizes), sums / sizes], axis=1)


# --- Companions of each feature: the features that co-occur with it most, with regression slopes.
#
# In a clustering every feature is in one group, but a frequent feature has rare companions in many
# groups. A list per feature contains the best companions and needs no clustering.

# Maximum number of rows of a feature that are used; more rows do not improve the lists.
_MAX_ROWS = 128
# Slopes of a feature are halved if it occurs in this fraction of the rows, or in this many.
_COMMON_SHARE, _COMMON_ROWS = 0.02, 20


@dataclass(frozen=True)
class Companions:
    """Regression slopes of the companions of each feature."""

    # Shape (n_features, n_features): entry (j, k) is the slope of the regression of feature k on
    # feature j; row j contains feature j itself and its companions.
    lists: Csr

    @classmethod
    def of_rows(cls, X: Csr, n_best: int, *, seed: int, n_threads: int) -> Companions:
        """Compute the companions from unit rows.

        The companions of a feature are those with the largest cosines, over all its rows or a
        sample of them. Slopes of frequent features are damped.
        """
        n_rows, n_features = X.shape
        _, energy = _native.column_statistics(X, n_threads=n_threads)
        lists = _native.companions(
            sparse.csr_array(X.T),
            X,
            (1.0 / np.sqrt(energy + RIDGE)).astype(np.float32),
            n_best=min(n_best, n_features),
            max_rows=_MAX_ROWS,
            ridge=RIDGE,
            common=max(_COMMON_SHARE * n_rows, _COMMON_ROWS),
            seed=seed,
            n_threads=n_threads,
        )
        return cls(lists)

    def of_features(self, features: Ids) -> Csr:
        """Return the slopes of the companions of some features, one row each."""
        return self.lists[features]

    def impute(self, X: Csr, betas: Floats | None, **limits: int) -> Csr:
        """Return imputed unit rows; see ``_native.impute``."""
        return _native.impute(X, self.lists, betas, **limits)


def _without_given(model: Fiat) -> Fiat:
    """Return the imputation without groups that were passed, which are data."""
    if not model.prefit:
        return model
    given = {"agglomeration": None, "prefit": False, "companions": None}
    return Fiat(**{**model.get_params(deep=False), **given})


def _block_of(part: Part, values: dict[str, Any]) -> tuple[GroupLayout, Floats]:
    groups, entries = values.values()
    # Group ids are below the number of features, which bounds the allocation.
    part.check_ints("groups", -1, max(1, len(groups)))
    layout = GroupLayout.of(groups, int(groups.max(initial=-1)) + 1)
    part.check_length("entries", int(layout.entry_ptr[-1]))
    part.check_size("entries")
    return layout, entries


class _Block:
    """The blocks of one clustering in a file, whose layout follows from the groups."""

    _state = State(
        Array("groups", "int32", get=lambda one: one[0].groups),
        Array("entries", get=lambda one: one[1]),
        kind="blocks",
        build=_block_of,
    )


def _check_fiat(part: Part) -> None:
    """Check that a file has what the parameters say."""
    model = kind_of(Fiat).rebuild(part.parameters)
    listed, blocks = model._uses_companions(), part.children["blocks"]
    if listed != part.has("companions/indptr"):
        part.fail(f"{part.name('companions/indptr')} must be present if and only if a blend "
                  "has companions and no agglomeration")  # fmt: skip
    if listed == bool(blocks):
        rule = "empty if there are companions" if listed else "at least one, got none"
        part.fail(f"children '{part.prefix}blocks' must be {rule}")
    for number, (layout, _) in enumerate(blocks):
        wanted, got = part.state["n_features"], len(layout.groups)
        if got != wanted:
            part.fail(f"{part.name(f'blocks/{number}/groups')} must have {wanted} items, got {got}")
    if (model.mode == "blend" and model.beta == "auto") != part.has("rule/coefficients"):
        part.fail(f"{part.name('rule/coefficients')} must be present if and only if beta is "
                  "'auto' in a blend")  # fmt: skip


def _set_blocks(part: Part, model: Fiat) -> None:
    if model.co_occurrence_ is None:
        model.co_occurrence_ = CoOccurrence(part.children["blocks"])


def _lists(model: Fiat) -> Companions | None:
    return model.co_occurrence_ if isinstance(model.co_occurrence_, Companions) else None


_RULE = State(
    Array("coefficients", "float64", length=3, most=LARGEST),
    Array("log_sizes", length="n_features", most=LARGEST),
    make=MissingRule,
)
_COMPANIONS = State(Sparse("lists", name="companions"), make=Companions)


# The modes of the paper's own formula.
_PAPER = ("paper", "missing")


class Fiat(OneToOneFeatureMixin, RowTransformer):
    """Impute missing features of points.

    A unit row u becomes ``u + beta u C / |u C|``, where C[j, k] is the slope of the regression
    of feature k on feature j over the training points. With ``beta="auto"``, each point gets its
    own beta, the odds that a feature is missing, estimated from the number of features of the
    point and the usual number in points with these features. The estimate is learnt on erased
    training points; points that seem complete are not changed.

    Classifiers should be trained on unchanged points: use :class:`Imputed`, since a
    scikit-learn ``Pipeline`` would impute the training points too.

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

    mode: str = param(
        Choice(("blend", "cosine", "paper", "missing")),
        "The sum above; u C alone, with cosines instead of slopes; x C with raw products of raw "
        "points x, as printed in the paper; or what the paper means: x keeps its values, and only "
        "missing features get those of x C, of unit points, which is scaled to the length of x "
        "since C has no scale.",
        default="blend",
        kw_only=False,
    )
    beta: float | str = param(
        OrAuto(Float(0.0)), 'Weight of the imputed part for "blend".', default="auto"
    )
    companions: int | None = param(
        Int(1, none=True),
        'Number of companions of a feature for "blend". None: the features of its groups, '
        'which are used by the other modes, and by "blend" if ``agglomeration`` is given.',
        default=32,
    )
    agglomeration: Defrag | Sequence[Defrag] | None = param(
        doc="The clustering of the features; default: by labels, or by points if ``fit`` gets no "
        "Y, with up to 32 features in a group, on all points; for the paper's modes one DEFRAG-X.",
        default=None,
        kind="Defrag or list of Defrag, optional",
    )
    prefit: bool = param(
        Choice((True, False)),
        "Whether ``agglomeration`` is a fitted clustering or a list of them.",
        default=False,
    )
    n_clusterings: int = param(
        Int(1), "Number of clusterings, over which C is averaged.", default=3
    )
    max_growth: int | None = param(
        Int(1, none=True),
        "A point keeps at most this multiple of its number of features, the largest ones, but "
        "at least the mean number of features of a training point; None for all, as in the "
        "paper's modes.",
        default=2,
    )
    row_norm: bool = param(
        Choice((True, False)),
        "Whether to L2-normalise imputed points or to keep their norms; the paper's modes do "
        "neither.",
        default=True,
    )
    random_state: Seed = param(
        doc="Seed of samples, clusterings and erasures.", kind=SEED_KIND, default=None
    )

    co_occurrence_: Companions | CoOccurrence = fitted(
        "Companions or CoOccurrence", "C, as lists or as blocks."
    )
    usual_size_: int = fitted("int", "Mean number of features of a training point.")
    rule_: MissingRule | None = fitted("MissingRule or None", 'Estimator of beta for "auto".')

    _state = State(
        Number("n_features_in_", COUNT, name="n_features"),
        Number("usual_size_", Int(0, MAX_COUNT)),
        Object("rule_", _RULE, prefix="rule/", optional=True),
        Object("co_occurrence_", _COMPANIONS, optional=True, get=_lists),
        Child(
            of=_Block,
            many=True,
            optional=True,
            name="blocks",
            get=lambda model: [] if _lists(model) else model.co_occurrence_.blocks,
        ),
        feature_names("n_features"),
        check=_check_fiat,
        finish=_set_blocks,
        parameters={"agglomeration": Unfitted(("clustering",))},
        stored=_without_given,
        sizes={"features": "n_features"},
    )

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
        self._check_parameters()
        X = check_features(self, X, reset=True)
        return self._learn(X, Y)

    def _learn(self, X: Csr, Y: LabelsLike) -> Fiat:
        seed = check_seed(self.random_state)
        rows = X if self.mode == "paper" else unit_rows(X, self._threads)
        self.co_occurrence_ = self._relate(rows, Y, seed)
        self.usual_size_ = math.ceil(rows.nnz / rows.shape[0])
        self.rule_ = None
        if self.mode == "blend" and self.beta == "auto":
            if rows.shape[0] < 2:
                raise ValueError(
                    "Fiat requires at least 2 points to learn beta, got n_samples = "
                    f"{rows.shape[0]}: set beta"
                )
            self.rule_ = MissingRule.learn(rows, seed=seed)
        return self

    def _uses_companions(self) -> bool:
        """Return whether features have lists of companions instead of groups."""
        lists = self.mode == "blend" and self.companions is not None
        return lists and self.agglomeration is None and not self.prefit

    def _relate(self, rows: Csr, Y: LabelsLike, seed: int) -> Companions | CoOccurrence:
        """Return C, as lists of companions or as blocks."""
        if self._uses_companions():
            best: int = self.companions  # type: ignore[assignment] # with None there are groups
            return Companions.of_rows(rows, best, seed=seed, n_threads=self._threads)
        printed = self.mode in _PAPER
        representation = "x" if Y is None else "xy"
        large = Defrag(representation, max_cluster_size=32, sample_points=1.0)
        groups = find_groups(
            rows,
            Y,
            self.agglomeration,
            default=Defrag() if printed else large,
            prefit=self.prefit,
            seeds=member_seeds(seed, 1 if printed else self.n_clusterings),
            n_jobs=self.n_jobs,
            owner="Fiat",
        )
        scale = {"cosine": "cosine", "blend": "slope"}.get(self.mode, "raw")
        return CoOccurrence.of_rows(rows, groups, scale=scale, n_threads=self._threads)

    def _apply(self, X: Csr) -> Csr:
        """Return the imputed points of a validated matrix."""
        if self._check_parameter("mode") in _PAPER:
            return self._product(X)
        rows = unit_rows(X, self._threads)
        betas = self._betas(rows)
        max_growth = self._check_parameter("max_growth")
        # No row can grow beyond the number of features.
        growth = 0 if max_growth is None else min(max_growth, X.shape[1])
        limits = {"max_growth": growth, "usual_size": self.usual_size_, "n_threads": self._threads}
        result = self.co_occurrence_.impute(rows, betas, **limits)
        if not self._check_parameter("row_norm"):
            lengths = _native.row_norms(X, norm=_native.Norm.l2, n_threads=self._threads)
            result.data *= np.repeat(lengths, np.diff(result.indptr))
        return result

    def _product(self, X: Csr) -> Csr:
        """Return X C as printed in the paper, or, where X has no value, scaled to its length."""
        used = np.unique(X.indices)
        rows = X.astype(np.float64)
        product = sparse.csr_array(rows[:, used] @ self.co_occurrence_.of_features(used))
        if self.mode == "missing":
            old, new = (np.sqrt(one.power(2).sum(axis=1)) for one in (rows, product))
            factors = np.divide(old, new, out=np.zeros(X.shape[0]), where=new > 0)
            scaled = sparse.csr_array(sparse.diags_array(factors) @ product)
            product = sparse.csr_array(rows + scaled - scaled.multiply(rows.astype(np.bool_)))
        product.eliminate_zeros()
        product.sort_indices()
        return check_matrix(product.astype(np.float32), name="X C")

    def _shares(self, row: Csr, imputed: Csr) -> MatrixShares:
        """Return the shares, which add up to 1, of the entries of a row in each imputed entry."""
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
        if self._check_parameter("mode") == "missing":
            absent = ~np.isin(features, row.indices)
            entries = np.append(entries[absent], np.arange(row.nnz))
            features = np.append(features[absent], row.indices)
            values = np.append(values[absent], row.data)
        kept = np.isin(features, imputed.indices)
        places = np.searchsorted(imputed.indices, features[kept])
        return normalised_shares(values[kept], (places, entries[kept]), (imputed.nnz, row.nnz))

    def _betas(self, rows: Csr) -> Floats | None:
        """Return the weight of the imputed part of each row; None if it replaces the row."""
        if self.rule_ is not None:
            return self.rule_.betas(rows)
        if self._check_parameter("mode") != "blend":
            return None
        beta = self._check_parameter("beta")
        if beta == "auto":
            raise ValueError("beta of Fiat must be a number, got 'auto': fit again to learn it")
        return np.full(rows.shape[0], beta, dtype=np.float32)


# --- A classifier that imputes points before prediction.

# Estimated time of clustering the features, on one thread and per non-zero of X.
_SECONDS_PER_CLUSTERED_NON_ZERO = 2e-7


class Imputed(Transforming):
    """Train a classifier on unchanged points and impute points before prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import Fiat, Imputed
    >>> from defrag.baselines import Parabel
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = np.repeat(["a", "b", "c"], 4)
    >>> model = Imputed(Parabel(1), Fiat(beta=0.3), random_state=0).fit(X, Y)
    >>> model.predict(X[::4]).tolist()
    ['a', 'b', 'c']
    """

    base: Classifier | None = param(
        doc="Any classifier of this library. Agglomeration and re-ranking in the base are applied "
        "to imputed points.",
        kind="classifier, default=LabelTree(n_trees=3)",
        default=None,
    )
    imputation: Fiat | None = param(
        doc="The imputation.", default=None, kind="Fiat, default=Fiat()", kw_only=False
    )

    imputation_: Fiat = fitted("Fiat", "The fitted imputation.")

    _state = State(
        BASE,
        Child("imputation_", ("imputation",), features="n_features"),
        parameters={"imputation": Unfitted(("imputation",))},
    )

    _part_names = ("base_", "imputation_")

    def _fit_reduction(self, X: Csr, Y: Csr, seed: int) -> Fiat:
        imputation = Fiat() if self.imputation is None else self.imputation
        check_part(self, "imputation", imputation, Fiat)
        # A clone would have unfitted copies of the fitted clusterings.
        own = copy(imputation) if imputation.prefit else clone(imputation)
        own.set_params(random_state=seed, n_jobs=self.n_jobs)
        return own._fit_canonical(X, Y)

    def _reduce(self, reduction: Fiat, X: Csr) -> Csr:  # noqa: ARG002 - only predictions are imputed
        """Return the points unchanged: the base is not trained on imputed points."""
        return X

    def _set_members(self, members: list[tuple[Fiat, Classifier]]) -> None:
        ((self.imputation_, self.base_),) = members

    def _default_base(self) -> Classifier:
        return LabelTree(3)

    def _training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost of the base and of the co-occurrence of features."""
        imputation = Fiat() if self.imputation is None else self.imputation
        n_clusterings = 0 if imputation._uses_companions() else imputation.n_clusterings
        clusterings = Cost(n_clusterings * X.nnz * _SECONDS_PER_CLUSTERED_NON_ZERO, 0.0)
        return self._unfitted_base()._training_cost(X, Y).times(1.1) + clusterings

    def _transformed(self, X: Csr) -> Csr:
        """Return the imputed rows."""
        return self.imputation_._apply(X)

    def _shares(self, row: Csr, transformed: Csr) -> MatrixShares:
        """Return the shares of entries in the values that were imputed from them."""
        return self.imputation_._shares(row, transformed)
