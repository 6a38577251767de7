"""Validation of user input: matrices, labels, seeds.

Every public method calls this once; what comes after it believes its input. Validated matrices are
canonical CSR (sorted, no duplicates, float32, indices in range, all values finite); validated
labels are a 0/1 CSR matrix with the same number of rows. An error is one line with the rule, the
value and the place; those of scikit-learn, which recommend its own estimators, are replaced.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from defrag import _native
from defrag._native import KernelRows
from defrag.typing import Csr, Ids, LabelsLike, MatrixLike, Seed

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

# --- Matrices.

_FEW_ROWS = 64
_KERNEL_FORMS = frozenset({sparse.csr_array, sparse.csr_matrix})


def check_features(estimator: BaseEstimator, X: MatrixLike, *, reset: bool) -> Csr:
    """Return the validated X of an estimator; ``reset`` is True in ``fit``."""
    canonical = _canonical_or_none(estimator, X, reset=reset)
    if canonical is not None:
        return canonical
    from sklearn.utils.validation import validate_data  # noqa: PLC0415 - slow to import

    refuse_types(X)
    refuse_broken(X, name="X")
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


def check_rows(estimator: BaseEstimator, X: MatrixLike, *, few: bool) -> Csr | KernelRows:
    """Return the validated X of a fitted estimator, ``few`` rows as the kernels have them.

    Then a single row passes from kernel to kernel: a scipy matrix would take longer than a search.
    """
    if few and type(X) in _KERNEL_FORMS and "feature_names_in_" not in estimator.__dict__:
        rows = _native.kernel_rows(X, estimator.__dict__["n_features_in_"], _FEW_ROWS)
        if rows is not None:
            return rows
    return check_features(estimator, X, reset=False)


def _canonical_or_none(estimator: BaseEstimator, X: MatrixLike, *, reset: bool) -> Csr | None:
    """Return the validated X of an estimator if it is canonical, otherwise None."""
    known = estimator.__dict__
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or 0 in shape or not (reset or shape[1] == known.get("n_features_in_")):
        return None
    clean = None if "feature_names_in_" in known else _clean_or_none(X)
    if reset and clean is not None:
        estimator.n_features_in_ = shape[1]
    return clean


def _clean_or_none(X: MatrixLike) -> Csr | None:
    """Return X with converted types if it is valid and canonical, otherwise None.

    The general checks import scikit-learn, and for a single row take several times as long as the
    prediction. They are run only on a matrix that fails here, and raise the error.
    """
    if type(X) not in {sparse.csr_array, sparse.csr_matrix, np.ndarray}:
        return None
    if len(X.shape) != 2 or X.dtype.kind not in "fiub":
        return None
    if type(X) is np.ndarray:
        with np.errstate(over="ignore"):
            X = sparse.csr_array(X.astype(np.float32))
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


def check_matrix(X: MatrixLike, *, name: str) -> Csr:
    """Return a validated matrix other than the X of an estimator; errors refer to ``name``."""
    matrix = _clean_or_none(X)
    if matrix is not None:
        return matrix
    from sklearn.utils.validation import check_array  # noqa: PLC0415 - slow to import

    refuse_broken(X, name=name)
    checked = check_array(
        X, accept_sparse="csr", dtype=np.float32, accept_large_sparse=True, ensure_min_samples=0,
        ensure_min_features=0, input_name=name,
    )  # fmt: skip
    return canonical_csr(checked, name=name)


def refuse_broken(X: Any, *, name: str) -> None:
    """Raise ValueError for a sparse matrix with indices that lead outside of its arrays.

    scipy trusts them: with wrong ones, converting, transposing or adding matrices reads and
    writes memory at random. So this comes before anything else is done with a matrix.
    """
    form = getattr(X, "format", None) if sparse.issparse(X) else None
    if form in {"csr", "csc", "bsr"}:
        height, width = X.blocksize if form == "bsr" else (1, 1)
        sizes = {"row": X.shape[0] // height, "column": X.shape[1] // width}
        line, place = ("column", "row") if form == "csc" else ("row", "column")
        ends = X.indptr
        rises = ends.dtype.kind in "iu" and len(ends) == sizes[line] + 1 and ends[0] == 0
        if not rises or ends[-1] > len(X.indices) or not np.all(ends[:-1] <= ends[1:]):
            raise ValueError(
                f"{name} is a broken sparse matrix: its {line} pointers do not increase to nnz"
            )
        places = {place: X.indices[: ends[-1]]}
    elif form == "coo" and X.ndim == 2:
        sizes = dict(zip(("row", "column"), X.shape, strict=True))
        places = {"row": X.row, "column": X.col}
    else:
        return
    if any(len(indices) > len(X.data) for indices in places.values()):
        raise ValueError(f"{name} is a broken sparse matrix: it has more indices than values")
    for noun, indices in places.items():
        if len(indices) and not 0 <= indices.min() <= indices.max() < sizes[noun]:
            raise ValueError(
                f"{name} is a broken sparse matrix: a {noun} index is outside [0, {sizes[noun]})"
            )


def canonical_csr(X: Any, *, name: str) -> Csr:
    """Return a sparse or dense matrix as canonical CSR; the input is not modified."""
    refuse_broken(X, name=name)
    matrix = sparse.csr_array(X)
    if matrix.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"{name} must have fewer than 2**31 columns, got {matrix.shape[1]}")
    state = _native.inspect_csr(
        np.ascontiguousarray(matrix.indptr, dtype=np.int64),
        np.ascontiguousarray(matrix.indices, dtype=np.int32),
        n_cols=matrix.shape[1],
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
        with np.errstate(over="ignore"):  # callers refuse what is not finite
            matrix = matrix.astype(np.float32)
    if state == _native.CsrState.unsorted and not np.isfinite(matrix.data).all():
        raise _overflow(X, name) or ValueError(f"{name} must contain finite numbers")
    return matrix


def _overflow(X: Any, name: str) -> ValueError | None:
    """Return the error if entries of the same place add up to more than a float can hold."""
    summed = sparse.csr_array(X, copy=True)
    summed.sum_duplicates()
    if np.iscomplexobj(summed.data):  # which is refused by the general check
        return None
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(np.isinf(summed.data.astype(np.float32)))
    if not len(bad):
        return None
    row = int(np.searchsorted(summed.indptr, bad[0], side="right")) - 1
    return ValueError(
        f"{name} must contain finite numbers, but the entries of row {row}, column "
        f"{summed.indices[bad[0]]} add up to infinity"
    )


# --- Labels.


@dataclass(frozen=True)
class Labels:
    """Validated labels.

    - ``matrix``: the labels as a 0/1 matrix.
    - ``classes``: the classes of the columns for 1-D input, or the label names for lists of names.
    - ``dense``: whether the input was a dense indicator matrix or classes.
    - ``multilabel``: whether a point may have any number of labels; False for 1-D input.
    """

    matrix: Csr
    classes: NDArray[Any] | None = None
    dense: bool = False
    multilabel: bool = True

    def in_columns_of(self, classes: NDArray[Any]) -> Csr:
        """Return the matrix with the columns of given classes, then those of other classes."""
        own = np.arange(self.matrix.shape[1]) if self.classes is None else self.classes
        order = np.argsort(classes, kind="stable")
        place = np.searchsorted(classes, own, sorter=order)
        place = order[np.minimum(place, max(0, len(classes) - 1))]
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

    - ``Y``: the labels of ``n_rows`` points; data frames and series are accepted in place of
      matrices and sequences. Lists of equal length that contain only 0 and 1, at least one of them
      with a repeated value, are rows of an indicator matrix.
    - ``n_labels``: number of labels, for label lists; default: the largest id plus one.
    - ``names``: whether lists of label names are accepted; the sorted names are the columns.
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
        from sklearn.utils import column_or_1d  # noqa: PLC0415 - slow to import
        from sklearn.utils.multiclass import check_classification_targets  # noqa: PLC0415

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
    indptr = np.cumsum([0, *map(len, rows)])
    ids = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
    if ids.size and ids.min() < 0:
        raise ValueError(f"Y must contain label ids >= 0, got {ids.min()}")
    largest = int(ids.max()) + 1 if ids.size else 0
    if n_labels is None and too_wide(largest, len(ids)):
        raise ValueError(
            f"Y must contain label ids in proportion to their number, got {largest - 1} among "
            f"{len(ids)}: pass a sparse matrix if there are so many labels"
        )
    if n_labels is not None and largest > n_labels:
        raise ValueError(f"Y must contain label ids below {n_labels}, got {largest - 1}")
    shape = (len(rows), largest if n_labels is None else n_labels)
    return canonical_csr(
        sparse.csr_array((np.ones(len(ids), dtype=np.float32), ids, indptr), shape), name="Y"
    )


# A width without entries costs memory in every model, and one wrong id is enough for it.
FREE_COLUMNS = 1 << 24
_COLUMNS_PER_ENTRY = 1024


def too_wide(n_columns: int, n_entries: int, *, free: int = FREE_COLUMNS) -> bool:
    """Return whether a matrix has too many columns for its entries to be intended."""
    return n_columns > max(free, _COLUMNS_PER_ENTRY * n_entries)


def named_matrix(
    rows: Iterable[Iterable[Any]], names: list[Any] | None = None
) -> tuple[Csr, list[Any]]:
    """Return the 0/1 matrix of the names, or numbers, in each row, and those of its columns.

    - ``names``: the names of the columns; default: all names in the rows, sorted.
    """
    lists = [row if type(row) is list else list(row) for row in rows]
    found = _native.number_names(lists) if names is None else None
    if found is None:
        flat = [name for row in lists for name in row]
        names = sorted(set(flat)) if names is None else names
        numbers = {name: number for number, name in enumerate(names)}
        indices = np.fromiter(map(numbers.__getitem__, flat), dtype=np.int32, count=len(flat))
        indptr = np.append(0, np.cumsum([len(row) for row in lists], dtype=np.int64))
    else:
        names, indices, indptr = found
    ones = np.ones(len(indices), dtype=np.float32)
    matrix = sparse.csr_array((ones, indices, indptr), shape=(len(lists), len(names)))
    matrix.sum_duplicates()  # a row may repeat a name
    matrix.data[:] = 1.0
    return matrix, names


# --- The forms in which labels are passed.

LISTS = (list, tuple, set, frozenset, np.ndarray)
"""Types of the labels of one point, if it may have several."""


def plain_labels(Y: LabelsLike) -> LabelsLike:
    """Return a data frame as an array, and a series or object array of lists as a list."""
    if sparse.issparse(Y):
        return Y
    if hasattr(Y, "sparse") and hasattr(Y, "columns") and _all_sparse(Y):
        return Y.sparse.to_coo()
    if hasattr(Y, "to_numpy"):
        Y = Y.to_numpy()
    if isinstance(Y, np.ndarray) and Y.ndim == 2 and Y.shape[1] != 1 and _is_text(Y):
        return [list(row) for row in Y]
    if isinstance(Y, np.ndarray) and Y.dtype == object:
        if Y.ndim == 1 and len(Y) and all(isinstance(row, LISTS) for row in Y):
            return list(Y)
        if Y.ndim == 2 and Y.shape[1] != 1:  # a data frame with mixed types
            try:
                return Y.astype(np.float64)
            except (TypeError, ValueError):
                bad = next(v for v in Y.ravel() if not isinstance(v, (int, float, np.number)))
                raise ValueError(f"Y must contain only 0 and 1, got {bad!r}") from None
    return Y


def _is_text(Y: NDArray[Any]) -> bool:
    """Return whether all values are strings."""
    return Y.dtype.kind == "U" or (
        Y.dtype == object and Y.size > 0 and all(isinstance(value, str) for value in Y.ravel())
    )


def _all_sparse(frame: Any) -> bool:
    return all(hasattr(kind, "fill_value") and kind.fill_value == 0 for kind in frame.dtypes)


def is_list_of_lists(Y: LabelsLike) -> bool:
    """Return whether Y is a sequence of sequences."""
    return isinstance(Y, (list, tuple)) and all(isinstance(row, LISTS) for row in Y)


def is_indicator(Y: Sequence[Any]) -> bool:
    """Return whether lists are rows of an indicator matrix, because they cannot be label ids."""
    if not len(Y) or len({len(row) for row in Y}) != 1:
        return False
    values = np.asarray([list(row) for row in Y])
    if values.dtype.kind not in "iufb" or values.shape[1] < 2:
        return False
    is_binary = bool(np.isin(values, (0, 1)).all())
    return is_binary and bool(
        (values.min(axis=1) == values.max(axis=1)).any() or values.shape[1] > 2
    )


def has_names(Y: Sequence[Any]) -> bool:
    """Return whether any list contains a string."""
    return any(isinstance(label, str) for row in Y for label in row)


def names_of_lists(Y: Sequence[Any]) -> list[list[str]]:
    """Return validated lists of label names.

    Raises ValueError if a name is not a string, or is empty.
    """
    for number, row in enumerate(Y):
        for name in row:
            if not isinstance(name, str):
                raise ValueError(  # noqa: TRY004 - as for all invalid values
                    "Y must contain all label names or all label ids, "
                    f"got {name!r} in row {number} among names"
                )
            if not name:
                raise ValueError(f"label names must not be empty, got one in row {number}")
    return [[str(name) for name in row] for row in Y]


def check_classes(classes: NDArray[Any]) -> None:
    """Raise ValueError if a class looks like a list of names or is not finite."""
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError("Y must be finite, got NaN or infinity")
    if classes.dtype.kind in "UO":
        for number, name in enumerate(classes):
            missing = name is None or type(name).__name__ in {"NAType", "NaTType"}
            missing = missing or (isinstance(name, float) and math.isnan(name))
            if missing or isinstance(name, dict):
                raise ValueError(
                    f"Y must contain classes or lists of labels, got {name!r:.60} in row {number}"
                )
            if isinstance(name, str) and "," in name:
                raise ValueError(
                    f"Y must contain a list of names per point, got {str(name)!r} in row {number}: "
                    'split it, as in name.split(","), or pass [name] if it is one label'
                )


def ids_of_lists(Y: Sequence[Any]) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    """Return the distinct label ids of each list, in increasing order."""
    rows = []
    for number, row in enumerate(Y):
        ids = np.asarray(list(row))
        if ids.ndim != 1:
            raise ValueError(
                f"Y must contain a list of label ids per point, got {row!r:.60} in row {number}"
            )
        if ids.size and ids.dtype.kind not in "iu":
            hint = ": turn ids into int, or pass names as str" if ids.dtype.kind == "f" else ""
            raise ValueError(
                f"Y must contain label ids, got {ids.tolist()[0]!r} in row {number}{hint}"
            )
        rows.append(np.unique(ids.astype(np.int64)))
    return rows


# --- Groups of features.


def check_groups(
    groups: ArrayLike, *, n_features: int | None = None, n_clusters: int | None = None
) -> tuple[Ids, int]:
    """Return the validated group of each feature and the number of groups.

    - ``groups``: the group of each feature, or -1 for dropped features.
    - ``n_clusters``: number of groups, including empty ones; default: the largest id plus one.
    """
    ids = np.asarray(groups)
    if ids.ndim != 1 or not (ids.dtype.kind in "iu" or ids.size == 0):
        raise ValueError(f"groups must be a 1-D array of ints, got {ids.ndim}-D of {ids.dtype}")
    if n_features is not None and len(ids) != n_features:
        raise ValueError(
            f"groups must have one group for each feature: {n_features}, got {len(ids)}"
        )
    if ids.size and int(ids.min()) < -1:
        raise ValueError(f"groups must be >= 0, or -1 to drop, got {ids.min()}")
    largest = int(ids.max()) if ids.size else -1
    if largest >= np.iinfo(np.int32).max:
        raise ValueError(f"groups must be below 2**31 - 1, got {largest}")
    if n_clusters is None:
        n_clusters = largest + 1
    elif largest >= n_clusters:
        raise ValueError(f"groups must be below n_clusters ({n_clusters}), got {largest}")
    return np.ascontiguousarray(ids, dtype=np.int32), n_clusters


# --- Seeds.


def check_seed(random_state: Seed) -> int:
    """Return a 63-bit seed: a given int, a random one for None, or one drawn from a generator."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        if not 0 <= int(random_state) < 2**63:
            raise ValueError(f"random_state must be in [0, 2**63), got {random_state!r}")
        return int(random_state)
    source: Any = random_state
    if source is None:
        source = np.random.mtrand._rand  # noqa: SLF001 - that of np.random.seed, as in scikit-learn
    elif not isinstance(source, np.random.RandomState):
        from sklearn.utils import check_random_state  # noqa: PLC0415 - slow to import

        source = check_random_state(source)
    return int(source.randint(2**31 - 1))


