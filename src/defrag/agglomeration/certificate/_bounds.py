"""Bounds of the certificate, computed for blocks of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from defrag.agglomeration._groups import CutRows, membership
from defrag.agglomeration.certificate._tied import BLOCK, mean_operator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from defrag.typing import Csr, Ids

__all__ = ["Geometry", "Level", "frobenius_spreads", "spectral_spreads"]

Level: TypeAlias = Literal["residual", "spectral", "frobenius"]

# The eigenvalue problem of a group is cubic in its size.
_LARGEST_SPECTRAL = 2048
# Below this fraction of non-zeros a sparse product is faster than a dense one.
_MAX_SPARSE_DENSITY = 0.1
# Number of features per Gram matrix; its products between groups are wasted.
_FEATURES_AT_A_TIME = 256


class Geometry:
    """Norms of X and its groups that the bounds need, computed once for all labels."""

    def __init__(
        self, X: Csr, groups: Ids, n_clusters: int, *, cut: CutRows, operator: Any, level: Level
    ) -> None:
        self.level, self.n_clusters = level, n_clusters
        # Only the residual bound scores rows by group; the other bounds score whole rows.
        self.scored = cut if level == "residual" else _whole_rows(X)
        self.least_squares, self.mean = operator, mean_operator(groups, n_clusters)
        self.sums = membership(groups, n_clusters)
        _, squares = cut.pooled(n_clusters)
        self.pooled_norms = np.sqrt(squares)
        self.row_starts = np.flatnonzero(np.diff(self.scored.row, prepend=-1))
        self.dropped = np.flatnonzero(groups < 0)
        column_squares = np.bincount(
            X.indices, X.data.astype(np.float64) ** 2, minlength=X.shape[1]
        ).astype(np.float64)
        self.dropped_norms = np.sqrt(column_squares[self.dropped])
        self.spreads = frobenius_spreads(groups, n_clusters, column_squares, squares)
        if level == "spectral":
            self.spreads = spectral_spreads(X, groups, n_clusters, self.spreads)

    def measure(
        self, weights: NDArray[np.float64], tied: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the change, the worst change of a score, and the bound for a block of labels."""
        moved: Any = weights - self.sums.T @ tied
        n_labels = weights.shape[1]
        if np.count_nonzero(moved) <= _MAX_SPARSE_DENSITY * moved.size:
            moved = sparse.csr_array(moved)
        squares = np.zeros(n_labels)
        worst = np.zeros(n_labels)
        residual = np.zeros((self.n_clusters + 1, n_labels))
        for first, last in self._part_blocks(n_labels):
            scores = self.scored.parts[first:last] @ moved
            by_row = scores
            if self.level == "residual":
                to_group = _sum_by(self.scored.group[first:last], self.n_clusters + 1)
                residual += to_group @ _square(scores)
                row = self.scored.row[first:last] - self.scored.row[first]
                by_row = _sum_by(row, int(row[-1]) + 1) @ scores
            squares += _reduce_columns(np.add, _square(by_row), n_labels)
            worst = np.maximum(worst, _reduce_columns(np.maximum, abs(by_row), n_labels))
        if self.level == "residual":
            bound = np.sqrt(residual).sum(axis=0)
        else:
            bound = self._spread_bound(weights, tied)
        return np.sqrt(squares), worst, bound

    def _spread_bound(
        self, weights: NDArray[np.float64], tied: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        mean = self.mean @ weights
        centred = weights - self.sums.T @ mean
        spread = np.sqrt(self.sums @ (centred * centred)) * self.spreads[:, None]
        norms = self.pooled_norms[:, None]
        # Two bounds for an arbitrary tied weight: from the mean by the triangle inequality,
        # and from the least-squares weight by orthogonality; the smaller one counts.
        by_mean = spread + np.abs(tied - mean) * norms
        by_least_squares = np.hypot(spread, (tied - self.least_squares @ weights) * norms)
        bound = np.minimum(by_mean, by_least_squares).sum(axis=0)
        lost = self.dropped_norms @ np.abs(weights[self.dropped])
        return np.asarray(bound + lost)

    def _part_blocks(self, n_labels: int) -> Iterator[tuple[int, int]]:
        """Yield blocks of parts of bounded size that end at the end of a row."""
        n_parts = len(self.scored.row)
        ends = np.append(self.row_starts[1:], n_parts)
        size = max(1, BLOCK // max(1, n_labels))
        first = 0
        while first < n_parts:
            last_fitting = int(np.searchsorted(ends, first + size, side="right")) - 1
            next_end = int(np.searchsorted(ends, first, side="right"))
            last = int(ends[max(last_fitting, next_end)])
            yield first, last
            first = last


def _whole_rows(X: Csr) -> CutRows:
    rows = np.arange(X.shape[0])
    return CutRows(X.astype(np.float64), rows, np.zeros_like(rows))


def _sum_by(target: NDArray[Any], n_targets: int) -> sparse.csr_array:
    """Return the matrix that sums rows by their target."""
    n_rows = len(target)
    by_column = sparse.csc_array(
        (np.ones(n_rows), target, np.arange(n_rows + 1)), shape=(n_targets, n_rows)
    )
    # As CSR, because a product with a CSC matrix would convert the other, larger factor.
    return by_column.tocsr()


def _square(matrix: Any) -> Any:
    if isinstance(matrix, np.ndarray):
        return matrix * matrix
    # power() would sort the indices first.
    return sparse.csr_array((matrix.data**2, matrix.indices, matrix.indptr), matrix.shape)


def _reduce_columns(reduce: np.ufunc, matrix: Any, n_columns: int) -> NDArray[np.float64]:
    """Return the reduction of each column of a non-negative matrix."""
    if isinstance(matrix, np.ndarray):
        return np.asarray(reduce.reduce(matrix, axis=0))
    result = np.zeros(n_columns)
    entries = matrix.tocsr()
    reduce.at(result, entries.indices, entries.data)
    return result


def frobenius_spreads(
    groups: Ids,
    n_clusters: int,
    column_squares: NDArray[np.float64],
    pooled_squares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the Frobenius norm of the centred columns of each group."""
    kept = groups >= 0
    total = np.bincount(groups[kept], column_squares[kept], minlength=n_clusters)
    sizes = np.bincount(groups[kept], minlength=n_clusters)
    # Rounding can make the difference slightly negative if the columns are equal.
    return np.sqrt(np.maximum(total - pooled_squares / np.maximum(sizes, 1), 0.0))


def spectral_spreads(
    X: Csr, groups: Ids, n_clusters: int, frobenius: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the largest singular value of the centred columns of each group.

    For a group of more than 2,048 features, the Frobenius norm is returned, which is
    never smaller.
    """
    spreads = frobenius.copy()
    sizes = np.bincount(groups[groups >= 0], minlength=n_clusters)
    spreads[sizes == 1] = 0.0
    wanted = np.flatnonzero((sizes > 1) & (sizes <= _LARGEST_SPECTRAL))
    order = np.argsort(groups, kind="stable")
    ends = np.searchsorted(groups[order], np.arange(n_clusters), side="right")
    columns = X.tocsc().astype(np.float64)
    for batch in _batches(wanted, sizes[wanted]):
        members = np.concatenate([order[ends[k] - sizes[k] : ends[k]] for k in batch])
        chosen = columns[:, members]
        products = (chosen.T @ chosen).toarray()
        first = 0
        for k in batch:
            last = first + sizes[k]
            gram = products[first:last, first:last]
            # Centring the rows and columns of the Gram matrix centres the columns of X.
            gram = gram - gram.mean(axis=0)
            gram = gram - gram.mean(axis=1, keepdims=True)
            largest = float(np.linalg.eigvalsh(gram)[-1])
            spreads[k] = min(spreads[k], np.sqrt(max(largest, 0.0)))
            first = last
    return spreads


def _batches(groups: NDArray[Any], sizes: NDArray[Any]) -> Iterator[NDArray[Any]]:
    number = np.cumsum(sizes) // _FEATURES_AT_A_TIME
    for batch in np.split(groups, np.flatnonzero(np.diff(number)) + 1):
        if len(batch):
            yield batch
