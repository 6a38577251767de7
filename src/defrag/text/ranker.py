"""A learned ranker of candidates: the best labels of a classifier, and those that evidence adds.

Evidence is whatever finds labels in a text beside the classifier, such as their names
(``naming.py``). It proposes labels with a row of numbers each, :class:`Ranker` turns the numbers
and the score of the classifier into a probability, and :func:`learn_ranker` learns it on texts
that the classifier did not see. Every sum is added in one order, without BLAS, so that models do
not depend on threads or processors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from defrag.metrics._ranked import has_labels, hits_of
from defrag.typing import Csr, Floats, Ids

Numbers: TypeAlias = NDArray[np.float64]

N_RANKED = 50
"""Labels of the classifier that are candidates."""
LEAST_TEXTS = 2500
"""Fewer training texts than this teach nothing about a ranker."""
USES = ("added", "ranked", "few texts", "no gain")
"""What a ranker does: adds candidates; only ranks those of the classifier; or why it does not."""

_MOST_HELD_OUT, _HELD_OUT_SHARE = 10_000, 0.2
_DEPTH = 5  # of the nDCG by which rankers are compared
N_BASE_NUMBERS = 8
"""Numbers of a candidate that the classifier ranks."""
_PRODUCTS = 2  # of the first number of the evidence
_TEXTS_AT_A_TIME = 1024  # with N_RANKED labels: about ten megabytes of numbers
_PENALTY, _MAX_STEPS, _SMALL_STEP = 1.0, 30, 1e-7
_MAX_LOGIT, _LARGEST_LOGIT = 30.0, 500.0


class Found(NamedTuple):
    """The labels that evidence proposes, sorted by text and label.

    - ``numbers``, shape (n_numbers, n_found): what is known about them; first the log-odds of the
      evidence alone.
    - ``points``, shape (n_labels,): the number of training texts of each label.
    """

    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    numbers: Numbers
    points: Numbers


class Evidence(Protocol):
    """What finds labels in texts beside a classifier."""

    def find(self, texts: Sequence[str], *, n_threads: int) -> Found:
        """Return the labels found in texts."""

    def describe(self, text: str, label: int) -> str:
        """Return why a label was found in a text, in a few words."""


@dataclass(frozen=True)
class Candidates:
    """Candidates of texts: a row of numbers, and whether they are new to the classifier.

    The kinds are labels that only the classifier ranks, those that both found, and those that only
    the evidence found, with training texts and without.
    """

    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    kinds: NDArray[np.int8]
    numbers: Numbers

    def at(self, kept: NDArray[Any]) -> Candidates:
        """Return some of them, by their places or a mask."""
        columns = self.rows[kept], self.labels[kept], self.kinds[kept]
        return Candidates(*columns, self.numbers[:, kept])


N_KINDS, _BOTH, _NEW = 4, 1, 2


def n_weights(n_numbers: int) -> int:
    """Return the number of weights of a ranker with evidence of this many numbers."""
    return N_KINDS * (1 + N_BASE_NUMBERS + n_numbers + _PRODUCTS)


def join_candidates(labels: Ids, scores: Floats, found: Found) -> Candidates:
    """Return the labels of a ranking of texts, and those that evidence found, as candidates."""
    n_labels = np.int64(len(found.points))
    rows, places = np.nonzero(labels >= 0)
    ranked = rows * n_labels + labels[rows, places]
    by_key = np.argsort(ranked, kind="stable")
    ranked, rows, places = ranked[by_key], rows[by_key], places[by_key]
    new = found.rows * n_labels + found.labels
    keys = np.union1d(ranked, new)
    at_ranked, at_new = np.searchsorted(keys, ranked), np.searchsorted(keys, new)
    n_found = len(found.numbers)
    numbers = np.zeros((N_BASE_NUMBERS + n_found + _PRODUCTS, len(keys)))
    values, best = scores[rows, places], scores[rows, 0]
    rows, columns = np.divmod(keys, n_labels)
    points = found.points[columns]
    numbers[_OF_POINTS] = _of_points(points)
    numbers[:N_BASE_NUMBERS, at_ranked] = base_numbers(values, places, best, points[at_ranked])
    numbers[N_BASE_NUMBERS:-_PRODUCTS, at_new] = found.numbers
    # A sum of weights cannot say that two good reasons are more than each of them.
    numbers[-2:] = numbers[N_BASE_NUMBERS] * numbers[[0, 5]]
    kinds = np.full(len(keys), _NEW, dtype=np.int8)
    kinds[points <= 0] = _NEW + 1
    kinds[at_ranked] = 0
    kinds[at_new[np.isin(new, ranked, assume_unique=True)]] = _BOTH
    return Candidates(rows, columns, kinds, numbers)


_OF_POINTS = slice(5, 7)


def _of_points(points: Numbers) -> tuple[Numbers, Numbers]:
    logs = np.log1p(points)
    return logs, logs * logs


def base_numbers(
    scores: Floats, places: NDArray[np.int64], best: Floats, points: NDArray[Any]
) -> tuple[Numbers, ...]:
    """Return the numbers of ranked labels; ``best`` are the best scores of their texts."""
    values = np.clip(scores.astype(np.float64), 1e-6, 1.0 - 1e-6)
    logs = np.log(values)
    of_points = _of_points(points)
    best_logs = np.log(np.clip(best.astype(np.float64), 1e-6, 1.0))
    return (
        logs, logs * logs, np.log1p(places), values, best_logs, *of_points, of_points[0] * logs
    )  # fmt: skip


@dataclass(frozen=True)
class Ranker:
    """Weights of a logistic regression for each kind of candidate.

    - ``weights``, shape (N_KINDS, 1 + n_numbers): the intercept, and the weights of the numbers.
    - ``adds``: whether labels that the classifier does not rank are candidates.
    """

    weights: Numbers
    adds: bool

    def logits(self, found: Candidates) -> Numbers:
        """Return the log-odds of candidates."""
        weights = self.weights.T  # gathered one by one: all of them are as many as the numbers
        logits: Numbers = weights[0][found.kinds]
        for own, values in zip(weights[1:], found.numbers, strict=True):
            logits += own[found.kinds] * values
        np.clip(logits, -_LARGEST_LOGIT, _MAX_LOGIT, out=logits)
        if not self.adds:
            logits[found.kinds >= _NEW] = -np.inf
        return logits

    def shares(self, found: Candidates, label: int) -> tuple[float, float]:
        """Return the probability of a label of one text, and what it would be without evidence."""
        place = np.flatnonzero(found.labels == label)
        if not len(place):
            return 0.0, 0.0
        one = found.at(place)
        numbers = one.numbers.copy()
        numbers[N_BASE_NUMBERS:] = 0.0
        kinds = np.where(one.kinds >= _NEW, one.kinds, 0).astype(np.int8)
        bare = replace(one, kinds=kinds, numbers=numbers)
        alone = -np.inf if kinds[0] else float(self.logits(bare)[0])
        values = 1.0 / (1.0 + np.exp(-np.array([float(self.logits(one)[0]), alone])))
        return float(values[0]), float(values[1])

    def rank(self, found: Candidates, n_texts: int, k: int) -> tuple[Ids, Floats]:
        """Return the best k labels of each text and their probabilities, padded with -1 and 0."""
        logits = self.logits(found)
        labels = np.full((n_texts, k), -1, dtype=np.int32)
        scores = np.zeros((n_texts, k), dtype=np.float32)
        order = np.lexsort((found.labels, -logits, found.rows))
        order = order[np.isfinite(logits[order])]
        rows = found.rows[order]
        places = np.arange(len(order)) - np.searchsorted(rows, rows)
        kept = places < k
        labels[rows[kept], places[kept]] = found.labels[order][kept]
        scores[rows[kept], places[kept]] = 1.0 / (1.0 + np.exp(-logits[order][kept]))
        return labels, scores


def rank_with(
    ranker: Ranker,
    evidence: Evidence,
    texts: Sequence[str],
    labels: Ids,
    scores: Floats,
    *,
    k: int,
    n_threads: int,
) -> tuple[Ids, Floats]:
    """Return the best k labels of texts, of the ranking of a classifier and the evidence."""
    blocks = []
    n = max(1, _TEXTS_AT_A_TIME * N_RANKED // max(N_RANKED, labels.shape[1]))
    for begin in range(0, max(1, len(texts)), n):
        some = slice(begin, begin + n)
        found = evidence.find(texts[some], n_threads=n_threads)
        candidates = join_candidates(labels[some], scores[some], found)
        blocks.append(ranker.rank(candidates, len(texts[some]), k))
    ranked, values = zip(*blocks, strict=True)
    return np.concatenate(ranked), np.concatenate(values)


def fit_logistic(numbers: Numbers, truth: NDArray[np.bool_]) -> Numbers:
    """Return the intercept and the weights of a logistic regression with a small penalty.

    Newton's method on standardised numbers, with steps halved until the loss falls.
    """
    if not truth.any():  # the odds of nothing seen in n trials
        return np.array([-np.log(2.0 * len(truth) + 1.0), *np.zeros(len(numbers))])
    means = numbers.mean(axis=1)
    spreads = numbers.std(axis=1)
    useful = spreads > 1e-9  # labels without a name have no numbers of names
    if not useful.all():
        weights = np.zeros(1 + len(numbers))
        weights[np.append(True, useful)] = fit_logistic(numbers[useful], truth)
        return weights
    columns = [np.ones(len(truth)), *((numbers - means[:, None]) / spreads[:, None])]
    penalty = np.array([1e-6, *[_PENALTY] * len(numbers)])
    weights = np.zeros(len(columns))
    weights[0] = np.log(truth.mean() / (1.0 - truth.mean() + 1e-9))

    def loss(weights: Numbers) -> tuple[float, Numbers]:
        logits = np.full(len(truth), weights[0])
        for weight, column in zip(weights[1:], columns[1:], strict=True):
            logits += weight * column
        fit = np.logaddexp(0.0, logits).sum() - logits[truth].sum()
        return float(fit + 0.5 * (penalty * weights * weights).sum()), logits

    value, logits = loss(weights)
    for _ in range(_MAX_STEPS):
        step, before = _newton_step(columns, logits, truth, weights, penalty), value
        for halvings in range(20):
            trial = weights - step * 0.5**halvings
            value, logits = loss(trial)
            if value <= before:
                break
        weights = trial
        if before - value < _SMALL_STEP * before:
            break
    slopes = weights[1:] / spreads
    return np.array([weights[0] - float((slopes * means).sum()), *slopes])


def _newton_step(
    columns: list[Numbers],
    logits: Numbers,
    truth: NDArray[np.bool_],
    weights: Numbers,
    penalty: Numbers,
) -> Numbers:
    share = 1.0 / (1.0 + np.exp(-np.clip(logits, -_MAX_LOGIT, _MAX_LOGIT)))
    error, curvature = share - truth, share * (1.0 - share)
    gradient = np.array([float((error * one).sum()) for one in columns]) + penalty * weights
    hessian = np.diag(penalty)
    for i, one in enumerate(columns):
        curved = curvature * one
        for j in range(i + 1):
            hessian[i, j] = hessian[j, i] = hessian[i, j] + float((curved * columns[j]).sum())
    from defrag.imputation import solve_small  # noqa: PLC0415 - not for predictions

    return solve_small(hessian, gradient)


def fit_ranker(found: Candidates, truth: NDArray[np.bool_], *, adds: bool) -> Ranker:
    """Return the ranker of candidates of which the true ones are known."""
    kinds = [
        fit_logistic(found.numbers[:, found.kinds == kind], truth[found.kinds == kind])
        for kind in range(N_KINDS)
    ]
    return Ranker(np.stack(kinds), adds)


def fold_of(texts: Iterable[str], salt: str) -> Numbers:
    """Return a number in [0, 1) for each text, the same for equal texts."""
    digests = (blake2b((salt + text).encode(), digest_size=4).digest() for text in texts)
    return np.array([int.from_bytes(one, "little") for one in digests]) / 2.0**32


def learn_ranker(
    texts: Sequence[str],
    Y: Csr,
    train_without: Callable[[NDArray[np.bool_]], tuple[Ids, Floats, Evidence]],
    *,
    n_threads: int,
) -> tuple[Ranker | None, str]:
    """Return the ranker that is best on held-out texts, None for the classifier alone, and its use.

    Whatever a candidate's numbers are made of, also counts, is learnt from the other texts. Leaving
    out each text from its own counts is not enough: a label of n texts would have n - 1 where it
    is true, and n where it is not, which a ranker learns before anything else.

    - ``train_without``: takes a mask of held-out texts. Trains the classifier and the evidence on
      the others; returns its ranking of the held-out texts, and the evidence.
    """
    if len(texts) < LEAST_TEXTS:
        return None, "few texts"
    share = min(_HELD_OUT_SHARE, _MOST_HELD_OUT / len(texts))
    held = fold_of(texts, "held out") < share
    labels, scores, evidence = train_without(held)
    some = np.flatnonzero(held)
    own = Y[some]
    chosen = [texts[i] for i in some.tolist()]
    found = evidence.find(chosen, n_threads=n_threads)
    candidates = join_candidates(labels, scores, found)
    truth = has_labels(own, candidates.rows, candidates.labels)
    if len(found.points) == Y.shape[1]:
        # Every label has texts, so that one without other texts is here because a held-out text has
        # it, and would seem right wherever it is found. Labels that come later would be, too.
        truth &= candidates.kinds != _NEW + 1
    # Each half of the held-out texts is ranked by what the other half teaches.
    half = fold_of(chosen, "half") < 0.5
    ranked = {adds: np.empty((len(some), _DEPTH), dtype=np.int32) for adds in (False, True)}
    for one in (half, ~half):
        others = ~one[candidates.rows]
        learnt = fit_ranker(candidates.at(others), truth[others], adds=True)
        for adds, answer in ranked.items():
            answer[one] = Ranker(learnt.weights, adds).rank(candidates, len(some), _DEPTH)[0][one]
    if is_better(ranked[True], ranked[False], own) and is_better(ranked[True], labels, own):
        return fit_ranker(candidates, truth, adds=True), "added"
    if is_better(ranked[False], labels, own):
        return fit_ranker(candidates, truth, adds=False), "ranked"
    return None, "no gain"


def is_better(one: Ids, other: Ids, Y: Csr) -> bool:
    """Return whether the nDCG of a ranking is higher by more than twice the standard error."""
    difference = _ndcg(one[:, :_DEPTH], Y) - _ndcg(other[:, :_DEPTH], Y)
    return bool(difference.mean() > 2.0 * difference.std() / np.sqrt(len(difference)))


def _ndcg(labels: Ids, Y: Csr) -> Numbers:
    """Return the nDCG of each row of a ranking, 0 for a text without labels."""
    discounts = 1.0 / np.log2(np.arange(2, labels.shape[1] + 2))
    ideal = np.append(0.0, np.cumsum(discounts))
    most = ideal[np.minimum(np.diff(Y.indptr), labels.shape[1])]
    gains: Numbers = (hits_of(labels, Y) * discounts).sum(axis=1) / np.where(most > 0, most, 1.0)
    return gains
