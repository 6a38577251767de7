"""What classifiers share: rows of points, costs of training, warnings about data, rankers."""

from __future__ import annotations

import mmap
import tempfile
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._scratch import scratch
from defrag.exceptions import DataWarning
from defrag.typing import Csr, Floats, Ids

if TYPE_CHECKING:
    from defrag._validation import Labels
    from defrag.classifiers._base import Classifier

# --- Rows of points, which may be mapped from a file larger than memory.


def is_mapped(array: NDArray[Any]) -> bool:
    """Return whether an array is a view of a memory-mapped file.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.classifiers._support import is_mapped, temporary_array
    >>> is_mapped(np.zeros(3)), is_mapped(temporary_array(3)[1:])
    (False, True)
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(owner, mmap.mmap)


def temporary_array(size: int) -> Floats:
    """Return zeros mapped from a temporary file, which is deleted with the array.

    It lies in the scratch folder if there is one, otherwise in ``TMPDIR``.
    """
    if size == 0:
        return np.zeros(0, dtype=np.float32)
    own = scratch()
    with tempfile.TemporaryFile(dir=None if own is None else own.folder) as file:
        file.truncate(4 * size)
        # The map has its own file descriptor. A plain array, because slicing np.memmap is slow.
        found = np.asarray(np.memmap(file, dtype=np.float32, mode="r+", shape=(size,)))
        if own is not None:
            own.watch(found)
        return found


# Number of mapped points that are scaled at a time.
_MAPPED_ROWS_AT_A_TIME = 4096


def unit_rows(X: Csr, n_threads: int) -> Csr:
    """Return L2-normalised rows; empty rows stay empty.

    If X is mapped from a file, the result shares its indices and keeps its values in a temporary
    file, so that training data may be larger than memory.
    """
    if not is_mapped(X.data):
        return _native.scale_rows(X, n_threads=n_threads)
    values = temporary_array(X.nnz)
    for start in range(0, X.shape[0], _MAPPED_ROWS_AT_A_TIME):
        part = _native.scale_rows(X[start : start + _MAPPED_ROWS_AT_A_TIME], n_threads=n_threads)
        values[X.indptr[start] : X.indptr[start] + part.nnz] = part.data
    return sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)


def labels_with_points(Y: Csr) -> Ids:
    """Return the labels with at least one point; the others are never predicted."""
    return np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1])).astype(np.int32)


# --- Estimated cost of training.

LANES = 16
"""Number of labels that the block solvers train together."""


@dataclass(frozen=True)
class Cost:
    """Seconds on one thread, and bytes in addition to the data."""

    seconds: float
    bytes: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.bytes + other.bytes)

    def times(self, trainings: float) -> Cost:
        """Return the cost of several sequential trainings."""
        return Cost(self.seconds * trainings, self.bytes)


# --- Warnings about data that are valid but probably not what the user intended.


def warn_data(message: str, *, n_helpers: int = 0) -> None:
    """Warn the user about the data passed to a public method.

    - ``n_helpers``: number of functions between the public method and this one.
    """
    # Attributed to the user's code, which calls the wrapper of the method, the method, this.
    warnings.warn(message, DataWarning, stacklevel=4 + n_helpers)


def warn_about_data(X: Csr, labels: Labels) -> None:
    """Warn about data without features or with a single label."""
    if X.nnz == 0:
        warn_data("X has no features: all points get the same labels", n_helpers=1)
    n_labels = np.count_nonzero(np.bincount(labels.matrix.indices, minlength=1))
    if n_labels == 1:
        noun = "label" if labels.multilabel else "class"
        warn_data(f"Y has a single {noun}", n_helpers=1)


def check_names(what: str, names: Sequence[str], length: int) -> None:
    """Raise ValueError unless names are ``length`` strings; warn if they are not distinct."""
    if isinstance(names, str) or len(names) != length:
        got = repr(names) if isinstance(names, str) else len(names)
        raise ValueError(f"{what} must be {length} strings, got {got}")
    for name in names:
        if not isinstance(name, str):
            raise ValueError(  # noqa: TRY004 - as for all invalid values
                f"{what} must be strings, got {name!r}"
            )
    if len(set(names)) < length:
        twice = next(name for name, count in Counter(names).items() if count > 1)
        message = f"{what} has {twice!r} more than once"
        warnings.warn(message, DataWarning, stacklevel=3)  # the caller of save


# --- Rankers of labels: classifiers, and classifiers restricted to some labels.

SCORES_AT_A_TIME = 1 << 23
"""Number of scores in memory at a time when all labels are scored."""


class Ranker(Protocol):
    """Interface of classifiers, and of classifiers restricted to some labels."""

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        """Return the best labels of each row; see :meth:`Classifier._rank`."""


@dataclass(frozen=True)
class FilteredRanker:
    """A ranker that ranks all labels of a classifier and keeps some of them."""

    base: Classifier
    labels: Ids

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:  # noqa: ARG002 - always exhaustive
        """Return the best labels of each row; see :meth:`Classifier._rank`."""
        kept_labels = np.full((X.shape[0], k), -1, dtype=np.int32)
        kept_scores = np.zeros((X.shape[0], k), dtype=np.float32)
        n_ranked = max(1, self.base._max_ranked())
        step = 1 + SCORES_AT_A_TIME // n_ranked
        for first in range(0, X.shape[0], step):
            rows = slice(first, first + step)
            labels, scores = self.base._rank(X[rows], n_ranked, exhaustive=True)
            kept = np.isin(labels, self.labels)
            kept &= np.cumsum(kept, axis=1) <= k
            place = np.cumsum(kept, axis=1) - 1
            row = np.nonzero(kept)[0]
            kept_labels[first + row, place[kept]] = labels[kept]
            kept_scores[first + row, place[kept]] = scores[kept]
        return kept_labels, kept_scores
