"""Validation of user input: matrices, labels, seeds.

Validated matrices are canonical CSR (sorted, no duplicates, float32, indices in range,
all values finite); validated labels are a 0/1 CSR matrix with the same number of rows.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, validate_data

from defrag import _native
from defrag._validation._input_errors import explain_features, refuse_types
from defrag._validation._label_forms import (
    check_classes,
    has_names,
    ids_of_lists,
    is_indicator,
    is_list_of_lists,
    names_of_lists,
    plain_labels,
)
from defrag._validation._names import Names, NamesByArray, named_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sklearn.base import BaseEstimator

    from defrag.typing import Csr, LabelsLike, MatrixLike, Seed

__all__ = [
    "Labels",
    "Names",
    "NamesByArray",
    "canonical_csr",
    "check_features",
    "check_labels",
    "check_matrix",
    "check_seed",
    "has_names",
    "is_list_of_lists",
    "named_matrix",
    "names_of_lists",
    "plain_labels",
    "require_labels",
]


def check_seed(random_state: Seed) -> int:
    """Return a 63-bit seed: a given int, a random one for None, or one drawn from a generator."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        if not 0 <= int(random_state) < 2**63:
            raise ValueError(f"random_state must be in [0, 2**63), got {random_state!r}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def check_features(estimator: BaseEstimator, X: MatrixLike, *, reset: bool) -> Csr:
    """Return the validated X of an estimator; ``reset`` is True in ``fit``."""
    canonical = None if reset else _canonical_or_none(estimator, X)
    if canonical is not None:
        return canonical
    refuse_types(X)
    try:
        with np.errstate(over="ignore"):  # overflowing values are rejected as infinite
            checked = validate_data(
                estimator, X, accept_sparse="csr", dtype=np.float32, accept_large_sparse=True,
                reset=reset,
            )  # fmt: skip
    except ValueError as error:
        # Without the original error, which recommends estimators of scikit-learn.
        raise explain_features(X, error) from None
    return canonical_csr(checked, name="X")


def _canonical_or_none(estimator: BaseEstimator, X: MatrixLike) -> Csr | None:
    """Return X with converted types if it is valid and canonical, otherwise None.

    For a single row, the general checks take several times as long as the prediction. They
    are run only on a matrix that fails here, and raise the error.
    """
    if type(X) not in (sparse.csr_array, sparse.csr_matrix) or hasattr(
        estimator, "feature_names_in_"
    ):
        return None
    shape = X.shape
    if len(shape) != 2 or shape[0] == 0 or shape[1] != getattr(estimator, "n_features_in_", None):
        return None
    X = _with_kernel_types(X)
    return X if _native.is_clean(X) else None


def _with_kernel_types(X: Csr) -> Csr:
    """Return X as a csr_array with int32 indices, if these suffice, and float32 values.

    Vectorisers return float64 values, and scipy converts most index arrays to int64.
    """
    exact = type(X) is sparse.csr_array
    if exact and X.indices.dtype == np.int32 and X.data.dtype == np.float32:
        return X
    changed = copy(X) if exact else sparse.csr_array(X)  # shares the arrays, which are replaced
    if X.indices.dtype == np.int64:
        indptr, indices = X.indptr.astype(np.int32), X.indices.astype(np.int32)
        if not (np.array_equal(indptr, X.indptr) and np.array_equal(indices, X.indices)):
            return X
        changed.indptr, changed.indices = indptr, indices
    if X.data.dtype != np.float32 and X.data.dtype.kind in "fiub":
        with np.errstate(over="ignore"):
            changed.data = X.data.astype(np.float32)
    return changed


def check_matrix(X: MatrixLike, *, name: str, n_features: int | None = None) -> Csr:
    """Return a validated matrix other than the X of an estimator; errors refer to ``name``."""
    X = check_array(
        X,
        accept_sparse="csr",
        dtype=np.float32,
        accept_large_sparse=True,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name=name,
    )
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"{name} must have {n_features} columns, got {X.shape[1]}")
    return canonical_csr(X, name=name)


def canonical_csr(X: Any, *, name: str) -> Csr:
    """Return a sparse or dense matrix as canonical CSR; the input is not modified."""
    try:
        matrix = sparse.csr_array(X)
    except ValueError as error:
        raise ValueError(f"{name} is a broken sparse matrix: {error}") from error
    indptr = np.ascontiguousarray(matrix.indptr, dtype=np.int64)
    if matrix.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"{name} must have fewer than 2**31 columns, got {matrix.shape[1]}")
    indices = matrix.indices
    if indices.dtype != np.int32 and indices.size:
        low, high = int(indices.min()), int(indices.max())
        if low < 0 or high >= matrix.shape[1]:
            bad = low if low < 0 else high
            raise ValueError(f"{name} has column index {bad}, but only {matrix.shape[1]} columns")
    state = _native.inspect_csr(
        indptr, np.ascontiguousarray(indices, dtype=np.int32), n_cols=matrix.shape[1]
    )
    if state == _native.CsrState.bad_pointers:
        raise ValueError(
            f"{name} is a broken sparse matrix: its row pointers do not increase to nnz"
        )
    if state == _native.CsrState.bad_indices:
        raise ValueError(
            f"{name} is a broken sparse matrix: a column index is outside [0, {matrix.shape[1]})"
        )
    if state == _native.CsrState.unsorted:
        matrix = matrix.copy()
        matrix.has_sorted_indices = False
        matrix.has_canonical_format = False
        matrix.sum_duplicates()
    if matrix.nnz and not np.all(matrix.data):
        matrix = matrix.copy() if state == _native.CsrState.canonical else matrix
        matrix.eliminate_zeros()
    if matrix.data.dtype != np.float32:
        matrix = matrix.astype(np.float32)
    return matrix


