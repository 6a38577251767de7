"""Focus: re-weighting of features, and selection of the important entries of points.

Training and prediction take time in proportion to the entries of a point, most of which say little
about its labels. ``defrag train`` focuses texts by default; TextClassifier does, too.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from defrag import _native
from defrag._estimator import RowTransformer, all_or_nothing
from defrag._native import SolverOptions
from defrag._parameters import SEED_KIND, Float, Int, OrAuto, fitted, param
from defrag._progress import logger
from defrag._scikit import OneToOneFeatureMixin, clone
from defrag._scratch import kept, storage
from defrag._validation import check_features, check_labels, check_seed, require_labels
from defrag.classifiers import LabelTree
from defrag.classifiers._base import Classifier
from defrag.classifiers._composite import BASE, Transforming, check_part
from defrag.classifiers._support import Cost
from defrag.explain.parts import EntryShares, shares_of_kept
from defrag.persistence.fields import COUNT, LARGEST, Array, Number, State, feature_names
from defrag.persistence.kinds import Child, Unfitted
from defrag.typing import Csr, Floats, Ids, LabelsLike, MatrixLike, Offsets, Seed

# --- The pilot: importance of features for a coarse classification of the points.

N_GROUPS = 16
"""Number of groups of labels: one block of the solver, which takes the time of a single label."""

_PASSES, _SHRINK, _SKIP = 2, 0.05, 0.03
# Sixteen outputs need no more, and the pilot copies its entries (8 bytes each).
_MAX_ENTRIES = 100_000_000


def group_labels(Y: Csr, seed: int) -> Ids:
    """Return a group for each label such that all groups have similar label frequencies.

    Every sixteen consecutive labels, in the order of decreasing frequency, are assigned to the
    sixteen groups at random.
    """
    frequency = np.bincount(Y.indices, minlength=Y.shape[1])
    order = np.argsort(-frequency, kind="stable")
    rng = np.random.default_rng([seed, 0])
    n_rounds = -(-len(order) // N_GROUPS)
    assigned = rng.permuted(np.tile(np.arange(N_GROUPS, dtype=np.int32), (n_rounds, 1)), axis=1)
    groups = np.empty(len(order), dtype=np.int32)
    groups[order] = assigned.ravel()[: len(order)]
    return groups


def feature_importance(
    X: Csr, Y: Csr, *, points: Offsets | None = None, seed: int, n_threads: int
) -> Floats:
    """Return the norm of each feature's weights in a linear classifier of label groups.

    The pilot is trained on the L2-normalised rows of some points, or of all.
    """
    groups = group_labels(Y if points is None else Y[points], seed)
    options = SolverOptions(
        max_passes=_PASSES, shrink=_SHRINK, skip=_SKIP, threshold=0.0, seed=seed
    )
    return _native.feature_importance(
        X, Y, groups, options, points=points, storage=storage(), n_threads=n_threads
    )


LEAST_AUTO, MOST_AUTO = 4, 8
"""Bounds of the budget "auto" of entries that do not repeat each other; see docs/faster.md."""

# A budget for repeated entries keeps at most this share of long rows, so that training takes three
# quarters of the time, and at least so many entries of shorter ones.
_MOST_KEPT, _SHORT_ROW = 0.6, 60
# The largest budget "auto" of a row of one entry.
_MOST_BUDGET = _SHORT_ROW

_POWER = 0.5
_MIN_RELATIVE = 1e-3

# Points in which features are first seen, and entries of others that are looked up.
_FIRST_POINTS, _ENTRIES_SEEN = 500, 20_000


def redundancy(X: Csr, seed: int) -> float:
    """Return how many entries of a row say the same, on average: 1 if features are independent.

    Each feature stands for the first of some points, in random order, that has it. Two features
    have the same first point with the probability that a point with one of them has both. Of the
    entries of the other points, distinct first points are counted, and again after the points of
    each feature were moved round by a distance of its own: frequent features coincide by chance.
    """
    rng = np.random.default_rng([seed, 1])
    n_points = X.shape[0]
    n_first = min(_FIRST_POINTS, n_points // 2)
    order = rng.permutation(n_points)
    columns = X[order[:n_first]].tocsc()
    frequency = np.diff(columns.indptr)
    seen = np.flatnonzero(frequency)
    if not len(seen):
        return 1.0
    others = X[order[n_first : n_first + 20 + n_points * _ENTRIES_SEEN // int(X.nnz)]]
    place = np.full(X.shape[1], -1)
    place[seen] = np.arange(len(seen))
    entries = place[others.indices]
    owners = np.repeat(np.arange(others.shape[0]), np.diff(others.indptr))[entries >= 0]
    entries = entries[entries >= 0]

    def n_distinct(shift: Offsets) -> int:
        points = (columns.indices + np.repeat(shift, frequency[seen])) % n_first
        first = np.minimum.reduceat(points, columns.indptr[seen])
        return len(np.unique(owners * n_first + first[entries]))

    by_chance = n_distinct(rng.integers(n_first, size=len(seen)))
    return max(1.0, by_chance / max(1, n_distinct(np.zeros(len(seen), np.int64))))


class Focus(OneToOneFeatureMixin, RowTransformer):
    """Re-weight features by their importance and keep the important entries of points.

    A pilot, a linear classifier of 16 groups of labels, is trained by two passes over the points;
    the importance of a feature is the norm of its weights in the pilot. The entries of a point
    are ranked by absolute value times importance. A point with c entries keeps the
    ``ceil(budget * sqrt(c))`` best, each multiplied by a power of its importance relative to the
    median. The time of training and prediction is proportional to the number of entries, so long
    points gain most.

    Overlapping character n-grams, or words that occur together, share the evidence of one entry
    among several, and the pilot divides one weight among them by chance. The automatic budget
    grows with this redundancy, and the automatic power shrinks.

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

    budget: float | str | None = param(
        OrAuto(Float(0.0, 1e6, open_low=True, none=True)),
        "Number of entries that a point keeps, divided by the square root of its number of "
        'entries; None keeps all entries and only re-weights; "auto" is between 4, for rare '
        "features, where dropping entries prevents overfitting, and 8, for frequent features, or "
        "4 times ``redundancy_`` if that is more.",
        kind='float, None or "auto"',
        default="auto",
        kw_only=False,
    )
    power: float | str = param(
        OrAuto(Float(0.0, 4.0)),
        "Power of the relative importance that values are multiplied by; 0 keeps the values; "
        '"auto" is 0.5 divided by the square of ``redundancy_``.',
        kind='float or "auto"',
        default="auto",
    )
    random_state: Seed = param(
        doc="Seed; an int gives the same result for any ``n_jobs``.", kind=SEED_KIND, default=None
    )

    importance_: Floats = fitted(
        "ndarray of float32, shape (n_features,)",
        "The importance of each feature; 0 for features without weights in the pilot.",
    )
    factor_: Floats = fitted(
        "ndarray of float32, shape (n_features,)", "Factors of the values of the features."
    )
    auto_budget_: int = fitted(
        "int",
        'The budget "auto": the number of binary digits of the mean number of entries of a '
        "feature, minus 2, clipped to [4, 8]; or 4 times ``redundancy_``, rounded down, as long "
        "as this cuts rows of 100 entries or more to three fifths.",
    )
    redundancy_: float = fitted(
        "float", "How many entries of a row say the same, on average; 1 for independent features."
    )

    _state = State(
        Number("n_features_in_", COUNT, name="n_features"),
        Number("auto_budget_", Int(LEAST_AUTO, _MOST_BUDGET)),
        Number("redundancy_", Float(1.0)),
        Array("importance_", length="n_features", low=0, most=LARGEST),
        Array("factor_", length="n_features", low=0, most=LARGEST),
        feature_names("n_features"),
        absent={"redundancy": 1.0},
        sizes={"features": "n_features"},
        told=("auto_budget", "redundancy"),
    )

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
        self._check_parameters()
        require_labels(self, Y)
        X = check_features(self, X, reset=True)
        return self._learn(X, check_labels(Y, n_rows=X.shape[0], names=True).matrix)

    def _learn(self, X: Csr, Y: Csr) -> Focus:
        seed = check_seed(self.random_state)
        if Y.nnz == 0:
            raise ValueError("Y must have at least one label, got none for any point")
        n_points, points = X.shape[0], None
        if X.nnz > _MAX_ENTRIES:  # evenly spaced ones
            n_chosen = max(1, n_points * _MAX_ENTRIES // int(X.nnz))
            points = np.arange(n_chosen) * n_points // n_chosen
        pilot = partial(feature_importance, X, Y, points=points, seed=seed, n_threads=self._threads)
        importance = kept("importance of features", pilot)
        self.importance_ = importance
        self.redundancy_ = redundancy(X, seed)
        power = _POWER / self.redundancy_**2 if self.power == "auto" else self.power
        positive = importance[importance > 0]
        median = np.median(positive) if len(positive) else np.float32(1.0)
        relative = np.maximum(importance.astype(np.float64) / median, _MIN_RELATIVE)
        self.factor_ = np.power(relative, power).astype(np.float32)
        # All features that occur have weights in the pilot.
        n_entries = X.nnz if points is None else np.diff(X.indptr)[points].sum()
        self.auto_budget_ = auto_budget(
            int(n_entries), int(np.count_nonzero(importance)), X.nnz / X.shape[0], self.redundancy_
        )
        logger.info("Focus: %.1f entries per point, of which every %.2f say the same: budget %d",
                    X.nnz / X.shape[0], self.redundancy_, self.auto_budget_)  # fmt: skip
        return self

    def _apply(self, X: Csr) -> Csr:
        """Transform a canonical matrix, or ``KernelRows``; the result has the same type."""
        budget = self._check_parameter("budget")
        if budget == "auto":
            budget = self.auto_budget_
        limits = {"budget": float(budget or 0.0), "n_threads": self._threads}
        is_matrix = not isinstance(X, _native.KernelRows)
        kernel: Any = _native.focus_rows if is_matrix else _native.focus_kernel_rows
        rows: Csr = kernel(X, self.importance_, self.factor_, **limits)
        return rows

    def _needs_labels(self) -> bool:
        return True


def auto_budget(n_entries: int, n_features: int, per_point: float, redundancy: float) -> int:
    """Return the budget "auto" for training points with ``n_entries`` of ``n_features``.

    Examples
    --------
    >>> from defrag.focusing import auto_budget
    >>> [auto_budget(3 * n, 3, 50, 1.0) for n in (1, 63, 64, 300, 10_000)]
    [4, 4, 5, 7, 8]
    >>> [auto_budget(1, 1, length, 2.0) for length in (50, 100, 200, 1000)]
    [8, 6, 8, 8]
    """
    digits = (n_entries // max(1, n_features)).bit_length()
    budget = min(max(digits - 2, LEAST_AUTO), MOST_AUTO)
    per_point = max(per_point, 1.0)
    most = max(_MOST_KEPT * per_point, _SHORT_ROW) / math.sqrt(per_point)
    return max(budget, int(min(LEAST_AUTO * redundancy, most)))


# --- A classifier on the important entries of points.

# For the pilot and the selection.
_SECONDS_PER_NON_ZERO = 3e-8


class Focused(Transforming):
    """Train a classifier, and predict, on points that are reduced by :class:`Focus`.

    All members of an ensemble share one pilot.

    See Also
    --------
    Agglomerated : Fewer features, for smaller models.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import Focused, LabelTree
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = np.repeat(["a", "b", "c"], 4)
    >>> Focused(LabelTree(), random_state=0).fit(X, Y).predict(X[::4]).tolist()
    ['a', 'b', 'c']
    """

    focus: Focus | None = param(
        doc="The reduction.", default=None, kind="Focus, default=Focus()", kw_only=False
    )

    focus_: Focus = fitted("Focus", "The fitted reduction.")

    _state = State(
        BASE,
        Child("focus_", ("focus",), features="n_features"),
        parameters={"focus": Unfitted(("focus",))},
    )

    _part_names = ("base_", "focus_")

    def _fit_reduction(self, X: Csr, Y: Csr, seed: int) -> Focus:
        focus = Focus() if self.focus is None else self.focus
        check_part(self, "focus", focus, Focus)
        own: Focus = clone(focus).set_params(random_state=seed, n_jobs=self.n_jobs)
        return own._fit_canonical(X, Y)

    def _reduce(self, reduction: Focus, X: Csr) -> Csr:
        """Return the important entries of points."""
        return reduction._apply(X)

    def _set_members(self, members: list[tuple[Focus, Classifier]]) -> None:
        ((self.focus_, self.base_),) = members

    def _default_base(self) -> Classifier:
        return LabelTree()

    def _training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost of the pilot and, as an upper bound, of the base on all entries."""
        pilot = Cost(X.nnz * _SECONDS_PER_NON_ZERO, 12.0 * X.nnz)
        return self._unfitted_base()._training_cost(X, Y) + pilot

    @property
    def _ranks_kernel_rows(self) -> bool:
        """Whether the base accepts ``KernelRows``, as the focus does."""
        return self.base_._ranks_kernel_rows

    def _transformed(self, X: Csr) -> Csr:
        """Return the important entries of rows."""
        return self.focus_._apply(X)

    def _shares(self, row: Csr, transformed: Csr) -> EntryShares:
        """Return the shares of entries: 1 if they are kept, otherwise 0."""
        return shares_of_kept(row, transformed)
