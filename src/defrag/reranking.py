"""Re-ranking for rare labels: REFRAG of the paper, extended by a propensity weight.

The score of a label is ``alpha log b + (1 - alpha) log a + w log q``: b is the score of the
base classifier, a = exp(-gamma (1 - cos)) the similarity of the point and the prototype of the
label, and q the inverse propensity of the label. Unlike in the paper, points and prototypes
are L2-normalised; otherwise the norms of the prototypes dominate the ranking, as they do with
``co_occurrence="paper"``, where a = exp(-gamma |x - prototype|^2 / 2) as printed.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._parameters import Choice, Float, Int, OrAuto, fitted, param
from defrag._progress import logger, progress_stage
from defrag._propensity import inverse_propensity
from defrag._scikit import check_is_fitted
from defrag._scratch import Arrays
from defrag._validation import check_matrix
from defrag.agglomeration import Defrag
from defrag.agglomeration.co_occurrence import CoOccurrence, find_groups
from defrag.classifiers._base import Classifier
from defrag.classifiers._composite import BASE, Wrapping
from defrag.classifiers._division import packed, unpacked
from defrag.classifiers._following import Shapes
from defrag.classifiers._support import Cost, unit_rows
from defrag.classifiers.label_tree import LabelTree
from defrag.exceptions import DataWarning
from defrag.explain.explainers import Explainer, logarithmic_mean, secant
from defrag.explain.parts import Attribution
from defrag.metrics._ranked import ideal_ranking, rank
from defrag.persistence.fields import LARGEST, Array, Number, Object, Part, Sparse, State
from defrag.persistence.kinds import Unfitted
from defrag.trees import member_seeds
from defrag.typing import Csr, Floats, Ids

Values = NDArray[np.float64]

# --- Candidate labels of a base classifier, and their re-ranking.

# Scores of zero are replaced by the smallest positive number before the logarithm.
_MIN_SCORE = np.nextafter(np.float32(0.0), np.float32(1.0))


@dataclass(frozen=True)
class Candidates:
    """Candidate labels of rows, with the terms of their scores."""

    # Shape (n_rows, n_candidates): label ids, padded with -1.
    labels: Ids
    # Same shape: logarithms of the scores of the base classifier.
    log_scores: Floats
    # Same shape: cosines between rows and prototypes of labels, or, as printed in the paper, minus
    # half of their squared distances.
    cosines: Floats
    # Shape (n_labels,): logarithms of the inverse propensities.
    bonus: Floats

    def best(self, strengths: Floats, weights: Floats, k: int, *, n_threads: int) -> Ids:
        """Return the columns of the best candidates, shape (n_rows, n_settings, k)."""
        terms = self.labels, self.log_scores, self.cosines, self.bonus
        return _native.rank_candidates(
            *terms, strengths=strengths, weights=weights, k=k, n_threads=n_threads
        )

    def sums(self, strength: float, weight: float) -> Values:
        """Return the sums by which candidates are ranked; minus infinity for padding."""
        bonus = weight * self.bonus[np.maximum(self.labels, 0)]
        sums = self.log_scores.astype(np.float64) + strength * self.cosines + bonus
        return np.where(self.labels >= 0, sums, -np.inf)

    def each(self, part: Callable[[NDArray[Any]], NDArray[Any]]) -> Candidates:
        """Return what a function takes of labels, logarithms and cosines."""
        return Candidates(part(self.labels), part(self.log_scores), part(self.cosines), self.bonus)


Link: TypeAlias = "Callable[[Values], Values]"


def _link(*, printed: bool) -> Link:
    """Return what makes scores, at most 1, of logarithms.

    ``printed``: 1 / (1 - log), since raw distances are so large that exponentials would be 0.
    """
    if printed:
        return lambda logs: 1.0 / (1.0 - np.minimum(logs, 0.0))
    return lambda logs: np.exp(np.minimum(logs, 0.0))


def _half_squares(rows: Csr) -> Values:
    """Return half of the squared norm of each row."""
    return np.asarray(rows.astype(np.float64).power(2).sum(axis=1) / 2)


def nearness(rows: Csr, prototypes: Csr) -> Values:
    """Return minus half of the squared distance of each row from each prototype."""
    products = (rows.astype(np.float64) @ prototypes.T.astype(np.float64)).toarray()
    return np.asarray(products - (_half_squares(rows)[:, None] + _half_squares(prototypes)))


def factors(alpha: Values, gamma: Values, weight: Values) -> tuple[Floats, Floats]:
    """Return the factors of cosine and bonus relative to the log score of the base."""
    return (
        np.asarray(gamma * (1.0 - alpha) / alpha, dtype=np.float32),
        np.asarray(weight / alpha, dtype=np.float32),
    )


def add_nearest(labels: Ids, logs: Floats, nearest: Csr, width: int) -> tuple[Ids, Floats]:
    """Return candidates and the labels of nearest prototypes, with the lowest score of the row."""
    sizes = np.diff(nearest.indptr)
    rows = np.repeat(np.arange(len(labels)), sizes)
    place = np.arange(nearest.nnz) - np.repeat(nearest.indptr[:-1], sizes)
    more = np.full((len(labels), width), -1, dtype=np.int32)
    more[rows, place] = np.where(nearest.data > 0, nearest.indices, -1)
    n_labels = nearest.shape[1]
    first = np.arange(len(labels), dtype=np.int64)[:, None] * n_labels
    known = (first + labels)[labels >= 0]
    more[np.isin(first + more, known)] = -1
    lowest = np.min(logs, axis=1, where=labels >= 0, initial=0.0)
    added = np.broadcast_to(lowest[:, None], more.shape).astype(np.float32)
    return np.hstack([labels, more]), np.hstack([logs, added])


def ranked_labels(
    found: Candidates, columns: Ids, strength: float, weight: float, link: Link
) -> tuple[Ids, Floats]:
    """Return labels and scores of the given columns; the first has the best score of the base."""
    taken = found.each(lambda one: np.take_along_axis(one, np.maximum(columns, 0), 1))
    labels = np.where(columns >= 0, taken.labels, -1)
    sums = taken.sums(strength, weight)
    best = np.max(found.log_scores, axis=1, where=found.labels >= 0, initial=-np.inf)
    with np.errstate(invalid="ignore"):  # rows without candidates
        logs = np.minimum(best[:, None] + sums - sums[:, :1], best[:, None])
        scores = np.where(labels >= 0, link(logs), 0.0).astype(np.float32)
    # Different sums may round to equal scores: sort by the returned scores.
    order = np.lexsort((labels, -scores, labels < 0))
    return (
        np.take_along_axis(labels, order, 1).astype(np.int32),
        np.take_along_axis(scores, order, 1),
    )


# --- Metrics of many settings of re-ranking, measured on held-out points.

DEPTHS = (1, 3, 5)
"""Values of k in the metrics."""

GUARDS = tuple(f"P@{k}" for k in DEPTHS)
"""Metrics whose loss can be limited."""

MEASURES = (*GUARDS, *(f"PSP@{k}" for k in DEPTHS), "coverage@1")
"""Metrics of every setting."""

# Values tried for "auto". Only gamma (1 - alpha) / alpha matters, so alpha is varied only if
# gamma is given.
_ALPHAS = (0.999, 0.99, 0.98, 0.95, 0.9, 0.8, 0.65, 0.5)
_GAMMAS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 60.0)
_WEIGHTS = tuple(round(0.05 * step, 2) for step in range(1, 41))

# The metrics of the best of several hundred settings are biased, and a base trained on part of the
# points gains more than one trained on all: on splits of training data, the loss on other points
# exceeded max_loss in 5 of 13 runs with one standard error, and in none with three.
_ERRORS_COUNTED = 3.0

# Number of points that are ranked by all settings at a time.
_ROWS_AT_A_TIME = 1024


@dataclass(frozen=True)
class TradeOff:
    """Settings of re-ranking and their metrics on held-out points."""

    # Shape (n_settings,): the settings; the first does not change the ranking of the base.
    alpha: Values
    gamma: Values
    propensity_weight: Values
    # Shape (n_settings,): p and PSP at 1, 3 and 5 and coverage at 1, in percent.
    measures: dict[str, Values]
    # Shape (n_settings,): standard errors of the loss of P at 1, 3 and 5, in points.
    errors: dict[str, Values]
    # Number of held-out points.
    n_rows: int

    def loss(self, guard: str) -> Values:
        """Return the loss of a metric for each setting, in points."""
        return np.asarray(self.measures[guard][0] - self.measures[guard])

    def bound(self, guard: str) -> Values:
        """Return an upper confidence bound of the loss of each setting, in points."""
        return np.asarray(self.loss(guard) + _ERRORS_COUNTED * self.errors[guard])

    def choose(self, target: str, guard: str, max_loss: float) -> int:
        """Return the setting with the best target among those that lose at most ``max_loss``.

        Three standard errors are added to the loss, so that the limit holds on other points.
        """
        allowed = self.bound(guard) <= max_loss
        allowed[0] = True
        return int(np.argmax(np.where(allowed, self.measures[target], -np.inf)))

    def frontier(self, target: str, guard: str) -> NDArray[np.intp]:
        """Return the Pareto-optimal settings by increasing loss."""
        loss, value = self.loss(guard), self.measures[target]
        order = np.lexsort((-value, loss))
        best = np.maximum.accumulate(value[order])
        rises = np.append(True, best[1:] > best[:-1])
        return np.asarray(order[rises])

    def __str__(self) -> str:
        """Return the Pareto-optimal settings for P@1 and PSP@3 as a table."""
        measures = [name for name in ("P@1", "P@3", "PSP@1", "PSP@3") if name in self.measures]
        names = ("alpha", "gamma", "propensity_weight")
        lines = [" ".join(f"{name:>17}" if name in names else f"{name:>7}"
                          for name in (*names, *measures)) + "  loss of P@1"]  # fmt: skip
        loss, bound = self.loss("P@1"), self.bound("P@1")
        target = "PSP@3" if "PSP@3" in measures else measures[-1]
        for place in self.frontier(target, "P@1"):
            settings = " ".join(f"{getattr(self, name)[place]:17g}" for name in names)
            values = " ".join(f"{self.measures[name][place]:7.2f}" for name in measures)
            lines.append(f"{settings} {values}  {loss[place]:.2f}, at most {bound[place]:.2f}")
        return "\n".join(lines)


class Tally:
    """Sums of hits and gains over batches of held-out points, for settings given as factors."""

    def __init__(self, strengths: Floats, weights: Floats) -> None:
        self.strengths = strengths
        self.weights = weights
        self.n_rows = 0
        self._hits, self._squares, self._gains = np.zeros((3, len(DEPTHS), len(strengths)))
        self._best_gains = np.zeros((len(DEPTHS), 1))
        self._covered: list[Values] = []

    def add(
        self, candidates: Candidates, Y: Csr, inverse_propensity: Values, n_threads: int
    ) -> None:
        """Add the candidates of points with the labels Y, ranked by every setting."""
        ranked = rank(Y, candidates.labels, candidates.labels.shape[1])
        ideal = ideal_ranking(ranked, inverse_propensity, ranked.labels.shape[1])
        found = np.zeros((len(self.strengths), Y.shape[1]), dtype=bool)
        gain_of = np.pad(ideal.found, ((0, 0), (0, 1)))  # 0 for column -1
        for begin in range(0, Y.shape[0], _ROWS_AT_A_TIME):
            some = slice(begin, begin + _ROWS_AT_A_TIME)
            part = candidates.each(operator.itemgetter(some))
            columns = part.best(self.strengths, self.weights, max(DEPTHS), n_threads=n_threads)
            gains = gain_of[some][np.arange(len(columns))[:, None, None], columns]
            hits = gains > 0
            for place, k in enumerate(DEPTHS):
                right = hits[:, :, :k].sum(axis=2) / k
                self._hits[place] += right.sum(axis=0)
                self._squares[place] += ((right[:, :1] - right) ** 2).sum(axis=0)
                self._gains[place] += gains[:, :, :k].sum(axis=(0, 2))
            rows, settings = np.nonzero(hits[:, :, 0])
            found[settings, part.labels[rows, columns[rows, settings, 0]]] = True
        for place, k in enumerate(DEPTHS):
            self._best_gains[place] += ideal.gains[:, :k].sum()
        self._covered.append(found.mean(axis=1))
        self.n_rows += Y.shape[0]

    def measures(self) -> dict[str, Values]:
        """Return the metrics of every setting, in percent."""
        precision = 100.0 * self._hits / max(1, self.n_rows)
        gain = 100.0 * self._gains / np.maximum(self._best_gains, 1e-300)
        coverage = 100.0 * np.mean(self._covered, axis=0)
        return dict(zip(MEASURES, [*precision, *gain, coverage], strict=True))

    def errors(self) -> dict[str, Values]:
        """Return the standard errors of the losses of precision, in points."""
        n = max(1, self.n_rows)
        means = (self._hits[:, :1] - self._hits) / n
        variances = np.maximum(self._squares / n - means**2, 0.0)
        return dict(zip(GUARDS, 100.0 * np.sqrt(variances / n), strict=True))


# --- Explanations of re-ranked scores by the scores of the base and cosines with prototypes.


@dataclass(frozen=True)
class RerankedExplainer(Explainer):
    """Explainer of re-ranked scores, ``exp(log b + strength * cos + constant)``."""

    base: Explainer
    # In double precision.
    prototypes: Csr
    strength: float
    # Whether prototypes are raw and distances Euclidean, as printed in the paper.
    printed: bool
    # Shape (n_labels,): the sums of the propensity term of the label and of a reference that gives
    # the best label of the row the best score of the base; both are held fixed.
    constants: Values
    # Shape (n_labels,): the log scores of labels that the base did not find; NaN for the others.
    fixed: Values
    # Shape (n_labels,): whether a label is re-ranked.
    candidates: NDArray[np.bool_]

    def _logs(self, scores: Values) -> Values:
        logs = np.log(np.maximum(scores, _MIN_SCORE))
        return np.where(np.isnan(self.fixed), logs, self.fixed)

    def scores(self, X: Csr) -> Values:
        """Return the scores of the labels for the rows of a canonical matrix."""
        if self.printed:
            near = nearness(X, self.prototypes)
        else:
            near = (unit_rows(X, 1) @ self.prototypes.T).toarray()
        logs = self._logs(self.base.scores(X))
        return _link(printed=self.printed)(logs + self.strength * near + self.constants)

    def attribute(self, row: Csr) -> Attribution:
        """Return the contributions of entries by the score of the base and the cosine."""
        found = self.base.attribute(row)
        empty = type(row)((1, row.shape[1]), dtype=row.dtype)
        scores, base_scores = self.base.scores(row)[0], self.base.scores(empty)[0]
        logs, base_logs = self._logs(scores), self._logs(base_scores)
        unit = row.astype(np.float64) if self.printed else unit_rows(row, 1)
        near = self.strength * (self.prototypes[:, unit.indices].toarray() * unit.data)
        start = base_logs + self.constants
        if self.printed:  # of the row without entries, then of each entry
            start = start + self.strength * nearness(empty, self.prototypes)[0]
            near -= self.strength * unit.data**2 / 2
        link = _link(printed=self.printed)
        slopes = secant(link, logs - base_logs + near.sum(axis=1) + start, start)
        # Contributions to the score of the base become contributions to its logarithm.
        known = np.isnan(self.fixed) & (np.maximum(scores, base_scores) > _MIN_SCORE)
        means = np.where(known, logarithmic_mean(logs, base_logs), 1.0)
        base_part = found.times(np.where(known, slopes / means, 0.0))
        notes = [
            (f"re-ranked; the base gives the label {score:.4f}",)
            if candidate
            else ("not one of the labels that are re-ranked: the score is what it would have been",)
            for score, candidate in zip(scores, self.candidates, strict=True)
        ]
        both = base_part.contributions + near * slopes[:, None]
        return Attribution(both, base_part.paths, found.notes, found.how).with_notes(notes)


# Estimated times on one thread: ranking a candidate by one setting, and clustering the features,
# per non-zero of X.
_SECONDS_PER_CANDIDATE = 1.2e-8
_SECONDS_PER_CLUSTERED_NON_ZERO = 6e-7


# The trade-off in a file: each setting with its metrics and the standard errors of its losses.
_RULES = {
    "alpha": Float(0.001, 1.0),
    "gamma": Float(0.0, 1e6),
    "propensity_weight": Float(0.0, 1e6),
}
_ERRORS = {name: f"error of {name}" for name in GUARDS}


def _key(column: str) -> str:
    return column.replace("@", "_at_").replace(" ", "_").lower()


def _columns_of(table: TradeOff) -> dict[str, Values]:
    columns = {name: getattr(table, name) for name in _RULES} | table.measures
    columns |= {_ERRORS[name]: table.errors[name] for name in GUARDS}
    return {_key(name): column for name, column in columns.items()}


def _table_of(part: Part, columns: dict[str, Values]) -> TradeOff:
    alpha = columns["alpha"]
    if not len(alpha):
        part.fail(f"{part.name('alpha')} must have at least one item, got none")
    if alpha.min() <= 0.0 or alpha.max() > 1.0:
        part.fail(f"{part.name('alpha')} must be in (0, 1], got {alpha.min()} to {alpha.max()}")
    settings = {name: columns[name] for name in _RULES}
    measures = {name: columns[_key(name)] for name in MEASURES}
    errors = {name: columns[_key(_ERRORS[name])] for name in GUARDS}
    n_rows = part.state["measured_rows"]
    return TradeOff(**settings, measures=measures, errors=errors, n_rows=n_rows)


_TRADE_OFF = State(
    *(
        Array(_key(name), "float64", length=lambda part: len(part.arrays["alpha"]), low=0)
        for name in (*_RULES, *MEASURES, *_ERRORS.values())
    ),
    take=_columns_of,
    build=_table_of,
)


class Refrag(Wrapping):
    """Re-rank the best labels of a classifier, so that rare labels are found more often.

    Every label has a prototype, the mean of its training points, and an inverse propensity,
    which is large for rare labels. Both raise labels that the base classifier scores too low
    because it has seen few of their points; P@1 falls. With ``"auto"``, the trade-off is
    measured on held-out training points, for which the base is trained again, and the setting
    with the best ``target`` is chosen among those that lose at most ``max_loss`` of ``guard``,
    including three standard errors, so that the limit also holds on other points.

    See Also
    --------
    defrag.metrics.evaluate : PSP and coverage, the metrics of rare labels.

    Notes
    -----
    The best label of a point gets the best score of the base; a label whose sum is lower by t
    gets a score that is lower by the factor exp(-t / alpha). With ``gamma=0`` or
    ``alpha=1`` and ``propensity_weight=0`` these are the scores of the base.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import Refrag
    >>> from defrag.baselines import Parabel
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = np.repeat(["a", "b", "c"], 4)
    >>> model = Refrag(Parabel(1), gamma=30, propensity_weight=0.5, random_state=0).fit(X, Y)
    >>> model.predict(X[::4]).tolist()
    ['a', 'b', 'c']
    """

    base: Classifier | None = param(kind="classifier, default=LabelTree(n_trees=3)", default=None)
    co_occurrence: str = param(
        Choice(("identity", "cosine", "block", "paper")),
        "Prototypes are plain means, or multiplied by the pseudo co-occurrence of the "
        "features, as cosines or, as in the paper, raw. Co-occurrence costs more and was not "
        'better than plain means on any data set that was tried. With "paper", points and '
        "prototypes are not normalised and distances are Euclidean, as printed: sums instead of "
        "means, of one clustering, whole; scores are 1 / (1 - log score).",
        default="identity",
    )
    alpha: float | str = param(
        OrAuto(_RULES["alpha"]), "Weight of the base relative to the prototypes.", default=0.8
    )
    gamma: float | str = param(
        OrAuto(_RULES["gamma"]),
        "Decay of the score with the distance from the prototype; 30 in PfastreXML. With 0, "
        "prototypes are not used.",
        default="auto",
    )
    propensity_weight: float | str = param(
        OrAuto(_RULES["propensity_weight"]),
        "Exponent of the inverse propensity in the score.",
        default="auto",
    )
    target: str = param(
        Choice(("PSP@1", "PSP@3", "PSP@5")), 'Metric that "auto" maximises.', default="PSP@3"
    )
    guard: str = param(Choice(GUARDS), "Metric whose loss is limited.", default="P@1")
    max_loss: float = param(Float(0.0), "Maximum loss of ``guard``, in points.", default=0.5)
    candidates: int = param(Int(1), "Number of labels of the base that are re-ranked.", default=50)
    widen: int = param(
        Int(0),
        "Number of labels with the nearest prototypes that are added to the candidates, with "
        "the lowest score of these.",
        default=0,
    )
    prototype_entries: int = param(
        Int(0), "Number of largest entries kept in a prototype; 0 for all.", default=500
    )
    agglomeration: Defrag | None = param(
        doc="The clustering of features for blocks; default: that of the paper, on all points.",
        default=None,
        kind="Defrag, optional",
    )
    n_clusterings: int = param(
        Int(1), "Number of clusterings, over which blocks are averaged.", default=3
    )
    A: float = param(
        Float(0.0),
        "Parameters of the propensities; see :func:`defrag.metrics.inverse_propensity`.",
        default=0.55,
    )
    B: float = param(
        Float(0.0, open_low=True),
        "Parameters of the propensities; see :func:`defrag.metrics.inverse_propensity`.",
        default=1.5,
    )
    held_out: float = param(
        Float(0.0, 0.5, open_low=True),
        'Fraction of the training points that is held out in each round of "auto".',
        default=0.2,
    )
    held_out_rows: int = param(
        Int(1),
        "Rounds are repeated with other points until this many, or all, have been held out.",
        default=10_000,
    )

    alpha_: float = fitted("float", "The given or chosen ``alpha``.")
    gamma_: float = fitted("float", "The given or chosen ``gamma``.")
    propensity_weight_: float = fitted("float", "The given or chosen ``propensity_weight``.")
    trade_off_: TradeOff | None = fitted(
        "TradeOff or None",
        'All settings that "auto" tried, with their metrics, which prints as a table; None '
        'without "auto".',
    )
    prototypes_: Csr = fitted(
        "csr_array, shape (n_labels, n_features)",
        "Unit prototypes, zero for labels without points.",
    )
    bonus_: Floats = fitted(
        "ndarray of float32, shape (n_labels,)",
        "Logarithms of the inverse propensities, 0 for labels without points.",
    )

    _state = State(
        BASE,
        # Raw products of the paper's formula are larger than anything else; squares are summed.
        Sparse("prototypes_", rows="n_labels", columns="n_features", most=1e16),
        Array("bonus_", length="n_labels", low=0, most=LARGEST),
        *(Number(f"{name}_", rule) for name, rule in _RULES.items()),
        Number(
            rule=Int(0, 2**53),
            name="measured_rows",
            get=lambda model: 0 if model.trade_off_ is None else model.trade_off_.n_rows,
        ),
        Object("trade_off_", _TRADE_OFF, prefix="trade_off/", optional=True),
        parameters={"agglomeration": Unfitted(("clustering",))},
    )

    def choose(
        self, target: str | None = None, *, guard: str | None = None, max_loss: float | None = None
    ) -> Refrag:
        """Choose another setting that "auto" has measured, without training.

        Parameters
        ----------
        target, guard : str, optional
            Like the parameters; default: the values of the parameters.
        max_loss : float, optional
            Like the parameter.

        Returns
        -------
        self : Refrag
            The classifier with the chosen ``alpha_``, ``gamma_`` and ``propensity_weight_``.
        """
        check_is_fitted(self)
        if self.trade_off_ is None:
            raise ValueError(
                "choose requires gamma or propensity_weight to be 'auto' in fit, "
                f"got {self.gamma!r} and {self.propensity_weight!r}"
            )
        given = {"target": target, "guard": guard, "max_loss": max_loss}
        chosen = copy(self)  # an error leaves self unchanged
        chosen.set_params(**{name: value for name, value in given.items() if value is not None})
        chosen._check_parameters()
        chosen._choose_setting(self.trade_off_)  # noqa: SLF001 - of the same class
        self.__dict__ = chosen.__dict__
        return self

    def _train(self, X: Csr, Y: Csr, seed: int, shapes: Shapes | None = None) -> None:
        trade_off = None if self._trains_once() else self._measure(X, Y, seed)
        super()._train(X, Y, seed, shapes)
        self.trade_off_ = trade_off
        if trade_off is not None:
            self._choose_setting(trade_off)

    def _trains_once(self) -> bool:
        """Return whether the base is trained once, without rounds on held-out points."""
        return len(self._settings()[0]) == 1

    def _settings(self) -> tuple[Values, ...]:
        """Return one setting, or, with "auto", those to try; the first of these has no effect."""
        alpha, gamma, weight = given = self.alpha, self.gamma, self.propensity_weight
        if "auto" not in given:
            return tuple(np.array([one], dtype=np.float64) for one in given)
        fixed = 0.8 if alpha == "auto" else float(alpha)
        if gamma == "auto":
            pairs = [(fixed, one) for one in (0.0, *_GAMMAS)]
        elif alpha == "auto":
            pairs = [(one, float(gamma)) for one in (1.0, *_ALPHAS)]
        else:
            pairs = [(fixed, float(gamma))]
        weights = (0.0, *_WEIGHTS) if weight == "auto" else (float(weight),)
        no_effect = (fixed, 0.0, 0.0)
        table = [(*pair, one) for pair in pairs for one in weights]
        table = [no_effect, *(row for row in table if row != no_effect)]
        return tuple(np.array(table, dtype=np.float64).T)

    def _learn_first(self, X: Csr, Y: Csr, seed: int) -> Arrays:
        """Return the prototypes of the labels and their inverse propensities."""
        prototypes = self._find_prototypes(self._rows(X), Y, seed)
        return packed({"prototypes": prototypes, "bonus": self._find_bonus(Y)})

    def _learn_last(self, data: tuple[Csr, Csr] | None, seed: int, learnt: Arrays) -> None:  # noqa: ARG002 - everything is learnt first
        """Set prototypes, inverse propensities and the first setting."""
        found = unpacked(learnt)
        self.prototypes_, self.bonus_ = found["prototypes"], found["bonus"]
        self.trade_off_ = None
        self.alpha_, self.gamma_, self.propensity_weight_ = (
            float(one[0]) for one in self._settings()
        )

    def _default_base(self) -> Classifier:
        return LabelTree(3)

    def _choose_setting(self, trade_off: TradeOff) -> None:
        """Set the best allowed setting; warn if it has no effect."""
        chosen = trade_off.choose(self.target, self.guard, self.max_loss)
        if chosen == 0:
            message = (
                f"Refrag changes nothing: no setting raises {self.target} with a loss of at most "
                f"{self.max_loss:g} points of {self.guard}, three standard errors included, on "
                f"{trade_off.n_rows:,} held-out points; raise max_loss or print trade_off_"
            )
            warnings.warn(message, DataWarning, stacklevel=2)
        loss = trade_off.loss(self.guard)[chosen]
        gain = trade_off.measures[self.target][chosen] - trade_off.measures[self.target][0]
        logger.info("Refrag: %s %+.2f, %s %+.2f on %d held-out points", self.target, gain,
                    self.guard, -loss, trade_off.n_rows)  # fmt: skip
        self.alpha_ = float(trade_off.alpha[chosen])
        self.gamma_ = float(trade_off.gamma[chosen])
        self.propensity_weight_ = float(trade_off.propensity_weight[chosen])

    def _measure(self, X: Csr, Y: Csr, seed: int) -> TradeOff:
        """Return the metrics of all settings on points that the base was not trained on."""
        alpha, gamma, weight = self._settings()
        tally = Tally(*factors(alpha, gamma, weight))
        rows = self._rows(X)
        rounds = list(self._rounds(Y, seed))
        for number, (held, rest) in enumerate(rounds):
            trial = copy(self)
            # Without the shapes of a previous model, which are for the final one.
            with progress_stage(f"round {number + 1} of {len(rounds)}"):
                trial.base_ = self._fit_base(X[rest], Y[rest], seed)
            trial.prototypes_ = self._find_prototypes(rows[rest], Y[rest], seed)
            trial.bonus_ = self._find_bonus(Y[rest])
            found = trial._propose(X[held], 5, exhaustive=False)  # noqa: SLF001 - of the same class
            weights = np.maximum(inverse_propensity(Y[rest], self.A, self.B), 1.0)
            tally.add(found, Y[held], weights, self._threads)
        measures, errors = tally.measures(), tally.errors()
        return TradeOff(alpha, gamma, weight, measures, errors, tally.n_rows)

    def _rounds(self, Y: Csr, seed: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Yield the held-out points of each round, and the others."""
        n_rows = Y.shape[0]
        n_labelled = int(np.count_nonzero(np.diff(Y.indptr)))
        n_held = max(1, int(self.held_out * n_rows))
        if n_labelled <= n_held:
            raise ValueError(
                f"Refrag requires more than {n_held} labelled points to choose gamma or "
                f"propensity_weight, got n_samples = {n_labelled}: set them, or lower held_out"
            )
        order = np.random.default_rng([seed, 1]).permutation(n_rows)
        for begin in range(0, min(self.held_out_rows, n_rows - n_held + 1), n_held):
            held = np.sort(order[begin : begin + n_held])
            yield held, np.setdiff1d(np.arange(n_rows), held, assume_unique=True)

    def _rows(self, X: Csr) -> Csr:
        """Return the points as they are compared with prototypes."""
        return X if self._printed() else unit_rows(X, self._threads)

    def _printed(self) -> bool:
        """Whether prototypes and distances are those printed in the paper."""
        return bool(self._check_parameter("co_occurrence") == "paper")

    def _find_prototypes(self, rows: Csr, Y: Csr, seed: int) -> Csr:
        printed = self._printed()
        if printed and self.widen:
            raise ValueError(
                f"widen of Refrag must be 0 with co_occurrence='paper', got {self.widen}"
            )
        limits = {"max_entries": self.prototype_entries, "n_threads": self._threads}
        if not printed:
            sums = _native.multiply(sparse.csr_array(Y.T), rows, **limits)
            means = unit_rows(sums, self._threads)
            if self.co_occurrence == "identity":
                return means
        groups = find_groups(
            rows,
            Y,
            self.agglomeration,
            default=Defrag() if printed else Defrag(sample_points=1.0),
            seeds=[seed] if printed else member_seeds(seed, self.n_clusterings),
            n_jobs=self.n_jobs,
            owner="Refrag",
        )
        scale = "cosine" if self.co_occurrence == "cosine" else "raw"
        blocks = CoOccurrence.of_rows(rows, groups, scale=scale, n_threads=self._threads)
        if not printed:
            return blocks.multiply(means, **limits)
        every = np.arange(rows.shape[1], dtype=np.int32)
        exact = Y.T.astype(np.float64) @ rows.astype(np.float64)
        product = sparse.csr_array(exact @ blocks.of_features(every), dtype=np.float32)
        return check_matrix(product, name="the prototypes")

    def _find_bonus(self, Y: Csr) -> Floats:
        """Return the logarithms of inverse propensities.

        Labels without points, which would have the largest, get 0. Inverse propensities are at
        least 1; the formula gives values below 1 for fewer than three points.
        """
        seen = np.bincount(Y.indices, minlength=Y.shape[1]) > 0
        inverse = np.maximum(inverse_propensity(Y, self.A, self.B), 1.0)
        return np.where(seen, np.log(inverse), 0.0).astype(np.float32)

    def _propose(self, X: Csr, k: int, *, exhaustive: bool, compare: bool = True) -> Candidates:
        """Return the candidates of points; without ``compare``, all cosines are 0."""
        prototypes = self.prototypes_
        n = min(max(self._check_parameter("candidates"), k), prototypes.shape[0])
        labels, scores = self.base_._rank(X, n, exhaustive=exhaustive)
        logs = np.log(np.maximum(scores, _MIN_SCORE)).astype(np.float32)
        rows = self._rows(X)
        width = min(self._check_parameter("widen"), prototypes.shape[0])
        if width:
            by_feature = sparse.csr_array(prototypes.T)
            nearest = _native.multiply(rows, by_feature, max_entries=width, n_threads=self._threads)
            labels, logs = add_nearest(labels, logs, nearest, width)
        cosines = np.zeros(labels.shape, dtype=np.float32)
        if compare:
            cosines = _native.candidate_products(rows, labels, prototypes, n_threads=self._threads)
            if self._printed():
                of_labels = _half_squares(prototypes)[np.maximum(labels, 0)]
                near = cosines - (_half_squares(rows)[:, None] + of_labels)
                cosines = np.where(labels >= 0, near, 0.0).astype(np.float32)
        return Candidates(labels, logs, cosines, self.bonus_)

    def _training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost of training the base, of the rounds of "auto" and of prototypes."""
        trainings, n_ranked = 1.0, 0.0
        n_settings = len(self._settings()[0])
        if n_settings > 1:
            n_held_out = max(1, int(self.held_out * X.shape[0]))
            n_rounds = min(int(1 / self.held_out), -(-self.held_out_rows // n_held_out))
            trainings += n_rounds * (1.0 - self.held_out)
            n_ranked = n_rounds * self.held_out * X.shape[0] * n_settings * self.candidates
        n_clusterings = 0 if self.co_occurrence == "identity" else self.n_clusterings
        seconds = trainings * n_clusterings * X.nnz * _SECONDS_PER_CLUSTERED_NON_ZERO
        base = self._unfitted_base()._training_cost(X, Y).times(1.1 * trainings)
        return base + Cost(seconds + n_ranked * _SECONDS_PER_CANDIDATE, 0.0)

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        strengths, weights = self._factors()
        strength, weight = float(strengths[0]), float(weights[0])
        if strength == 0.0 and weight == 0.0:
            return self.base_._rank(X, k, exhaustive=exhaustive)
        found = self._propose(X, k, exhaustive=exhaustive, compare=strength != 0.0)
        columns = found.best(strengths, weights, k, n_threads=self._threads)[:, 0]
        return ranked_labels(found, columns, strength, weight, _link(printed=self._printed()))

    def _factors(self) -> tuple[Floats, Floats]:
        """Return the factors of cosine and bonus, one each."""
        return factors(
            np.array([self.alpha_]), np.array([self.gamma_]), np.array([self.propensity_weight_])
        )

    def _explainer(self, row: Csr | None, labels: Ids, k: int) -> Explainer:
        """Return an explainer of scores relative to the best label, which is held fixed."""
        strength, weight = (float(one[0]) for one in self._factors())
        if strength == 0.0 and weight == 0.0:
            return self.base_._explainer(row, labels, k)
        n_ranked = min(max(self._check_parameter("candidates"), k), self.n_labels_)
        base = self.base_._explainer(row, labels, n_ranked)
        prototypes = self.prototypes_[labels].astype(np.float64)
        printed, n_labels = self._printed(), len(labels)
        # Of any row: relative to one that equals the prototype of the label.
        constants = np.full(n_labels, 0.0 if printed else -strength)
        fixed, candidates = np.full(n_labels, np.nan), np.ones(n_labels, dtype=np.bool_)
        if row is not None:
            found = self._propose(row, k, exhaustive=False, compare=strength != 0.0)
            best = np.max(found.log_scores[0], where=found.labels[0] >= 0, initial=-np.inf)
            reference = float(best) - float(np.max(found.sums(strength, weight)[0]))
            constants = weight * found.bonus[labels].astype(np.float64) + reference
            matches = found.labels[0] == labels[:, None]
            candidates = matches.any(axis=1)
            added, columns = np.nonzero(matches[:, n_ranked:])  # not ranked by the base
            fixed[added] = found.log_scores[0, n_ranked + columns]
        return RerankedExplainer(base, prototypes, strength, printed, constants, fixed, candidates)

    def _max_ranked(self) -> int:
        widen: int = self._check_parameter("widen")
        return min(self.n_labels_, self.base_._max_ranked() + widen)
