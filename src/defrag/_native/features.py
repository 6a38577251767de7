"""Kernels over features and items: sums of groups, vectors, trees, k-means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from defrag import _core
from defrag._native.arrays import KernelRows, csr_from_parts, csr_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr, Floats, Ids, Offsets, Progress

__all__ = [
    "KMeansClusters",
    "Matches",
    "agglomerate",
    "best_matches",
    "column_statistics",
    "feature_rows",
    "fill_empty_rows",
    "min_hash_order",
    "multiply",
    "row_norms",
    "scale_rows",
    "spherical_kmeans",
    "split_items",
    "unit_rows",
]


def agglomerate(
    X: Csr,
    groups: Ids,
    *,
    n_groups: int,
    mean_nonzero: bool,
    scale: Floats | None,
    n_threads: int,
    progress: Progress | None = None,
) -> Csr:
    """Add up the features of each group; see ``cpp/core/agglomeration.hpp``."""
    parts = _core.agglomerate(
        csr_parts(X),
        groups,
        n_groups=n_groups,
        mean_nonzero=mean_nonzero,
        scale=scale,
        n_threads=n_threads,
        progress=progress,
    )
    return csr_from_parts(parts, (X.shape[0], n_groups))


def column_statistics(
    X: Csr, *, n_threads: int, row_lengths: Floats | None = None
) -> tuple[Offsets, NDArray[np.float64]]:
    """Count the rows of each column and add up its squares, rows divided by their lengths."""
    counts, energy = _core.column_statistics(
        csr_parts(X), n_cols=X.shape[1], row_lengths=row_lengths, n_threads=n_threads
    )
    return counts, energy


def row_norms(X: Csr, *, l1: bool, n_threads: int) -> Floats:
    """Give the L1 or L2 norm of each row."""
    return np.asarray(_core.row_norms(csr_parts(X), l1=l1, n_threads=n_threads))


def feature_rows(
    X: Csr,
    *,
    coordinate: Ids,
    n_coords: int,
    wanted: NDArray[np.bool_],
    row_scale: Floats | None,
    n_threads: int,
) -> Csr:
    """Turn columns into rows; see ``cpp/core/representations.hpp``."""
    parts = _core.feature_rows(
        csr_parts(X),
        coordinate=coordinate,
        n_coords=n_coords,
        wanted=wanted.view(np.uint8),
        row_scale=row_scale,
        n_threads=n_threads,
    )
    return csr_from_parts(parts, (X.shape[1], n_coords))


def multiply(A: Csr, B: Csr, *, n_threads: int, max_entries: int = 0) -> Csr:
    """Multiply two sparse matrices; keep the largest entries of each row, 0 for all."""
    parts = _core.multiply(
        csr_parts(A),
        csr_parts(B),
        n_cols=B.shape[1],
        max_entries=max_entries,
        n_threads=n_threads,
    )
    return csr_from_parts(parts, (A.shape[0], B.shape[1]))


def scale_rows(Z: Csr, *, ideal: bool, threshold: float, n_threads: int) -> Csr:
    """Scale rows to length 1, or to ideal DCG 1, and drop small entries."""
    parts = _core.scale_rows(csr_parts(Z), ideal=ideal, threshold=threshold, n_threads=n_threads)
    return csr_from_parts(parts, Z.shape)


def unit_rows(X: Csr, *, n_threads: int) -> KernelRows:
    """Bring rows to length 1 for ``beam_search``; empty rows stay."""
    indptr, indices, data = _core.scale_rows(
        csr_parts(X), ideal=False, threshold=0.0, n_threads=n_threads
    )
    return KernelRows(indptr, indices, data, X.shape)


def fill_empty_rows(first: Csr, second: Csr, *, shift: int, n_threads: int) -> Csr:
    """Take the rows of ``second``, ``shift`` columns on, where those of ``first`` are empty."""
    parts = _core.fill_empty_rows(
        csr_parts(first), csr_parts(second), shift=shift, n_threads=n_threads
    )
    n_cols = max(first.shape[1], second.shape[1] + shift)
    return csr_from_parts(parts, (first.shape[0], n_cols))


def min_hash_order(items: Csr, *, seed: int) -> Ids:
    """Order items so that ties keep together what belongs together."""
    order = _core.min_hash_order(csr_parts(items), n_coords=items.shape[1], seed=seed)
    return np.asarray(order)


def split_items(
    items: Csr,
    *,
    first_child: Ids,
    begin: Offsets,
    end: Offsets,
    ndcg: bool,
    tolerance: float,
    max_iterations: int,
    seed: int,
    starts: Offsets | None,
    n_threads: int,
    progress: Progress | None,
) -> tuple[Ids, NDArray[np.float64], Ids]:
    """Deal items to the leaves of a tree; see ``cpp/core/tree.hpp``."""
    order, objective, n_rounds = _core.split_items(
        csr_parts(items),
        n_coords=items.shape[1],
        first_child=first_child,
        begin=begin,
        end=end,
        ndcg=ndcg,
        tolerance=tolerance,
        max_iterations=max_iterations,
        seed=seed,
        starts=starts,
        n_threads=n_threads,
        progress=progress,
    )
    return order, objective, n_rounds


@dataclass(frozen=True)
class KMeansClusters:
    """What k-means ended with; see ``cpp/core/kmeans.hpp``.

    Parameters
    ----------
    cluster, second : ndarray of int32, shape (n_items,)
        The most and the second most similar centre of each item, -1 for none: no
        similarity above zero.
    objective : float
        Mean similarity of an item to its centre.
    n_rounds : int
        Rounds that it took.
    """

    cluster: Ids
    second: Ids
    objective: float
    n_rounds: int


def spherical_kmeans(
    items: Csr,
    *,
    n_clusters: int,
    tolerance: float = 1e-4,
    max_rounds: int = 100,
    seed: int = 0,
    item: int = 0,
    panel_bytes: int = 1 << 27,
    instructions: str = "best",
    n_threads: int = 1,
    progress: Progress | None = None,
) -> KMeansClusters:
    """Cluster rows of length 1 by their cosines, without any balance."""
    cluster, second, objective, n_rounds = _core.spherical_kmeans(
        csr_parts(items),
        n_coords=items.shape[1],
        n_clusters=n_clusters,
        tolerance=tolerance,
        max_rounds=max_rounds,
        seed=seed,
        item=item,
        panel_bytes=panel_bytes,
        instructions=instructions,
        n_threads=n_threads,
        progress=progress,
    )
    return KMeansClusters(cluster, second, objective, n_rounds)


@dataclass(frozen=True)
class Matches:
    """The best columns of each row, best first; see ``cpp/core/matches.hpp``.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_rows + 1,)
        Those of row ``r`` are ``[indptr[r]:indptr[r + 1]]`` of the other two.
    columns : ndarray of int32
        The columns.
    scores : ndarray of float32
        Their scores, all above zero.
    own : ndarray of float32, shape (n_rows,) or (0,)
        The score of each row's own column, where such were named.
    """

    indptr: Offsets
    columns: Ids
    scores: Floats
    own: Floats


def best_matches(
    left: Csr,
    right: Csr,
    *,
    n_best: int,
    n_threads: int,
    own: Ids | None = None,
    dense_share: int = 8,
    dense_bytes: int = 1 << 29,
    progress: Progress | None = None,
) -> Matches:
    """Find the highest entries of each row of a product of matrices without storing it."""
    parts = _core.best_matches(
        csr_parts(left),
        csr_parts(right),
        n_cols=right.shape[1],
        n_best=n_best,
        own=own,
        dense_share=dense_share,
        dense_bytes=dense_bytes,
        n_threads=n_threads,
        progress=progress,
    )
    return Matches(*parts)
