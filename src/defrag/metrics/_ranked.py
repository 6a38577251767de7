"""The top k predicted labels of each point, and which of them are true.

Predictions come in many forms; everything after `rank` sees one. The metrics (``ranking.py``) are
formulas on it, and the re-ranking chooses its strength with it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from defrag._validation import (
    check_labels,
    has_names,
    is_list_of_lists,
    named_matrix,
    names_of_lists,
    plain_labels,
    refuse_broken,
)
from defrag.typing import Csr, Ids, LabelsLike

_LABELS_AT_A_TIME = 50_000  # of rankings that are compared with the truth: some megabytes


@dataclass(frozen=True)
class Ranked:
    """The top k labels of each point, best first."""

    # Shape (n_points, k): label ids, padded with -1.
    labels: Ids
    # Shape (n_points, k): whether each label is true.
    hits: NDArray[np.bool_]
    # Shape (n_points, n_labels): the true labels.
    truth: Csr

    @property
    def n_true(self) -> NDArray[Any]:
        """Number of true labels of each point."""
        return np.diff(self.truth.indptr)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.truth.shape[1])


def rank(
    Y_true: LabelsLike,
    predictions: Any,
    k: int,
    *,
    drop_unlabelled: bool = False,
    by_id: bool = False,
) -> Ranked:
    """Check true labels and predictions and return the top k labels of each point.

    Raises ValueError if they do not match, or if they are names although ``by_id`` requires ids.
    """
    k = check_k(k)
    predictions = only_labels(predictions)
    if are_names(predictions):
        if by_id:
            raise ValueError(
                "inverse_propensity is by label id, so predictions must be ids, got names: "
                "evaluate takes names and train_labels"
            )
        Y_true, predictions, _ = with_ids(Y_true, predictions)
    if sparse.issparse(predictions):
        scores = _check_scores(predictions)
        truth = check_labels(Y_true, n_rows=scores.shape[0], n_labels=scores.shape[1]).matrix
        if truth.shape[1] != scores.shape[1]:
            raise ValueError(
                f"predictions must have the {truth.shape[1]} labels of Y_true, "
                f"got {scores.shape[1]}"
            )
        most = int(np.diff(scores.indptr).max(initial=0))
        if most < min(k, truth.shape[1]):
            # No error: a sparse matrix may have few scores, whereas ids have a known number k.
            warnings.warn(
                f"no point has more than {most} predictions: at k={k}, missing predictions count "
                "as wrong",
                stacklevel=3,
            )
        labels = top_columns(scores, k)
    else:
        ids = np.asarray(predictions)
        if ids.ndim != 2 or ids.dtype.kind not in "iu":
            raise ValueError(
                "predictions must be a sparse matrix of scores or a 2-D array of label ids, "
                f"got {ids.ndim}-D of {ids.dtype}"
            )
        truth = check_labels(Y_true, n_rows=ids.shape[0]).matrix
        labels = _truncate(ids, truth.shape[1], k)
    if drop_unlabelled:
        labelled = np.diff(truth.indptr) > 0
        truth, labels = truth[labelled], labels[labelled]
    if truth.shape[0] == 0:
        kind = "labelled point" if drop_unlabelled else "point"
        raise ValueError(f"Y_true must have at least one {kind}, got 0")
    return Ranked(labels, hits_of(labels, truth), truth)


def check_k(k: Any) -> int:
    """Return k as an int, or raise ValueError if it is not a positive int."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ValueError(f"k must be an int >= 1, got {k!r}")
    return int(k)


def top_columns(scores: Csr, k: int) -> Ids:
    """Return the k columns with the largest values in each row; ties go to the lower index."""
    rows = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    order = np.lexsort((scores.indices, -scores.data, rows))
    place = np.arange(len(order)) - np.repeat(scores.indptr[:-1], np.diff(scores.indptr))
    first = place < k
    best = np.full((scores.shape[0], k), -1, dtype=np.int32)
    best[rows[first], place[first]] = scores.indices[order[first]]
    return best


def _check_scores(predictions: Any) -> Csr:
    # check_matrix would drop stored zeros, but a score of zero is a score.
    refuse_broken(predictions, name="predictions")
    scores = sparse.csr_array(predictions, dtype=np.float64)
    if not scores.has_canonical_format:
        scores = scores.copy()
        scores.sum_duplicates()
    if not np.isfinite(scores.data).all():
        bad = scores.data[~np.isfinite(scores.data)][0]
        raise ValueError(f"predictions must be finite scores, got {bad}")
    return scores


