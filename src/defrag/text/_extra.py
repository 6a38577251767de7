"""Dense features of texts that the user computes, such as embeddings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from defrag.typing import Csr

__all__ = ["Extra", "append_columns", "extra_rows"]

Extra: TypeAlias = Callable[[list[str]], Any]
"""Takes m texts, returns an array of shape (m, n_extra)."""


def extra_rows(extra: Extra, texts: list[str], weight: float, n_columns: int | None = None) -> Any:
    """Compute extra features and scale each row to length ``weight``; zero rows stay zero.

    Raises
    ------
    ValueError
        If the result is not a finite array of one row per text and ``n_columns`` columns.
    """
    if not callable(extra):
        raise ValueError(  # noqa: TRY004 - as every other bad parameter
            f"extra must be a function of a list of texts, got {extra!r}"
        )
    found = np.asarray(extra(list(texts)))
    if found.ndim != 2 or found.shape[0] != len(texts) or found.dtype.kind not in "fiub":
        raise ValueError(
            f"extra must return an array of numbers of shape ({len(texts)}, n_extra), got "
            f"{found.dtype} of shape {found.shape}"
        )
    if not found.shape[1] or n_columns not in {None, found.shape[1]}:
        wanted = "at least 1" if n_columns is None else n_columns
        raise ValueError(f"extra must return {wanted} columns, got {found.shape[1]}")
    if not np.isfinite(found).all():
        raise ValueError("extra must return finite numbers")
    values = found.astype(np.float64)
    largest = np.abs(values).max(axis=1, keepdims=True)
    values /= np.where(largest > 0, largest, 1.0)  # squares must not overflow
    length = np.sqrt((values * values).sum(axis=1, keepdims=True))
    return np.float32(weight * values / np.where(length > 0, length, 1.0))


def append_columns(X: Csr, block: Any) -> Csr:
    """Append dense columns to a sparse matrix."""
    joined = sparse.hstack([X, sparse.csr_array(block)], format="csr", dtype=np.float32)
    result = sparse.csr_array(joined)
    result.has_canonical_format = True
    return result
