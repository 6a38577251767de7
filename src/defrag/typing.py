"""Type aliases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Ids: TypeAlias = NDArray[np.int32]
"""Identifiers: features, labels, groups, nodes."""

Offsets: TypeAlias = NDArray[np.int64]
"""Positions in arrays that may be longer than 2^31."""

Floats: TypeAlias = NDArray[np.float32]
"""Values, weights and scores."""

Csr: TypeAlias = sparse.csr_array
"""A canonical sparse matrix: sorted, without duplicates, float32."""

MatrixLike: TypeAlias = Any
"""X as passed by users: a scipy sparse matrix or array, a dense array, a data frame."""

LabelsLike: TypeAlias = Any
"""Y as passed by users: an indicator matrix, label lists, or one class per point."""

Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None
"""Values of random_state."""

Progress: TypeAlias = Callable[[float], None]
"""Called repeatedly with the fraction of the work that is done."""
