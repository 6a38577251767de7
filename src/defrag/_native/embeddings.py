"""Kernels over dense vectors of points: products, nearest rows, votes of neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from defrag import _core
from defrag._native.arrays import csr_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag._native.arrays import KernelRows
    from defrag.typing import Csr, Floats, Ids

__all__ = ["RowPanels", "nearest_rows", "pair_products", "rank_votes", "sparse_dense"]

PANEL_ROWS = 16
"""Rows that stand side by side in a panel."""


def sparse_dense(
    A: Csr | KernelRows, B: Floats, *, n_threads: int, instructions: str = "best"
) -> Floats:
    """Multiply a sparse matrix by a dense one; see ``cpp/core/sparse_dense.hpp``."""
    out = np.empty((A.shape[0], B.shape[1]), dtype=np.float32)
    dense = np.ascontiguousarray(B, dtype=np.float32)
    _core.sparse_dense(
        csr_parts(A), dense, out, instructions=instructions, n_threads=n_threads, progress=None
    )
    return out


def pair_products(
    pattern: Csr, left: Floats, right: Floats, *, n_threads: int, instructions: str = "best"
) -> Floats:
    """Compute the dot product of the two rows of each entry of a pattern, in its order."""
    out = np.empty(pattern.nnz, dtype=np.float32)
    _core.pair_products(
        csr_parts(pattern),
        np.ascontiguousarray(left, dtype=np.float32),
        np.ascontiguousarray(right, dtype=np.float32),
        out,
        instructions=instructions,
        n_threads=n_threads,
        progress=None,
    )
    return out


@dataclass(frozen=True)
class RowPanels:
    """Dense rows to search among, laid out for the kernel.

    Parameters
    ----------
    lines : ndarray of float32, shape (n_panels, n_columns, 16)
        Sixteen rows a panel, one column after the other; zeros after the last row.
    n_rows : int
        How many rows there are.
    bias : ndarray of float32, shape (n_rows,), optional
        What the score of each row begins with; default: zero.
    """

    lines: Floats
    n_rows: int
    bias: Floats | None = None

    @classmethod
    def pack(cls, rows: Floats, bias: Floats | None = None) -> RowPanels:
        """Lay out the rows of a matrix."""
        rows = np.ascontiguousarray(rows, dtype=np.float32)
        n_panels = -(-len(rows) // PANEL_ROWS)
        lines = np.empty((n_panels, rows.shape[1], PANEL_ROWS), dtype=np.float32)
        _core.pack_panels(rows, lines)
        return cls(lines, len(rows), bias)

    def rows(self, numbers: NDArray[np.int64]) -> Floats:
        """Return some rows as a matrix."""
        return self.lines[numbers // PANEL_ROWS, :, numbers % PANEL_ROWS]

    def unpack(self) -> Floats:
        """Return the rows as a matrix."""
        rows = self.lines.transpose(0, 2, 1).reshape(-1, self.lines.shape[1])
        return np.ascontiguousarray(rows[: self.n_rows])


def nearest_rows(
    queries: Floats, rows: RowPanels, *, n_best: int, n_threads: int, instructions: str = "best"
) -> tuple[Ids, Floats]:
    """Find the rows with the highest scores for each query; see ``cpp/core/nearest_rows.hpp``."""
    ids = np.empty((len(queries), n_best), dtype=np.int32)
    scores = np.empty((len(queries), n_best), dtype=np.float32)
    _core.nearest_rows(
        np.ascontiguousarray(queries, dtype=np.float32),
        rows.lines,
        n_rows=rows.n_rows,
        bias=rows.bias,
        ids=ids,
        scores=scores,
        instructions=instructions,
        n_threads=n_threads,
        progress=None,
    )
    return ids, scores


def rank_votes(
    neighbours: Ids, weights: Floats, Y: Csr, *, k: int, n_threads: int
) -> tuple[Ids, Floats]:
    """Rank the labels of neighbours by the weights of those that have them."""
    labels = np.empty((len(neighbours), k), dtype=np.int32)
    scores = np.empty((len(neighbours), k), dtype=np.float32)
    _core.rank_votes(
        np.ascontiguousarray(neighbours, dtype=np.int32),
        np.ascontiguousarray(weights, dtype=np.float32),
        csr_parts(Y),
        n_labels=Y.shape[1],
        labels=labels,
        scores=scores,
        n_threads=n_threads,
        progress=None,
    )
    return labels, scores
