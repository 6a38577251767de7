"""Memory-mapped arrays."""

from __future__ import annotations

import mmap
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Floats

__all__ = ["is_mapped", "temporary_array"]


def is_mapped(array: NDArray[Any]) -> bool:
    """Return whether an array is a view of a memory-mapped file.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag._mapping import is_mapped, temporary_array
    >>> is_mapped(np.zeros(3)), is_mapped(temporary_array(3)[1:])
    (False, True)
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(owner, mmap.mmap)


def temporary_array(size: int) -> Floats:
    """Return zeros mapped from a temporary file in ``TMPDIR``, which is deleted with the array."""
    if size == 0:
        return np.zeros(0, dtype=np.float32)
    with tempfile.TemporaryFile() as file:
        file.truncate(4 * size)
        # The map has its own file descriptor. A plain array, because slicing np.memmap is slow.
        return np.asarray(np.memmap(file, dtype=np.float32, mode="r+", shape=(size,)))
