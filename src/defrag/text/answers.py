"""What of a ranking is the answer: labels that are likely enough, as held-out texts have shown.

One threshold on scores is not enough: the score of a label of three texts means less than that of a
label of a thousand, and the second best label of a text more if the best one is certain. Scores are
therefore turned into log-odds by nine weights, with the numbers of ``ranker.py`` about a ranking,
and the answers are the labels above a cut. ``fit`` of ``TextClassifier`` learns both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag._parameters import Float, Int
from defrag._scikit import clone
from defrag.classifiers._answers import Calibration
from defrag.classifiers._base import Classifier
from defrag.metrics._ranked import hits_of
from defrag.persistence.fields import LARGEST, MAX_COUNT, Array, Number, Part, State
from defrag.text._labels import LabelTable
from defrag.text._texts import texts_at
from defrag.text.naming import NameEvidence, Naming, Points
from defrag.text.ranker import (
    N_BASE_NUMBERS,
    N_RANKED,
    Numbers,
    base_numbers,
    fit_logistic,
    fold_of,
    rank_with,
)
from defrag.typing import Csr, Floats, Ids

Flags = NDArray[np.bool_]

LEAST_TEXTS = 1000
"""Fewer texts with labels teach nothing: answers are then scores above a half."""

_HELD_OUT, _MOST_HELD_OUT = 0.2, 10_000
# Of the others, half train the model that ranks the held-out ones: more change nothing.
_TRAINED, _MOST_TRAINED = 0.5, 200_000
_QUICK_HELD_OUT, _QUICK_TRAINED = 0.1, 0.25
_LEAST_POSITIVES = 20  # of a label with a cut of its own
_NEVER = LARGEST
_AT_A_TIME = 50_000  # ranked labels, whose numbers take some megabytes
_CALIBRATION_STREAM = 1


class Aim(NamedTuple):
    """What answers are chosen for: a word, and its number if it has one."""

    word: str
    number: float = 0.0


class AimRule:
    """The rule of the words for an aim.

    Examples
    --------
    >>> [AimRule().accepts(words) for words in ("f1@5", "precision=0.8", "recall=2", None)]
    [True, True, False, True]
    """

    kind: ClassVar[str] = "str, optional"

    def describe(self) -> str:
        """Return the rule in words."""
        return "micro-f1, macro-f1, f1@K, precision=P or recall=R with P and R above 0 up to 1"

    def accepts(self, value: Any) -> bool:
        """Return whether the value satisfies the rule."""
        return value is None or (isinstance(value, str) and _aim_of(value) is not None)


def _aim_of(words: str) -> Aim | None:
    if words in {"micro-f1", "macro-f1"}:
        return Aim(words)
    found = re.fullmatch(r"(?:(f1)@([1-9]\d{0,8}))|(?:(precision|recall)=(\d*\.?\d+))", words)
    if found is None:
        return None
    aim = Aim(found[1] or found[3], float(found[2] or found[4]))
    return aim if aim.word == "f1" or 0 < aim.number <= 1 else None


# --- Answers of a model.


def _check(part: Part) -> None:
    part.check_increasing_ids("labels", MAX_COUNT)
    promises = part.arrays.get("promises")
    if promises is not None:
        if promises.shape[1] != len(Promise._fields):
            part.fail(f"{part.name('promises')} must have {len(Promise._fields)} columns")
        if not len(promises) or (promises[1:, 0] <= promises[:-1, 0]).any():
            part.fail(f"{part.name('promises')} must have rows of increasing shares")


@dataclass(frozen=True)
class Answers:
    """What must be true of a ranked label for it to be an answer."""

    # The intercept and the weights of the numbers of a ranked label, whose sum are its log-odds.
    weights: Numbers
    # Training texts of each label.
    points: Ids
    # Log-odds above which a label is an answer.
    cut: float
    # A text has no answers unless the log-odds of its best label are above this.
    least: float
    # Answers of a text, at most.
    most: int
    # Labels with a cut of their own.
    labels: Ids
    own: Numbers
    # What shortlists hold, a row for each share.
    promises: Numbers | None = None

    _state = State(
        Array("weights", "float64", length=1 + N_BASE_NUMBERS, low=-LARGEST, most=LARGEST),
        Array("points", "int32", low=0, below=MAX_COUNT),
        Number("cut", Float(-LARGEST, LARGEST)),
        Number("least", Float(-LARGEST, LARGEST)),
        Number("most", Int(1, MAX_COUNT)),
        Array("labels", "int32", low=0, below=MAX_COUNT),
        Array("own", "float64", length="labels", low=-LARGEST, most=LARGEST),
        Array("promises", "float64", 2, low=-LARGEST, most=LARGEST, optional=True),
        kind="answers",
        check=_check,
        build=lambda _, values: Answers(**values),
    )

    def log_odds(self, labels: Ids, scores: Floats) -> Numbers:
        """Return the log-odds of ranked labels, best first in each row."""
        n = max(1, _AT_A_TIME // max(1, scores.shape[1]))
        if len(scores) > n:
            starts = range(0, len(scores), n)
            return np.vstack([self.log_odds(labels[i : i + n], scores[i : i + n]) for i in starts])
        found = np.full(scores.shape, -np.inf)
        rows, places = np.nonzero(labels >= 0)
        ids = labels[rows, places]
        n_points = np.append(self.points, 0)[np.minimum(ids, len(self.points))]
        sums = np.full(len(rows), self.weights[0])
        numbers = base_numbers(scores[rows, places], places, scores[rows, 0], n_points)
        for weight, values in zip(self.weights[1:].tolist(), numbers, strict=True):
            sums += weight * values
        found[rows, places] = sums
        return found

    def chosen(self, labels: Ids, scores: Floats) -> Flags:
        """Return which ranked labels, best first in each row, are answers."""
        odds = self.log_odds(labels, scores)
        needed = np.full(odds.shape, self.cut)
        if len(self.labels):
            place = np.minimum(np.searchsorted(self.labels, labels), len(self.labels) - 1)
            known = self.labels[place] == labels
            needed[known] = self.own[place[known]]
        kept: Flags = (odds > needed) & (odds[:, :1] > self.least)
        kept[:, self.most :] = False
        return kept


# --- Learning them.


def held_out(
    texts: Sequence[str], Y: Csr, *, quick: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return texts to rank, and those that train the model which ranks them; None if too few.

    Equal texts are in one of them only: a hash decides. With ``quick``, there are fewer.
    """
    labelled = np.flatnonzero(np.diff(Y.indptr))
    if len(labelled) < LEAST_TEXTS:
        return None
    fold = fold_of(texts_at(texts, labelled), "answers")
    shares = (_QUICK_HELD_OUT, _QUICK_TRAINED) if quick else (_HELD_OUT, _TRAINED)
    share = min(shares[0], _MOST_HELD_OUT / len(labelled))
    trained = min(shares[1], _MOST_TRAINED / len(labelled))
    return labelled[fold < share], labelled[(fold >= share) & (fold < share + trained)]