def _truncate(ids: NDArray[Any], n_labels: int, k: int) -> Ids:
    if ids.size and (int(ids.min()) < -1 or int(ids.max()) >= n_labels):
        bad = int(ids.min()) if int(ids.min()) < -1 else int(ids.max())
        raise ValueError(f"predictions must be label ids in [-1, {n_labels}), got {bad}")
    ordered = np.sort(ids, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    if twice.any():
        row = int(np.flatnonzero(twice.any(axis=1))[0])
        label = int(ordered[row, 1:][twice[row]][0])
        raise ValueError(
            f"predictions must not repeat a label in a row, got label {label} twice in row {row}"
        )
    if ids.shape[1] < min(k, n_labels):
        raise ValueError(
            f"predictions have {ids.shape[1]} labels per point, so k must be at most that, got {k}"
        )
    first = np.full((ids.shape[0], k), -1, dtype=np.int32)
    first[:, : min(k, ids.shape[1])] = ids[:, :k]
    return first


def has_labels(Y: Csr, rows: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of the rows have which of the labels; labels beyond Y have none."""
    n_labels = Y.shape[1]
    owners = np.repeat(np.arange(Y.shape[0], dtype=np.int64), np.diff(Y.indptr))
    known = np.sort(owners * n_labels + Y.indices)
    wanted = rows * n_labels + labels
    place = np.minimum(np.searchsorted(known, wanted), max(0, len(known) - 1))
    return (labels < n_labels) & (known[place] == wanted if len(known) else False)


def hits_of(labels: Ids, Y: Csr) -> NDArray[np.bool_]:
    """Return which labels of a ranking are right; those that pad it are not."""
    n = max(1, _LABELS_AT_A_TIME // max(1, labels.shape[1]))
    if len(labels) > n:
        starts = range(0, len(labels), n)
        return np.vstack([hits_of(labels[i : i + n], Y[i : i + n]) for i in starts])
    rows, places = np.nonzero(labels >= 0)
    hits = np.zeros(labels.shape, dtype=bool)
    hits[rows, places] = has_labels(Y, rows, labels[rows, places].astype(np.int64))
    return hits


@dataclass(frozen=True)
class Ideal:
    """The best possible ranking: true labels by decreasing weight."""

    # Shape (n_points, k): true labels, padded with -1.
    labels: Ids
    # Shape (n_points, k): their weights, padded with 0.
    gains: NDArray[np.float64]
    # Shape (n_points, k): weights of the predicted labels, 0 for wrong predictions.
    found: NDArray[np.float64]


def ideal_ranking(ranked: Ranked, inverse_propensity: ArrayLike, k: int) -> Ideal:
    """Check the weights and return the true labels ranked by them."""
    weights = np.asarray(inverse_propensity, dtype=np.float64)
    if weights.shape != (ranked.n_labels,):
        raise ValueError(
            f"inverse_propensity must have one weight for each of {ranked.n_labels} labels, "
            f"got shape {weights.shape}"
        )
    if not np.isfinite(weights).all() or (weights.size and weights.min() <= 0):
        bad = weights[~(np.isfinite(weights) & (weights > 0))][0]
        raise ValueError(f"inverse_propensity must be finite and > 0, got {bad}")
    truth = ranked.truth
    scores = sparse.csr_array((weights[truth.indices], truth.indices, truth.indptr), truth.shape)
    labels = top_columns(scores, k)
    padded = np.append(weights, 0.0)
    return Ideal(labels, padded[labels], np.where(ranked.hits, padded[ranked.labels], 0.0))


# --- Conversion of label names in rankings to label ids.


def only_labels(predictions: Any) -> Any:
    """Return the labels of a pair of labels and scores; other predictions are unchanged."""
    if isinstance(predictions, tuple) and len(predictions) == 2:
        first, second = predictions
        arrays = isinstance(first, np.ndarray) and isinstance(second, np.ndarray)
        if arrays and first.ndim == second.ndim == 2 and second.dtype.kind == "f":
            return first
    return predictions


def are_names(predictions: Any) -> bool:
    """Return whether predictions are label names: an array of strings, or lists with a string."""
    if isinstance(predictions, np.ndarray):
        return predictions.ndim == 2 and predictions.dtype.kind in "UO"
    return is_list_of_lists(predictions) and has_names(predictions)


def with_ids(Y_true: Any, predictions: Any, train_labels: Any = None) -> tuple[Csr, Any, Any]:
    """Return true labels, predictions and training labels with ids instead of names.

    Ids are positions in the sorted names of all three. Predictions in an array become ids padded
    with -1; those in lists scores that decrease with the rank, since the number of labels that were
    requested is unknown.
    """
    given = [_rows_of("Y_true", Y_true)]
    if train_labels is not None:
        given.append(_rows_of("train_labels", train_labels))
    ranked = [_strings(number, row) for number, row in enumerate(predictions)]
    lists = [ranked, *given]
    known = sorted({name for rows in lists for row in rows for name in row} - {""})
    numbers = {name: number for number, name in enumerate(known)}
    truth, *train = [named_matrix(rows, known)[0] for rows in given]
    found: Any
    if isinstance(predictions, np.ndarray):
        ids = [[numbers.get(name, -1) for name in row] for row in ranked]
        found = np.array(ids, dtype=np.int32).reshape(len(ids), -1)
    else:
        found = _scores(ranked, numbers)
    return truth, found, train[0] if train else None


def _rows_of(what: str, labels: Any) -> list[list[str]]:
    """Return the label names of each point."""
    plain: Any = plain_labels(labels)
    if is_list_of_lists(plain) and (has_names(plain) or not any(map(len, plain))):
        return names_of_lists(plain)
    if not sparse.issparse(plain) and all(isinstance(name, str) for name in plain):
        return names_of_lists([[name] for name in plain])
    raise ValueError(f"{what} must be label names, like predictions, got ids")


def _strings(number: int, row: Any) -> list[str]:
    for name in row:
        if not isinstance(name, str):
            raise ValueError(  # noqa: TRY004 - as for all invalid values
                "predictions must be all label names or all label ids, "
                f"got {name!r} in row {number} among names"
            )
    return list(row)


def _scores(rows: Sequence[Sequence[str]], numbers: dict[str, int]) -> Csr:
    for number, row in enumerate(rows):
        if "" in row or len(set(row)) < len(row):
            twice = next(name for name in row if not name or list(row).count(name) > 1)
            raise ValueError(
                f"predictions must be distinct label names, got {twice!r} in row {number}"
            )
    indptr = np.append(0, np.cumsum([len(row) for row in rows], dtype=np.int64))
    indices = np.array([numbers[name] for row in rows for name in row], dtype=np.int32)
    places = np.arange(len(indices)) - np.repeat(indptr[:-1], np.diff(indptr))
    shape = (len(rows), len(numbers))
    return sparse.csr_array((-places.astype(np.float64), indices, indptr), shape=shape)