@dataclass(frozen=True)
class Labels:
    """Validated labels.

    Attributes
    ----------
    matrix : csr_array
        The labels as a 0/1 matrix.
    classes : ndarray or None
        The classes of the columns for 1-D input, or the label names for lists of names.
    dense : bool
        Whether the input was a dense indicator matrix or classes.
    multilabel : bool
        Whether a point may have any number of labels; False for 1-D input.
    """

    matrix: Csr
    classes: NDArray[Any] | None = None
    dense: bool = False
    multilabel: bool = True

    def in_columns_of(self, classes: NDArray[Any]) -> Csr:
        """Return the matrix with the columns of given classes, then those of other classes.

        Parameters
        ----------
        classes : ndarray
            Classes or label names, in increasing order.
        """
        own = np.arange(self.matrix.shape[1]) if self.classes is None else self.classes
        place = np.minimum(np.searchsorted(classes, own), max(0, len(classes) - 1))
        known = classes[place] == own
        columns = np.where(known, place, len(classes) + np.cumsum(~known) - 1)
        indptr, indices, data = self.matrix.indptr, self.matrix.indices, self.matrix.data
        shape = (self.matrix.shape[0], len(classes) + int(np.count_nonzero(~known)))
        moved = sparse.csr_array((data, columns[indices].astype(np.int32), indptr), shape=shape)
        return canonical_csr(moved, name="Y")


def require_labels(estimator: BaseEstimator, Y: LabelsLike) -> None:
    """Raise ValueError with the message of scikit-learn if Y is None."""
    if Y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, "
            "but the target y is None."
        )


def check_labels(
    Y: LabelsLike, *, n_rows: int, n_labels: int | None = None, names: bool = False
) -> Labels:
    """Return validated labels.

    Parameters
    ----------
    Y : sparse or dense indicator matrix, sequence of label-id lists, or 1-D classes
        The labels of ``n_rows`` points; data frames and series are accepted in place of
        matrices and sequences. Lists of equal length that contain only 0 and 1, at least one
        of them with a repeated value, are rows of an indicator matrix.
    n_rows : int
        Number of points.
    n_labels : int, optional
        Number of labels, for label lists; default: the largest id plus one.
    names : bool, default=False
        Whether lists of label names are accepted; the sorted names are the columns.
    """
    Y = plain_labels(Y)
    if sparse.issparse(Y) or (isinstance(Y, np.ndarray) and Y.ndim == 2 and Y.shape[1] != 1):
        matrix = check_matrix(Y, name="Y")
        if matrix.nnz and not np.all(matrix.data == 1.0):
            bad = float(matrix.data[matrix.data != 1.0][0])
            raise ValueError(f"Y must contain only 0 and 1, got {bad:g}")
        labels = Labels(matrix, dense=not sparse.issparse(Y))
    elif is_list_of_lists(Y) and has_names(Y):
        if not names:
            raise ValueError("Y must contain label ids here, got label names")
        matrix, found = named_matrix(names_of_lists(Y))
        labels = Labels(matrix, np.array([*found, None], dtype=object)[:-1])
    elif is_list_of_lists(Y) and not is_indicator(Y):
        labels = Labels(_from_lists(Y, n_labels))
    elif is_list_of_lists(Y):
        return check_labels(np.asarray(Y), n_rows=n_rows)
    else:
        classes = column_or_1d(Y, warn=True)
        check_classes(classes)
        check_classification_targets(classes)
        distinct, codes = np.unique(classes, return_inverse=True)
        ones = np.ones(len(codes), dtype=np.float32)
        rows = np.arange(len(codes) + 1, dtype=np.int32)
        matrix = sparse.csr_array((ones, codes.astype(np.int32), rows), (len(codes), len(distinct)))
        labels = Labels(matrix, distinct, dense=True, multilabel=False)
    if labels.matrix.shape[0] != n_rows:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"X has {n_rows} points, Y has {labels.matrix.shape[0]}"
        )
    return labels


def _from_lists(Y: Sequence[Any], n_labels: int | None) -> Csr:
    rows = ids_of_lists(Y)
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=indptr[1:])
    ids = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
    if ids.size and ids.min() < 0:
        raise ValueError(f"Y must contain label ids >= 0, got {ids.min()}")
    largest = int(ids.max()) + 1 if ids.size else 0
    if n_labels is not None and largest > n_labels:
        raise ValueError(f"Y must contain label ids below {n_labels}, got {largest - 1}")
    shape = (len(rows), largest if n_labels is None else n_labels)
    return canonical_csr(
        sparse.csr_array((np.ones(len(ids), dtype=np.float32), ids, indptr), shape), name="Y"
    )
