"""One-line error messages for an X that is not a matrix of finite numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from defrag.typing import Csr, LabelsLike, MatrixLike

__all__ = ["explain_features", "look_swapped", "refuse_types"]

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
        return _in_one_line(error)
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
        entries = matrix.tocoo()
        values, rows, columns = entries.data, entries.row, entries.col
    else:
        try:
            given = np.asarray(X)
            if given.ndim != 2 or given.dtype.kind == "c":
                return None
            values = given.astype(np.float64)
        except (TypeError, ValueError):
            return None
        rows, columns = np.indices(values.shape)
    if values.dtype.kind != "f":
        return None
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(values.astype(np.float32)).ravel())
    if not len(bad):
        return None
    first = bad[0]
    return float(values.ravel()[first]), int(rows.ravel()[first]), int(columns.ravel()[first])


def _length(row: Any) -> int:
    return len(row) if hasattr(row, "__len__") and not isinstance(row, str) else -1


def _short(text: str | bytes) -> str:
    return repr(text) if len(text) <= 30 else f"{text[:27]!r}..."