def answers_without(
    blank: Classifier,
    texts: Sequence[str],
    points: Points,
    table: LabelTable | None = None,
    *,
    n_threads: int = 1,
    quick: bool = False,
    **aims: Any,
) -> tuple[Answers | None, str]:
    """Return what answers are, chosen on training texts that a part of the model is without.

    - ``blank``: the unfitted classifier.
    - ``table`` (optional): the labels of the model, with the ranker by names, if there is one.
    - ``quick``: whether fewer texts teach it.
    - ``**aims``: as of :func:`learn_answers`.
    """
    X, Y, weights = points
    parts = held_out(texts, Y, quick=quick)
    if parts is None:
        few = f"fewer than {LEAST_TEXTS:,} texts with labels"
        return None, f"scores above 0.5: nothing is learnt from {few}"
    held, kept = parts
    given = None if weights is None else weights[kept]
    model = clone(blank)._fit_canonical(X[kept], Y[kept], None, given)
    scale = len(texts) / len(kept)
    ranker, evidence = None if table is None else table.ranker, None
    if table is not None and table.names is not None and ranker is not None:
        some = [texts[i] for i in kept.tolist()]
        counted = Naming.count(table.names, some, Y[kept], n_threads)
        evidence = NameEvidence(table.names, counted, scale)

    def rank(held: NDArray[np.int64], k: int) -> tuple[Ids, Floats]:
        labels, scores = model._rank(X[held], min(k, Y.shape[1]), exhaustive=False)
        labels[np.diff(X[held].indptr) == 0] = -1
        if ranker is None or evidence is None:
            return labels, scores
        others = [texts[i] for i in held.tolist()]
        return rank_with(ranker, evidence, others, labels, scores, k=k, n_threads=n_threads)

    counts = scale * np.bincount(Y[kept].indices, minlength=Y.shape[1])
    labels, scores = rank(held, N_RANKED)
    found, said = learn_answers(labels, scores, Y[held], counts, **aims)
    if found is None:
        return None, said
    some_held = held[:: max(1, math.ceil(len(held) / MOST_TEXTS))]
    found, said = with_promises(found, said, *rank(some_held, N_LISTED), Y[some_held])
    return replace(found, points=n_points_of(Y)), said


