"""Presets: the most accurate of a few classifiers, or the one that is trained soonest, by a word.

``best`` trains the default, three trees and one-vs-rest on some of the points and compares them on
others, as far as a multiple of the default's training time allows. ``TextClassifier`` and ``defrag
train`` ask :func:`choose`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from defrag._progress import logger
from defrag._scikit import clone
from defrag._scratch import AS_JSON, kept
from defrag._validation import check_features, check_labels
from defrag.classifiers import DiSMEC, LabelTree
from defrag.focusing import Focused
from defrag.metrics._ranked import rank
from defrag.metrics.ranking import ndcg_of_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.classifiers._base import Classifier
    from defrag.typing import Csr, Floats, LabelsLike, MatrixLike

    Points = tuple[Csr, Csr, Floats | None]

PRESETS = ("fast", "best")
"""The words; without one, the default."""

LEAST_POINTS = 2_500
"""Fewer points with labels are not tried: the held-out ones would be too few to tell."""

MULTIPLE, MULTIPLE_OF_TEXTS = 10.0, 20.0
"""Trials and training take at most so many times the estimated training of the default. From texts
to answers, that is less than ten times: the default reads texts, tries features and learns answers
in as long as it trains twice more."""

_HELD_OUT, _MOST_HELD_OUT = 0.2, 10_000
_LEAST_TRAINED, _MOST_TRAINED = 0.1, 0.5
"""Shares of the points that a trial trains on."""
_K = 5


class Tried(NamedTuple):
    """A classifier that is tried: its name in words, and the unfitted classifier."""

    name: str
    base: Classifier


def usual(n_trees: int = 1) -> Tried:
    """Return the default, or the same with more trees."""
    name = "one tree" if n_trees == 1 else f"{n_trees} trees"
    return Tried(name, Focused(LabelTree(n_trees=n_trees)))


def quick() -> Classifier:
    """Return the classifier of ``fast``."""
    return Focused(LabelTree(preset="fast", hard_negatives=False, label_entries=50))


def choose(
    X: Csr,
    Y: Csr,
    weights: Floats | None,
    fold: NDArray[np.float64],
    *,
    default: Tried,
    multiple: float,
    n_jobs: int | None,
) -> tuple[Classifier, str]:
    """Return the unfitted classifier that is best on held-out points, and the reason in words.

    Another one than the default must be better by a standard error of nDCG@5. The same points give
    the same choice, for any seed and number of threads.

    - ``fold``, shape (n_points,): numbers in [0, 1), the same for equal points.
    - ``multiple``: limit of the time, in estimated trainings of the default.
    """
    usable = np.diff(Y.indptr) > 0
    if weights is not None:
        usable &= weights > 0
    n_usable = int(np.count_nonzero(usable))
    if n_usable < LEAST_POINTS:
        return default.base, f"{default.name}: not tried on fewer than {LEAST_POINTS:,} points"
    candidates, share, left_out = _affordable(X, Y, default, multiple)
    n_held = min(_HELD_OUT, _MOST_HELD_OUT / n_usable)
    held = np.flatnonzero(usable & (fold < n_held))
    rest = np.flatnonzero(usable & (fold >= n_held) & (fold < n_held + share))
    if len(candidates) == 1 or not len(held) or not len(rest):
        return default.base, f"{default.name}: nothing else was tried{left_out}"
    points, others = (
        (X[some], Y[some], None if weights is None else weights[some]) for some in (rest, held)
    )
    best, reason = kept("preset", lambda: _compare(candidates, points, others, n_jobs), AS_JSON)
    logger.info("preset best: %s", reason + left_out)
    return candidates[best].base, reason + left_out


def _compare(
    candidates: list[Tried], points: Points, held: Points, n_jobs: int | None
) -> tuple[int, str]:
    """Return the place of the candidate that is best on held-out points, and why."""
    n_held = held[0].shape[0]
    found = [held_out_ndcg(one.base, points, held, n_jobs=n_jobs) for one in candidates]
    gains = [one - found[0] for one in found]
    means = [float(gain.mean()) for gain in gains]
    errors = [float(gain.std()) / n_held**0.5 for gain in gains]
    best = int(np.argmax(means))
    best = best if means[best] > errors[best] else 0
    reason = f"{candidates[best].name}: nDCG@{_K} {found[0].mean():.1f} of {candidates[0].name}"
    reason += f" on {n_held:,} held-out points" + "".join(
        f", {mean:+.1f} ± {error:.1f} of {one.name}"
        for one, mean, error in list(zip(candidates, means, errors, strict=True))[1:]
    )
    return best, reason


def _affordable(X: Csr, Y: Csr, default: Tried, multiple: float) -> tuple[list[Tried], float, str]:
    """Return what can be tried, the share of the points to train on, and what is left out."""
    others = [usual(3), Tried("one-vs-rest", Focused(DiSMEC()))]
    candidates = [default, *(one for one in others if one.name != default.name)]
    costs = [one.base._training_cost(X, Y).seconds for one in candidates]
    times = [cost / costs[0] for cost in costs]
    share, left_out = 0.0, ""
    while len(candidates) > 1:
        share = min(_MOST_TRAINED, (multiple - max(times)) / sum(times))
        if share >= _LEAST_TRAINED:
            break
        slowest = times.index(max(times))
        name, time = candidates.pop(slowest).name, times.pop(slowest)
        left_out += f", {name} would take {time:.0f} times as long"
    return candidates, share, left_out


def choose_for_rows(
    preset: str, X: MatrixLike, Y: LabelsLike, *, random_state: int, n_jobs: int | None
) -> tuple[Classifier, str]:
    """Return the unfitted classifier of a preset, or the default, for rows, and the reason.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.presets import choose_for_rows
    >>> X, Y = np.eye(4), [[0], [1], [2], [3]]
    >>> base, reason = choose_for_rows("best", X, Y, random_state=0, n_jobs=1)
    >>> base.fit(X, Y).predict_topk(X, k=1)[0].ravel().tolist(), reason
    ([0, 1, 2, 3], 'one tree: not tried on fewer than 2,500 points')
    """
    default = usual()
    base, reason = quick() if preset == "fast" else default.base, ""
    if preset == "best":
        points = check_features(default.base, X, reset=False)
        labels = check_labels(Y, n_rows=points.shape[0], names=True).matrix
        options: Any = {"default": default, "multiple": MULTIPLE, "n_jobs": n_jobs}
        base, reason = choose(points, labels, None, fold_of_rows(points), **options)
    return clone(base).set_params(random_state=random_state, n_jobs=n_jobs), reason


def held_out_ndcg(
    base: Classifier, points: Points, held: Points, *, n_jobs: int | None
) -> NDArray[np.float64]:
    """Return nDCG@5 in percent of each held-out point, of a classifier of the other points."""
    X, Y, weights = points
    model: Classifier = clone(base).set_params(random_state=0, n_jobs=n_jobs)
    model._fit_canonical(X, Y, None, weights)
    k = min(_K, Y.shape[1])
    labels, _ = model._rank(held[0], k, exhaustive=False)
    return 100 * ndcg_of_points(rank(held[1], labels, k), k)


def fold_of_rows(X: Csr) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each row, the same for equal rows."""
    factors = np.random.default_rng(0).uniform(1e5, 1e6, X.shape[1])
    sums = np.zeros(X.shape[0])
    filled = np.flatnonzero(np.diff(X.indptr))
    if len(filled):
        sums[filled] = np.add.reduceat(X.data * factors[X.indices], X.indptr[filled])
    return sums % 1.0
