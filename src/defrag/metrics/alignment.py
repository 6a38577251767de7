"""Alignment of predicted and true labels of any format as matrices with the same columns.

A file of predictions has label ids, label names or JSON lines, true labels are a matrix or names:
:func:`defrag.metrics.evaluate` needs two matrices. Called by ``defrag evaluate``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from defrag._progress import escaped, progress_pulse
from defrag._validation import named_matrix
from defrag.exceptions import FormatError, FormatWarning
from defrag.io.files import display_name, open_input
from defrag.io.npz import parse_npz
from defrag.io.points import data_form
from defrag.io.predictions import parse_named_predictions, parse_predictions, prediction_form
from defrag.typing import Csr


@dataclass(frozen=True)
class Predictions:
    """Predicted labels of a file.

    Attributes
    ----------
    name : str
        Name of the file.
    labels : csr_array, or list of lists of int or str
        A matrix of scores, or the labels of each point.
    scores : list of lists of float
        Scores of the labels, if ``labels`` is a list.
    escaped : bool
        Whether non-printable characters of the names are escaped.
    """

    name: str
    labels: Any
    scores: list[list[float]]
    escaped: bool = False

    @property
    def n_labels(self) -> int | None:
        """The number of labels, if the file declares it."""
        return None if isinstance(self.labels, list) else int(self.labels.shape[1])

    def have(self, kind: type[int | str]) -> bool:
        """Return whether labels are of a type: ids (int) or names (str)."""
        if not isinstance(self.labels, list):
            return kind is int
        return any(isinstance(label, kind) for row in self.labels for label in row)


@dataclass(frozen=True)
class Truth:
    """True labels of a file.

    Parameters
    ----------
    name : str
        Name of the file.
    labels : csr_array or list of lists of str
        A matrix, or the names of the labels of each point.
    """

    name: str
    labels: Any

    @property
    def have_names(self) -> bool:
        """Whether labels are names."""
        return not sparse.issparse(self.labels)


class Aligned(NamedTuple):
    """Matrices with the same columns: true labels, scores and labels of the training data."""

    truth: Csr
    scores: Csr
    seen: Csr | None


def read_any_predictions(
    path: str, *, strict: bool = False, allow_truncated: bool = False
) -> Predictions:
    """Read predictions with ids, with names, as JSON lines, or as a sparse matrix of scipy.

    Parameters
    ----------
    path : str
        The file; ``-`` is standard input.
    strict : bool, default=False
        Whether warnings are errors.
    allow_truncated : bool, default=False
        Whether fewer points than the header declares are a warning instead of an error.
    """
    name = display_name(path)
    with progress_pulse(f"reading {escaped(name)}"), open_input(path) as stream:
        if data_form(stream) == "npz":
            return Predictions(name, parse_npz(stream)[0], [])
        form = prediction_form(stream)
        if form == "ids":
            matrix = parse_predictions(stream, strict=strict, allow_truncated=allow_truncated)
            return Predictions(name, matrix, [])
        return Predictions(name, *parse_named_predictions(stream, form), escaped=form == "names")


def align(
    predictions: Predictions,
    truth: Truth,
    train: Truth | None = None,
    names: Sequence[str] | None = None,
) -> Aligned:
    """Return predictions and true labels as matrices with the same columns.

    Parameters
    ----------
    predictions : Predictions
        Predicted labels.
    truth, train : Truth
        True labels, and those of the training data.
    names : sequence of str, optional
        Names of the columns of a matrix of true labels.

    Raises
    ------
    ValueError
        If the points or labels differ.

    Examples
    --------
    >>> from defrag.metrics import Predictions, Truth, align, precision
    >>> found = Predictions("found.txt", [["cat", "dog"], ["dog"]], [[0.9, 0.2], [0.7]])
    >>> truth, scores, _ = align(found, Truth("docs.jsonl", [["cat"], ["cat"]]))
    >>> precision(truth, scores, k=1)
    50.0
    """
    others = [truth] if train is None else [truth, train]
    for other in others:
        if other.have_names != truth.have_names:
            kinds = "has label names", "is a matrix"
            own, theirs = kinds if other.have_names else kinds[::-1]
            raise ValueError(f"{other.name}: {own}, but {truth.name} {theirs}")
    if truth.have_names:
        if predictions.have(int):
            raise ValueError(
                f"{predictions.name}: has label ids, but {truth.name} has names: predict with a "
                "model of texts, or with --names"
            )
        return _align_names(predictions, others)
    scores: Any = predictions.labels
    if isinstance(scores, list):
        scores = _by_id(predictions, truth, names)
    for other in others:
        _check_same(predictions, other, "label", scores.shape[1], other.labels.shape[1])
    _check_same(predictions, truth, "point", scores.shape[0], truth.labels.shape[0])
    return Aligned(truth.labels, scores, None if train is None else train.labels)


def _align_names(predictions: Predictions, others: list[Truth]) -> Aligned:
    rows = [[_as_written(row, predictions) for row in other.labels] for other in others]
    known = sorted({name for lists in (predictions.labels, *rows) for row in lists for name in row})
    numbers = {name: number for number, name in enumerate(known)}
    truth, *seen = [named_matrix(lists, known)[0] for lists in rows]
    scores = _matrix(predictions.labels, numbers, predictions.scores)
    _check_same(predictions, others[0], "point", scores.shape[0], truth.shape[0])
    if truth.nnz and scores.nnz and not np.intersect1d(truth.indices, scores.indices).size:
        message = f"no predicted name is a label of {others[0].name}"
        warnings.warn(f"{predictions.name}: {message}", FormatWarning, stacklevel=2)
    return Aligned(truth, scores, seen[0] if seen else None)


def _by_id(predictions: Predictions, truth: Truth, names: Sequence[str] | None) -> Csr:
    """Return scores as a matrix with the columns of the true labels."""
    n_labels = truth.labels.shape[1]
    numbers: dict[Any, int]
    if not predictions.have(str):
        numbers = {number: number for number in range(n_labels)}
    elif names is None:
        raise ValueError(
            f"{predictions.name}: has label names, but {truth.name} is a matrix: give --label-names"
        )
    else:
        numbers = {name: at for at, name in enumerate(_as_written(names, predictions))}
        if len(numbers) < n_labels:
            raise ValueError("the names of --label-names must differ from each other")
    for line, row in enumerate(predictions.labels, 1):
        for label in row:
            if label not in numbers:
                raise FormatError(predictions.name, f"label {label!r} is not known", line)
    return _matrix(predictions.labels, numbers, predictions.scores)


def _matrix(rows: list[list[Any]], numbers: dict[Any, int], scores: list[list[float]]) -> Csr:
    indptr = np.append(0, np.cumsum([len(row) for row in rows], dtype=np.int64))
    indices = np.array([numbers[label] for row in rows for label in row], dtype=np.int32)
    data = np.array([score for row in scores for score in row], dtype=np.float32)
    matrix = sparse.csr_array((data, indices, indptr), shape=(len(rows), len(numbers)))
    matrix.sort_indices()
    return matrix


def _as_written(names: Sequence[str], predictions: Predictions) -> list[str]:
    """Return names as the file of predictions writes them."""
    return [escaped(name) for name in names] if predictions.escaped else list(names)


def _check_same(
    predictions: Predictions, other: Truth, noun: str, found: int, expected: int
) -> None:
    if found != expected:
        raise ValueError(f"{predictions.name}: {found} {noun}s, but {other.name} has {expected}")