def with_promises(
    answers: Answers, said: str, labels: Ids, scores: Floats, Y: Csr
) -> tuple[Answers, str]:
    """Return answers with what shortlists hold, learnt on rankings of texts, and the words."""
    found = learn_promises(labels, scores, Y, answers.log_odds)
    if not len(found):
        return answers, said
    return replace(answers, promises=found), f"{said}; shortlists hold {promise_of(found, 0.95)}"


def held_out_calibration(share: float, blank: Classifier, points: Points, seed: int) -> Calibration:
    """Return the map from scores to probabilities of a model without a share of the points."""
    X, Y, weights = points
    n_held = math.ceil(share * X.shape[0])
    order = np.random.default_rng([seed, _CALIBRATION_STREAM]).permutation(X.shape[0])
    held, others = np.sort(order[:n_held]), np.sort(order[n_held:])
    if not Y[others].nnz:
        raise ValueError(f"calibration={share} leaves no labelled text to train on")
    some = None if weights is None else weights[others]
    model = clone(blank)._fit_canonical(X[others], Y[others], None, some)
    labels, scores = model._rank(X[held], min(N_RANKED, Y.shape[1]), exhaustive=False)
    return Calibration.of_ranking(labels, scores, Y[held])


def as_matrix(labels: Ids, kept: Flags, n_labels: int) -> Csr:
    """Return the labels that are kept as a matrix of ones."""
    rows, places = np.nonzero(kept)
    ones = np.ones(len(rows), dtype=np.float32)
    return sparse.csr_array((ones, (rows, labels[rows, places])), shape=(len(labels), n_labels))


def best_cut(labels: Ids, scores: NDArray[Any], Y: Csr) -> float:
    """Return the score above which labels have the highest micro-F1."""
    known = np.where(labels >= 0, scores, -np.inf).astype(np.float64)
    return _cut_of_total(known, hits_of(labels, Y), np.diff(Y.indptr), 0.0)


def pack_answers(found: Answers | None, said: str) -> dict[str, NDArray[Any]]:
    """Return answers and what was said of them as arrays."""
    values = {} if found is None else vars(found)
    values = {name: one for name, one in values.items() if one is not None}
    told = np.frombuffer(said.encode(), dtype=np.uint8)
    return {"said": told, **{name: np.asarray(one) for name, one in values.items()}}


def unpack_answers(arrays: Mapping[str, NDArray[Any]]) -> tuple[Answers | None, str]:
    """Return what :func:`pack_answers` has packed."""
    said = arrays["said"].tobytes().decode()
    if len(arrays) == 1:
        return None, said
    numbers = {name: arrays[name].item() for name in ("cut", "least", "most")}
    names = "weights", "points", "labels", "own", "promises"
    vectors: Any = {name: arrays[name] for name in names if name in arrays}
    return Answers(**vectors, **numbers), said


def n_points_of(Y: Csr) -> Ids:
    """Return the number of texts of each label."""
    return np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int32)


def learn_answers(
    labels: Ids,
    scores: Floats,
    Y: Csr,
    points: NDArray[Any],
    *,
    aim: str,
    least_precision: float | None,
) -> tuple[Answers | None, str]:
    """Return what answers are, and how good they are, in words.

    - ``labels``, ``scores``, ``Y``: rankings of texts that the model was not trained on, and their
      labels.
    - ``points``, shape (n_labels,): training texts of each label.
    - ``aim``: what the cut is chosen for.
    - ``least_precision`` (optional): share of the best labels that must be right.
    """
    known = labels >= 0
    if not known.any():
        return None, "scores above 0.5: no held-out text has a known word"
    rows, places = np.nonzero(known)
    hits = hits_of(labels, Y)
    n_points = np.append(points, 0)[np.minimum(labels[known], len(points))]
    numbers = base_numbers(scores[known], places, scores[rows, 0], n_points)
    weights = fit_logistic(np.array(numbers), hits[known])
    none = np.zeros(0, np.int32), np.zeros(0)
    made = Answers(weights, points.astype(np.int32), 0.0, -_NEVER, labels.shape[1], *none)
    odds = made.log_odds(labels, scores)
    n_true = np.diff(Y.indptr)
    goal = _aim_of(aim)
    if goal is None:  # pragma: no cover - parameters have been checked
        raise ValueError(f"answers must be {AimRule().describe()}, got {aim!r}")
    most = min(labels.shape[1], int(goal.number)) if goal.word == "f1" else labels.shape[1]
    cut = _CUTS.get(goal.word, _cut_of_total)(odds[:, :most], hits[:, :most], n_true, goal.number)
    own = _own_cuts(labels, odds, hits, Y) if goal.word == "macro-f1" else none
    least = -_NEVER
    if least_precision is not None:
        one = odds[:, :1], hits[:, :1], n_true
        least = _cut_of_precision(*one, least_precision)
    made = Answers(weights, made.points, cut, least, most, *own)
    return made, _described(made.chosen(labels, scores), hits, n_true, cut)


