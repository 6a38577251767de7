"""The vocabulary of types: what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["Csr", "Floats", "Ids", "LabelsLike", "MatrixLike", "Offsets", "Progress", "Seed"]

Ids: TypeAlias = NDArray[np.int32]
"""Identifiers: features, labels, groups, nodes."""

Offsets: TypeAlias = NDArray[np.int64]
"""Positions in arrays that may be longer than 2^31."""

Floats: TypeAlias = NDArray[np.float32]
"""Values, weights and scores."""

Csr: TypeAlias = sparse.csr_array
"""A canonical sparse matrix: sorted, without duplicates, float32."""

MatrixLike: TypeAlias = Any
"""What a user may pass as X: any scipy sparse matrix or array, a dense array, a data frame."""

LabelsLike: TypeAlias = Any
"""What a user may pass as Y: an indicator matrix, label lists, or one class per point."""

Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None
"""What a user may pass as random_state."""

Progress: TypeAlias = Callable[[float], None]
"""Called now and then with the share of the work that is done."""

LabelLists: TypeAlias = Sequence[Sequence[int]]
