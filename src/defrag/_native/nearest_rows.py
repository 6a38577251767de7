"""Nearest neighbours among dense rows; see ``cpp/core/nearest_rows.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from defrag import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Floats, Ids

__all__ = ["RowPanels", "nearest_rows"]


@dataclass(frozen=True)
class RowPanels:
    """Dense rows to search among, laid out for the kernel.

    Parameters
    ----------
    lines : ndarray of float32, shape (n_panels, n_columns, 16)
        Panels of sixteen rows, stored by column and padded with zeros.
    n_rows : int
        Number of rows.
    bias : ndarray of float32, shape (n_rows,), optional
        Added to the score of each row; default: zero.
    """

    lines: Floats
    n_rows: int
    bias: Floats | None = None

    @classmethod
    def pack(cls, rows: Floats, bias: Floats | None = None) -> RowPanels:
        """Return the panels of the rows of a matrix."""
        return cls(_core.pack_panels(rows), len(rows), bias)

    def rows(self, numbers: NDArray[np.int64]) -> Floats:
        """Return some rows as a matrix."""
        size = self.lines.shape[2]
        return self.lines[numbers // size, :, numbers % size]

    def unpack(self) -> Floats:
        """Return the rows as a matrix."""
        rows = self.lines.transpose(0, 2, 1).reshape(-1, self.lines.shape[1])
        return np.ascontiguousarray(rows[: self.n_rows])


def nearest_rows(
    queries: Floats,
    rows: RowPanels,
    *,
    n_best: int,
    n_threads: int,
    instructions: _core.Instructions = _core.Instructions.best,
) -> tuple[Ids, Floats]:
    """Return the rows with the highest scores for each query, and their scores."""
    return _core.nearest_rows(
        queries,
        rows.lines,
        n_rows=rows.n_rows,
        bias=rows.bias,
        n_best=n_best,
        instructions=instructions,
        n_threads=n_threads,
    )