def _described(chosen: Flags, hits: Flags, n_true: NDArray[Any], cut: float) -> str:
    """Return how good answers are."""
    right, n_chosen = int((chosen & hits).sum()), int(chosen.sum())
    answered = int(chosen[:, 0].sum())
    shares = right / max(1, n_chosen), right / max(1, int(n_true.sum()))
    f1 = 2 * right / max(1, n_chosen + int(n_true.sum()))
    return (
        f"labels with a probability above {1 / (1 + np.exp(-np.clip(cut, -500, 500))):.2f}: "
        f"micro-F1 {100 * f1:.1f} (precision {100 * shares[0]:.1f}, recall {100 * shares[1]:.1f}) "
        f"on {len(hits):,} held-out texts, of which {answered:,} have an answer"
    )


# A cut takes the log-odds, whether labels are right, the number of labels of each text, and the
# number of the aim.


def _ordered(odds: Numbers, gains: Numbers) -> tuple[Numbers, Numbers, NDArray[np.int64]]:
    """Return the different log-odds, falling, the sums of gains down to each, and the counts."""
    known = np.isfinite(odds)
    values, gained = odds[known], gains[known]
    order = np.argsort(-values, kind="stable")
    values, sums = values[order], np.cumsum(gained[order])
    last = np.append(values[1:] < values[:-1], True)[: len(values)]
    return values[last], sums[last], np.flatnonzero(last) + 1


def _between(values: Numbers, place: int) -> float:
    """Return a cut that keeps the values up to a place."""
    below = values[place + 1] if place + 1 < len(values) else values[place] - 1.0
    return float((values[place] + below) / 2)


def _cut_of_total(odds: Numbers, hits: Flags, n_true: NDArray[Any], _: float) -> float:
    """Return the cut of the highest micro-F1."""
    values, right, counts = _ordered(odds, hits.astype(np.float64))
    return _between(values, int(np.argmax(2 * right / (counts + n_true.sum()))))


def _cut_of_texts(odds: Numbers, hits: Flags, n_true: NDArray[Any], _: float) -> float:
    """Return the cut of the highest mean F1 of a text."""
    right = np.cumsum(hits, axis=1)
    f1 = 2 * right / (np.arange(1, odds.shape[1] + 1) + n_true[:, np.newaxis])
    # Log-odds of a text need not fall with the rank; a label is gained when the cut passes it.
    falling = np.minimum.accumulate(odds, axis=1)
    values, sums, _counts = _ordered(falling, np.diff(f1, axis=1, prepend=0.0))
    return _between(values, int(np.argmax(sums)))


def _cut_of_precision(odds: Numbers, hits: Flags, _: NDArray[Any], wanted: float) -> float:
    """Return the lowest cut above which enough labels are right, or one that no label passes."""
    values, right, counts = _ordered(odds, hits.astype(np.float64))
    enough = np.flatnonzero(right >= wanted * counts)
    return _between(values, int(enough[-1])) if len(enough) else _NEVER


def _cut_of_recall(odds: Numbers, hits: Flags, n_true: NDArray[Any], wanted: float) -> float:
    """Return the highest cut above which enough labels are found, or that of all ranked ones."""
    values, right, _ = _ordered(odds, hits.astype(np.float64))
    enough = np.flatnonzero(right >= wanted * n_true.sum())
    return _between(values, int(enough[0]) if len(enough) else len(values) - 1)


_CUTS: dict[str, Callable[[Numbers, Flags, NDArray[Any], float], float]] = {
    "f1": _cut_of_texts,
    "precision": _cut_of_precision,
    "recall": _cut_of_recall,
}


def _own_cuts(labels: Ids, odds: Numbers, hits: Flags, Y: Csr) -> tuple[Ids, Numbers]:
    """Return the labels with enough texts, and the cut of the highest F1 of each."""
    n_true = np.bincount(Y.indices, minlength=Y.shape[1])
    flat = np.where(hits, labels, -1).ravel()
    found = np.bincount(flat[flat >= 0], minlength=Y.shape[1])
    chosen = np.flatnonzero(found >= _LEAST_POSITIVES).astype(np.int32)
    ids, order = labels.ravel(), np.argsort(labels.ravel(), kind="stable")
    bounds = np.searchsorted(ids[order], chosen), np.searchsorted(ids[order], chosen, side="right")
    cuts = [
        _cut_of_total(odds.ravel()[some], hits.ravel()[some], n_true[[label]], 0.0)
        for label, begin, end in zip(chosen, *bounds, strict=True)
        for some in [order[begin:end]]
    ]
    return chosen, np.array(cuts, dtype=np.float64)