# --- Messages for an X that is not a matrix of finite numbers.

_HINT = "turn text into features first with TextVectorizer, or use TextClassifier"


def explain_features(X: MatrixLike, error: ValueError) -> ValueError:
    """Return the error to raise after scikit-learn has rejected X with ``error``.

    It is ``error`` itself unless there is a more specific message.
    """
    place = _first_not_finite(X)
    if place is not None:
        value, row, column = place
        shown = "NaN" if np.isnan(value) else f"infinity ({value})"
        return ValueError(
            f"X must contain finite numbers, got {shown} in row {row}, column {column}"
        )
    if sparse.issparse(X):
        return _overflow(X, "X") or _in_one_line(error)
    if isinstance(X, (list, tuple)) and len({_length(row) for row in X}) > 1:
        return ValueError("X must be a matrix, got rows of different lengths: are X and Y swapped?")
    values = np.asarray(X, dtype=object)
    text = next((v for v in values.ravel()[:10_000] if isinstance(v, (str, bytes))), None)
    if text is not None:
        return ValueError(f"X must contain numbers, got {_short(text)}: {_HINT}")
    if values.ndim != 2:
        return ValueError(
            f"X must be a 2-D matrix, got {values.ndim}-D of shape {values.shape}. Reshape your "
            "data: X.reshape(1, -1) is a single point"
        )
    return _in_one_line(error)


