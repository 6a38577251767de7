"""Conversion of label names in rankings to label ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from defrag._validation import (
    has_names,
    is_list_of_lists,
    named_matrix,
    names_of_lists,
    plain_labels,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.typing import Csr, Ids

__all__ = ["are_names", "only_labels", "with_ids"]


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

    Ids are positions in the sorted names of all three.

    Parameters
    ----------
    Y_true : lists of names, or one name per point
        The true labels.
    predictions : ndarray of names padded with "", or lists of names
        Predicted labels, best first.
    train_labels : as Y_true, optional
        The labels of training points.

    Returns
    -------
    truth : csr_array
        The true labels.
    predictions : ndarray of int32, or csr_array
        For an array, ids padded with -1; for lists, scores that decrease with the rank, since the
        number of labels that were requested is unknown.
    train : csr_array or None
        The labels of training points.
    """
    given = [_rows_of("Y_true", Y_true)]
    if train_labels is not None:
        given.append(_rows_of("train_labels", train_labels))
    ranked = [_strings(number, row) for number, row in enumerate(predictions)]
    lists = [ranked, *given]
    known = sorted({name for rows in lists for row in rows for name in row} - {""})
    numbers = {name: number for number, name in enumerate(known)}
    truth, *train = [named_matrix(rows, known)[0] for rows in given]
    padded = isinstance(predictions, np.ndarray)
    found = _ids(ranked, numbers) if padded else _scores(ranked, numbers)
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


def _ids(rows: Sequence[Sequence[str]], numbers: dict[str, int]) -> Ids:
    places = {**numbers, "": -1}
    ids = [[places[name] for name in row] for row in rows]
    return np.array(ids, dtype=np.int32).reshape(len(rows), -1)


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