# --- Shortlists: the fewest candidates that hold an asked share of the labels, for whoever chooses.
#
# Candidates are the best N_LISTED labels of a text whose log-odds are above a cut. ``fit`` learns a
# cut for each share on held-out texts, with the interval in which the share of as many other texts
# is to be expected. A label is reachable if it is among the best N_LISTED.

N_LISTED = 1000
"""Labels of a text that are ranked for a shortlist."""
MOST_TEXTS = 2000
"""Held-out texts that are ranked so far."""
RECALL_RULE = Float(0.0, 0.99, open_low=True)

_SHARES = np.arange(50, 100) / 100
_NORMAL = 1.96  # of an interval of 95%


class Promise(NamedTuple):
    """What a shortlist holds: a row of what ``fit`` has learnt.

    - ``recall``: the share of the reachable labels; that of as many other texts is between ``low``
      and ``high`` with a probability of 95% (Wilson's interval; labels of one text count together).
    - ``of_all``: the share of all labels of the texts that the model knows.
    - ``size``: the mean number of candidates.
    - ``cut``: the log-odds above which a label is a candidate.
    """

    recall: float
    low: float
    high: float
    of_all: float
    size: float
    cut: float

    def __str__(self) -> str:
        """Say it in a sentence."""
        return (
            f"{100 * self.recall:.0f}% ({100 * self.low:.1f} to {100 * self.high:.1f}) of the "
            f"labels among the best {N_LISTED:,}, {100 * self.of_all:.1f}% of all known ones, in "
            f"{self.size:.1f} candidates per text"
        )


class Candidate(NamedTuple):
    """A label of a shortlist: what it is called, and the words of the text that speak for it."""

    label: Any
    score: float
    name: str | None = None
    description: str | None = None
    words: tuple[str, ...] = ()


def learn_promises(
    labels: Ids, scores: Floats, Y: Csr, log_odds: Callable[[Ids, Floats], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the promises for shares of 50% to 99%, one row each; none without a label found.

    They are learnt from rankings of texts that the model was not trained on, and their labels.
    """
    odds, hits = log_odds(labels, scores), hits_of(labels, Y)
    reachable = hits.sum(axis=1)
    owners, found_odds = np.nonzero(hits)[0], odds[hits]
    ordered = np.sort(found_odds)[::-1]
    rows = []
    for share in _SHARES.tolist() if len(ordered) else []:
        cut = np.nextafter(ordered[int(np.ceil(share * len(ordered))) - 1], -np.inf)
        found = np.bincount(owners[found_odds > cut], minlength=len(labels))
        low, high = _interval(found, reachable)
        size = np.count_nonzero(odds > cut) / len(labels)
        rows.append((share, low, high, found.sum() / max(1, Y.nnz), size, cut))
    return np.array(rows).reshape(-1, len(Promise._fields))


def _interval(found: NDArray[np.int64], all_of_them: NDArray[np.int64]) -> tuple[float, float]:
    """Return Wilson's interval of the share of labels in as many other texts.

    Texts are independent of each other, labels of a text are not: the number of labels that are
    worth as much as independent ones follows from the variance of the share over texts. Both
    samples vary, so that half of this number counts.
    """
    total = all_of_them.sum()
    share = found.sum() / total
    variance = ((found - share * all_of_them) ** 2).sum() / total**2
    n = min(total, share * (1 - share) / variance if variance > 0 else total) / 2
    spread = _NORMAL * np.sqrt(share * (1 - share) / n + (_NORMAL / (2 * n)) ** 2)
    middle, scale = share + _NORMAL**2 / (2 * n), 1 + _NORMAL**2 / n
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def promise_of(promises: NDArray[np.float64] | None, recall: float) -> Promise:
    """Return the promise of the least share that is enough."""
    if not RECALL_RULE.accepts(recall):
        raise ValueError(f"recall must be {RECALL_RULE.describe()}, got {recall!r}")
    if promises is None or not len(promises):
        raise ValueError(
            "fit has learnt no shortlist: it needs answers, and 1,000 texts with labels or "
            "validation=(texts, labels)"
        )
    place = int(np.searchsorted(promises[:, 0], recall - 1e-9))
    return Promise(*promises[place].tolist())
