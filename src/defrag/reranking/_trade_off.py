"""Metrics of many settings of re-ranking, measured on held-out points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from defrag.metrics._formulas import ideal_ranking
from defrag.metrics._ranked import rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.reranking._candidates import Candidates
    from defrag.typing import Csr, Floats, Ids

__all__ = ["DEPTHS", "GUARDS", "MEASURES", "Tally", "TradeOff", "settings_to_try"]

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
    """Settings of re-ranking and their metrics on held-out points.

    Attributes
    ----------
    alpha, gamma, propensity_weight : ndarray of float64, shape (n_settings,)
        The settings; the first does not change the ranking of the base.
    measures : dict from name to ndarray of float64, shape (n_settings,)
        P and PSP at 1, 3 and 5 and coverage at 1, in percent.
    errors : dict from name to ndarray of float64, shape (n_settings,)
        Standard errors of the loss of P at 1, 3 and 5, in points.
    n_rows : int
        Number of held-out points.
    """

    alpha: NDArray[np.float64]
    gamma: NDArray[np.float64]
    propensity_weight: NDArray[np.float64]
    measures: dict[str, NDArray[np.float64]]
    errors: dict[str, NDArray[np.float64]]
    n_rows: int

    def loss(self, guard: str) -> NDArray[np.float64]:
        """Return the loss of a metric for each setting, in points."""
        return np.asarray(self.measures[guard][0] - self.measures[guard])

    def bound(self, guard: str) -> NDArray[np.float64]:
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
    """Sums of hits and gains of settings over batches of held-out points.

    Parameters
    ----------
    strengths, weights : ndarray of float32, shape (n_settings,)
        Factors of the cosine and of the bonus of a candidate.
    """

    def __init__(self, strengths: Floats, weights: Floats) -> None:
        self.strengths = strengths
        self.weights = weights
        self.n_rows = 0
        shape = (len(DEPTHS), len(strengths))
        self._hits = np.zeros(shape)
        self._squares = np.zeros(shape)
        self._gains = np.zeros(shape)
        self._best_gains = np.zeros((len(DEPTHS), 1))
        self._covered: list[NDArray[np.float64]] = []

    def add(
        self,
        candidates: Candidates,
        Y: Csr,
        inverse_propensity: NDArray[np.float64],
        n_threads: int,
    ) -> None:
        """Add the candidates of points with the labels Y, ranked by every setting."""
        ranked = rank(Y, candidates.labels, candidates.labels.shape[1])
        ideal = ideal_ranking(ranked, inverse_propensity, ranked.labels.shape[1])
        found = np.zeros((len(self.strengths), Y.shape[1]), dtype=bool)
        for begin in range(0, Y.shape[0], _ROWS_AT_A_TIME):
            end = begin + _ROWS_AT_A_TIME
            part = candidates.rows(begin, end)
            columns = part.best(self.strengths, self.weights, max(DEPTHS), n_threads=n_threads)
            gains = _take(ideal.found[begin:end], columns)
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

    def measures(self) -> dict[str, NDArray[np.float64]]:
        """Return the metrics of every setting, in percent."""
        precision = 100.0 * self._hits / max(1, self.n_rows)
        gain = 100.0 * self._gains / np.maximum(self._best_gains, 1e-300)
        coverage = 100.0 * np.mean(self._covered, axis=0)
        return dict(zip(MEASURES, [*precision, *gain, coverage], strict=True))

    def errors(self) -> dict[str, NDArray[np.float64]]:
        """Return the standard errors of the losses of precision, in points."""
        n = max(1, self.n_rows)
        means = (self._hits[:, :1] - self._hits) / n
        variances = np.maximum(self._squares / n - means**2, 0.0)
        return dict(zip(GUARDS, 100.0 * np.sqrt(variances / n), strict=True))


def _take(table: NDArray[np.float64], columns: Ids) -> NDArray[np.float64]:
    """Return the entries of a table in columns, shape (n_rows, n, k); 0 for column -1."""
    padded = np.pad(table, ((0, 0), (0, 1)))
    rows = np.arange(len(table))[:, None, None]
    return np.asarray(padded[rows, columns])


def settings_to_try(
    alpha: float | str, gamma: float | str, propensity_weight: float | str
) -> tuple[NDArray[np.float64], ...]:
    """Return the settings to try: one, or, with "auto", many; the first of these has no effect."""
    given = (alpha, gamma, propensity_weight)
    if "auto" not in given:
        return tuple(np.array([one], dtype=np.float64) for one in given)
    fixed = 0.8 if alpha == "auto" else float(alpha)
    if gamma == "auto":
        pairs = [(fixed, one) for one in (0.0, *_GAMMAS)]
    elif alpha == "auto":
        pairs = [(one, float(gamma)) for one in (1.0, *_ALPHAS)]
    else:
        pairs = [(fixed, float(gamma))]
    weights = [0.0, *_WEIGHTS]
    if propensity_weight != "auto":
        weights = [float(propensity_weight)]
    table = [(*pair, weight) for pair in pairs for weight in weights]
    no_effect = (fixed, 0.0, 0.0)
    table = [no_effect, *(row for row in table if row != no_effect)]
    return tuple(np.array(table, dtype=np.float64).T)
