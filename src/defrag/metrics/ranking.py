"""Metrics of ranked labels.

Predictions are a sparse matrix of scores, ranked by decreasing score and then by increasing label
id, in which labels without a stored score count as not predicted; an array of label ids, best
first and padded with -1; an array of names, padded with "", or lists of names, best first, for
true labels that have names; or a pair of labels and scores, as from ``predict_topk``. Points
without true labels count as zero unless they are dropped. An array of fewer than k labels per
point cannot be evaluated at k; a matrix with fewer scores in every row is evaluated with a
warning. All functions return percentages, as is usual in this field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from defrag import _propensity
from defrag._validation import check_labels
from defrag.metrics._ranked import (
    Ideal,
    Ranked,
    are_names,
    check_k,
    ideal_ranking,
    only_labels,
    rank,
    with_ids,
)
from defrag.typing import Csr, LabelsLike

Normalisation = Literal["xmc", "pyxclib"]
Denominator = Literal["all", "test", "ideal"]

_EDGES = (0, 1, 2, 3, 5, 7, 10, 20, 30, 50, 70, 100)


@dataclass(frozen=True)
class MacroPrecision:
    """Mean precision of labels in bins from the most to the least frequent label.

    Attributes
    ----------
    edges : tuple of int
        Bin b contains the labels from ``edges[b]`` to ``edges[b + 1]`` percent.
    precision : ndarray of float64
        Mean over the labels of each bin, in percent; NaN for empty bins.
    predicted : ndarray of float64
        Percentage of the labels of each bin that are predicted for at least one point.
    n_labels : ndarray of int
        Number of labels in each bin.
    """

    edges: tuple[int, ...]
    precision: NDArray[np.float64]
    predicted: NDArray[np.float64]
    n_labels: NDArray[Any]


def precision(
    Y_true: LabelsLike, predictions: Any, k: int = 1, *, drop_unlabelled: bool = False
) -> float:
    """Return P@k, the percentage of the top k labels that are true.

    Parameters
    ----------
    Y_true : labels
        The true labels, in any form that classifiers accept.
    predictions : sparse matrix of scores, ndarray of label ids or names, or lists of names
        See the module documentation.
    k : int, default=1
        Number of labels per point that count.
    drop_unlabelled : bool, default=False
        Whether points without true labels are dropped.

    Examples
    --------
    >>> import numpy as np
    >>> precision(np.array([[1, 0, 1], [0, 1, 0]]), np.array([[0, 1], [1, -1]]), k=2)
    50.0
    >>> precision([["ant", "bee"], ["cat"]], [["bee", "cat"], ["cat", "ant"]], k=2)
    50.0
    """
    return 100 * precision_of(rank(Y_true, predictions, k, drop_unlabelled=drop_unlabelled), k)


def recall(
    Y_true: LabelsLike, predictions: Any, k: int = 1, *, drop_unlabelled: bool = False
) -> float:
    """Return R@k, the percentage of the true labels that are among the top k.

    The parameters are those of `precision`.
    """
    return 100 * recall_of(rank(Y_true, predictions, k, drop_unlabelled=drop_unlabelled), k)


def ndcg(
    Y_true: LabelsLike, predictions: Any, k: int = 1, *, drop_unlabelled: bool = False
) -> float:
    """Return nDCG@k in percent; a true label at rank r has the gain 1 / log2(r + 1).

    The parameters are those of `precision`.
    """
    return 100 * ndcg_of(rank(Y_true, predictions, k, drop_unlabelled=drop_unlabelled), k)


def psp(
    Y_true: LabelsLike,
    predictions: Any,
    inverse_propensity: ArrayLike,
    k: int = 1,
    *,
    drop_unlabelled: bool = False,
) -> float:
    """Return PSP@k, propensity-scored precision in percent of its maximum.

    Parameters
    ----------
    Y_true, predictions
        As in `precision`.
    inverse_propensity : array-like of float, shape (n_labels,)
        Weights of the labels; see `defrag.metrics.inverse_propensity`.
    k, drop_unlabelled
        As in `precision`; dropping points without labels does not change this metric.
    """
    ranked = rank(Y_true, predictions, k, drop_unlabelled=drop_unlabelled, by_id=True)
    return 100 * psp_of(ideal_ranking(ranked, inverse_propensity, k), k)


def psndcg(
    Y_true: LabelsLike,
    predictions: Any,
    inverse_propensity: ArrayLike,
    k: int = 1,
    *,
    normalisation: Normalisation = "xmc",
    drop_unlabelled: bool = False,
) -> float:
    """Return PSnDCG@k, propensity-scored discounted gain in percent of its maximum.

    Parameters
    ----------
    Y_true, predictions
        As in `precision`.
    inverse_propensity, k
        As in `psp`.
    normalisation : {"xmc", "pyxclib"}, default="xmc"
        The tool of the Extreme Classification Repository sums the gains of all points;
        pyxclib and napkinXC first divide the gain of each point by the sum of the discounts
        of its true labels.
    drop_unlabelled : bool, default=False
        As in `psp`.
    """
    _check_choice("normalisation", normalisation, ("xmc", "pyxclib"))
    ranked = rank(Y_true, predictions, k, drop_unlabelled=drop_unlabelled, by_id=True)
    ideal = ideal_ranking(ranked, inverse_propensity, k)
    return 100 * psndcg_of(ranked, ideal, k, normalisation)


def coverage(
    Y_true: LabelsLike,
    predictions: Any,
    k: int = 1,
    *,
    denominator: Denominator = "all",
    inverse_propensity: ArrayLike | None = None,
) -> float:
    """Return the percentage of labels that are true and in the top k for at least one point.

    Parameters
    ----------
    Y_true, predictions, k
        As in `precision`.
    denominator : {"all", "test", "ideal"}, default="all"
        Divide by the number of all labels, as in the paper; of labels that are true for at
        least one point; or of labels found by the ideal ranking, which sorts the true labels
        of a point by decreasing weight.
    inverse_propensity : array-like of float, shape (n_labels,), optional
        Weights of the labels, required by ``"ideal"``.
    """
    _check_choice("denominator", denominator, ("all", "test", "ideal"))
    if denominator == "ideal" and inverse_propensity is None:
        raise ValueError("denominator 'ideal' requires inverse_propensity, got None")
    ranked = rank(Y_true, predictions, k, by_id=inverse_propensity is not None)
    ideal = None if inverse_propensity is None else ideal_ranking(ranked, inverse_propensity, k)
    return 100 * coverage_of(ranked, ideal, k, denominator)


def macro_precision(
    Y_true: LabelsLike,
    predictions: Any,
    train_labels: LabelsLike,
    k: int = 1,
    *,
    edges: Sequence[int] = _EDGES,
) -> MacroPrecision:
    """Return the mean precision of labels in bins from frequent to rare, in percent.

    Parameters
    ----------
    Y_true, predictions
        As in `precision`.
    train_labels : labels
        Labels of the training points. Labels are sorted by their frequency there; ties are
        broken by id.
    k : int, default=1
        Number of labels per point that count.
    edges : sequence of int, default=(0, 1, 2, 3, 5, 7, 10, 20, 30, 50, 70, 100)
        Edges of the bins, in percent of the labels.

    Returns
    -------
    result : MacroPrecision
        Labels that are never predicted have precision 0.
    """
    borders = np.asarray(edges)
    if borders.ndim != 1 or borders.dtype.kind not in "iu" or np.any(np.diff(borders) <= 0):
        raise ValueError(f"edges must be increasing ints, got {edges!r}")
    if len(borders) < 2 or borders[0] < 0 or borders[-1] > 100:
        raise ValueError(f"edges must be at least two percentages in [0, 100], got {edges!r}")
    predictions = only_labels(predictions)
    if are_names(predictions):
        Y_true, predictions, train_labels = with_ids(Y_true, predictions, train_labels)
    ranked = rank(Y_true, predictions, k)
    n_labels = ranked.n_labels
    predicted = np.bincount(ranked.labels[ranked.labels >= 0], minlength=n_labels)
    right = np.bincount(ranked.labels[ranked.hits], minlength=n_labels)
    by_label = 100 * right / np.maximum(predicted, 1)
    seen = np.bincount(_train_matrix(train_labels, n_labels).indices, minlength=n_labels)
    order = np.argsort(-seen, kind="stable")
    places = borders.astype(np.int64) * n_labels // 100
    bins = [order[first:last] for first, last in pairwise(places)]
    return MacroPrecision(
        tuple(int(border) for border in borders),
        np.array([by_label[b].mean() if len(b) else np.nan for b in bins]),
        np.array([100 * (predicted[b] > 0).mean() if len(b) else np.nan for b in bins]),
        np.array([len(b) for b in bins]),
    )


def evaluate(
    Y_true: LabelsLike,
    predictions: Any,
    train_labels: LabelsLike | None = None,
    k: Sequence[int] = (1, 3, 5),
    *,
    A: float = 0.55,
    B: float = 1.5,
    normalisation: Normalisation = "xmc",
    denominator: Denominator = "all",
    drop_unlabelled: bool = False,
) -> dict[str, float]:
    """Return all ranking metrics, in percent.

    Parameters
    ----------
    Y_true, predictions
        As in `precision`.
    train_labels : labels, optional
        Labels of the training points, from which propensities are estimated; without them
        the result has no PSP and PSnDCG.
    k : sequence of int, default=(1, 3, 5)
        Numbers of labels per point that count.
    A, B : float, default=0.55, 1.5
        See `defrag.metrics.inverse_propensity`.
    normalisation : {"xmc", "pyxclib"}, default="xmc"
        See `psndcg`.
    denominator : {"all", "test", "ideal"}, default="all"
        See `coverage`; ``"ideal"`` requires ``train_labels``.
    drop_unlabelled : bool, default=False
        Whether points without true labels are dropped.

    Returns
    -------
    values : dict
        ``"P@1"``, ``"nDCG@1"``, ``"R@1"``, ``"coverage@1"``, and, with ``train_labels``,
        ``"PSP@1"`` and ``"PSnDCG@1"``, for every k.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0, 1], [0, 1, 0]])
    >>> evaluate(Y, np.array([[0, 1], [1, -1]]), k=(1, 2))["P@2"]
    50.0
    >>> names, scores = np.array([["ant", "bee"], ["cat", ""]]), np.array([[0.9, 0.4], [0.6, 0.0]])
    >>> evaluate([["bee"], ["cat"]], (names, scores), k=(1, 2))["R@2"]
    100.0
    """
    _check_choice("normalisation", normalisation, ("xmc", "pyxclib"))
    _check_choice("denominator", denominator, ("all", "test", "ideal"))
    if denominator == "ideal" and train_labels is None:
        raise ValueError("denominator 'ideal' requires train_labels, got None")
    depths = [check_k(depth) for depth in k]
    if not depths:
        raise ValueError(f"k must have at least one number, got {k!r}")
    predictions = only_labels(predictions)
    if are_names(predictions):
        Y_true, predictions, train_labels = with_ids(Y_true, predictions, train_labels)
    ranked = rank(Y_true, predictions, max(depths), drop_unlabelled=drop_unlabelled)
    ideal = None
    if train_labels is not None:
        seen = _train_matrix(train_labels, ranked.n_labels)
        ideal = ideal_ranking(ranked, _propensity.inverse_propensity(seen, A, B), max(depths))
    values: dict[str, float] = {}
    for depth in depths:
        values[f"P@{depth}"] = 100 * precision_of(ranked, depth)
        values[f"nDCG@{depth}"] = 100 * ndcg_of(ranked, depth)
        values[f"R@{depth}"] = 100 * recall_of(ranked, depth)
        if ideal is not None:
            values[f"PSP@{depth}"] = 100 * psp_of(ideal, depth)
            values[f"PSnDCG@{depth}"] = 100 * psndcg_of(ranked, ideal, depth, normalisation)
        values[f"coverage@{depth}"] = 100 * coverage_of(ranked, ideal, depth, denominator)
    return values


# --- The formulas, on checked rankings; fractions.


def discounts(k: int) -> NDArray[np.float64]:
    """Return 1 / log2(r + 1) for the ranks r = 1 to k."""
    return 1.0 / np.log2(np.arange(2, k + 2))


def precision_of(ranked: Ranked, k: int) -> float:
    """Return P@k."""
    return float(ranked.hits[:, :k].sum(axis=1).mean() / k)


def recall_of(ranked: Ranked, k: int) -> float:
    """Return R@k."""
    return float((ranked.hits[:, :k].sum(axis=1) / np.maximum(ranked.n_true, 1)).mean())


def _ideal_gain(ranked: Ranked, k: int) -> NDArray[np.float64]:
    """Return the ideal discounted gain of each point, 1 for points without labels."""
    sums = np.concatenate([[1.0], np.cumsum(discounts(k))])
    return np.asarray(sums[np.minimum(ranked.n_true, k)])


def ndcg_of_points(ranked: Ranked, k: int) -> NDArray[np.float64]:
    """Return nDCG@k of each point."""
    return np.asarray(ranked.hits[:, :k] @ discounts(k) / _ideal_gain(ranked, k))


def ndcg_of(ranked: Ranked, k: int) -> float:
    """Return nDCG@k."""
    return float(ndcg_of_points(ranked, k).mean())


def psp_of(ideal: Ideal, k: int) -> float:
    """Return PSP@k."""
    return _ratio(ideal.found[:, :k].sum(), ideal.gains[:, :k].sum())


def psndcg_of(ranked: Ranked, ideal: Ideal, k: int, normalisation: str) -> float:
    """Return PSnDCG@k."""
    found, best = ideal.found[:, :k] @ discounts(k), ideal.gains[:, :k] @ discounts(k)
    if normalisation == "pyxclib":
        scale = _ideal_gain(ranked, k)
        found, best = found / scale, best / scale
    return _ratio(found.sum(), best.sum())


def coverage_of(ranked: Ranked, ideal: Ideal | None, k: int, denominator: str) -> float:
    """Return the fraction of labels that are predicted correctly for at least one point."""
    found = len(np.unique(ranked.labels[:, :k][ranked.hits[:, :k]]))
    if denominator == "ideal" and ideal is not None:
        best = ideal.labels[:, :k]
        return _ratio(found, len(np.unique(best[best >= 0])))
    if denominator == "test":
        return _ratio(found, len(np.unique(ranked.truth.indices)))
    return _ratio(found, ranked.n_labels)


def _ratio(part: float, whole: float) -> float:
    """Return part / whole, or 0 if whole is 0."""
    return float(part / whole) if whole > 0 else 0.0


# --- Checks.


def _train_matrix(train_labels: LabelsLike, n_labels: int) -> Csr:
    rows = train_labels.shape[0] if hasattr(train_labels, "shape") else len(train_labels)
    matrix = check_labels(train_labels, n_rows=rows, n_labels=n_labels).matrix
    if matrix.shape[1] != n_labels:
        raise ValueError(
            f"train_labels must have the {n_labels} labels of Y_true, got {matrix.shape[1]}"
        )
    return matrix


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