def refuse_types(X: MatrixLike) -> None:
    """Raise ValueError for arrays that scikit-learn would silently turn into other numbers."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError("X must not have masked values: fill them first, as in X.filled(0)")
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in ("m", "M"):
        raise ValueError(f"X must contain numbers, got {X.dtype}")


def _in_one_line(error: ValueError) -> ValueError:
    """Return the error without the numbers that scikit-learn prints if they are complex."""
    first, *more = str(error).splitlines() or [""]
    return ValueError(f"X is refused: {first}") if more else error


def look_swapped(X: Csr, Y: LabelsLike) -> bool:
    """Return whether X looks like labels, and the rejected Y like features."""
    is_matrix = sparse.issparse(Y) or getattr(Y, "ndim", 1) == 2
    return is_matrix and X.nnz > 0 and bool(np.all(X.data == 1.0))


def _first_not_finite(X: Any) -> tuple[float, int, int] | None:
    matrix: Any = X
    if sparse.issparse(X):
        entries: Any = matrix.tocoo()
    else:
        try:
            given = np.asarray(X)
            if given.ndim != 2 or given.dtype.kind == "c":
                return None
            entries = sparse.coo_array(given.astype(np.float64))
        except (TypeError, ValueError):
            return None
    values = entries.data
    if values.dtype.kind != "f":
        return None
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(values.astype(np.float32)))
    if not len(bad):
        return None
    return float(values[bad[0]]), int(entries.row[bad[0]]), int(entries.col[bad[0]])


def _length(row: Any) -> int:
    return len(row) if hasattr(row, "__len__") and not isinstance(row, str) else -1


def _short(text: str | bytes) -> str:
    return repr(text) if len(text) <= 30 else f"{text[:27]!r}..."
