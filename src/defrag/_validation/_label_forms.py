"""Checks and conversions of the forms in which labels are passed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag.typing import LabelsLike

__all__ = [
    "check_classes",
    "has_names",
    "ids_of_lists",
    "is_indicator",
    "is_list_of_lists",
    "names_of_lists",
    "plain_labels",
]

_LISTS = (list, tuple, set, frozenset, np.ndarray)


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
        if Y.ndim == 1 and len(Y) and all(isinstance(row, _LISTS) for row in Y):
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
    return isinstance(Y, (list, tuple)) and all(isinstance(row, _LISTS) for row in Y)


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

    Raises
    ------
    ValueError
        If a name is not a string, or is empty.
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
            if name is None or isinstance(name, dict):
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
