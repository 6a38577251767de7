"""Bits of anything: what two models or answers must share to count as the same."""

from dataclasses import fields, is_dataclass
from enum import Enum

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator


def bits(value):  # noqa: PLR0911 - one per type
    """Return something comparable that differs where a type, a shape or a bit differs."""
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return "objects", value.shape, [bits(one) for one in value.ravel()]
        return value.dtype.str, value.shape, value.tobytes()
    if sparse.issparse(value):
        rows = sparse.csr_array(value)
        return value.format, value.shape, *map(bits, (rows.indptr, rows.indices, rows.data))
    if isinstance(value, BaseEstimator):
        return type(value).__name__, bits(vars(value))
    if is_dataclass(value):
        return type(value).__name__, [bits(getattr(value, one.name)) for one in fields(value)]
    if type(value).__module__ == "defrag._core" and not isinstance(value, Enum):
        names = [name for name in dir(value) if not name.startswith("_")]
        found = {name: getattr(value, name) for name in names}
        return type(value).__name__, bits({n: one for n, one in found.items() if not callable(one)})
    if isinstance(value, dict):
        return {name: bits(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [bits(one) for one in value]
    if isinstance(value, (float, np.floating)):
        return type(value).__name__, float(value).hex()
    return type(value).__name__, repr(value)
