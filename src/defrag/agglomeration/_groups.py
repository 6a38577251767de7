"""Validation of groups of features, and matrices divided by group.

``groups[j]`` is the group of feature ``j``, or -1 for a dropped feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag.typing import Csr, Ids


def membership(
    groups: Ids, n_clusters: int, weight: NDArray[np.float64] | None = None
) -> sparse.csr_array:
    """Return the (n_clusters, n_features) matrix that sums the weighted features of each group."""
    kept = np.flatnonzero(groups >= 0)
    values = np.ones(len(kept)) if weight is None else weight[kept]
    shape = (n_clusters, len(groups))
    return sparse.csr_array((values, (groups[kept], kept)), shape=shape)


@dataclass(frozen=True)
class CutRows:
    """A matrix with every row divided into one part per group, in double precision.

    A part contains the non-zeros of one row whose features are in one group; dropped features
    are the group ``n_clusters``. Products with the columns of a group are products with
    ``parts``, without intermediate rounding.
    """

    parts: sparse.csr_array
    row: NDArray[Any]
    group: NDArray[Any]

    def pooled(self, n_clusters: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sum of each part, and the squared norm of these sums for each group."""
        sums: NDArray[np.float64] = np.asarray(self.parts @ np.ones(self.parts.shape[1]))
        squares = np.bincount(self.group, sums * sums, minlength=n_clusters + 1).astype(np.float64)
        return sums, squares[:n_clusters]


def cut_rows(X: Csr, groups: Ids, n_clusters: int) -> CutRows:
    """Return a canonical matrix with every row divided into one part per group."""
    rows = np.repeat(np.arange(X.shape[0], dtype=np.int64), np.diff(X.indptr))
    group_of = groups[X.indices].astype(np.int64)
    group_of[group_of < 0] = n_clusters
    key = rows * (n_clusters + 1) + group_of
    order = np.argsort(key, kind="stable")
    key = key[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    indptr = np.append(starts, len(key))
    parts = sparse.csr_array(
        (X.data[order].astype(np.float64), X.indices[order], indptr),
        shape=(len(starts), X.shape[1]),
    )
    row, group = np.divmod(key[starts], n_clusters + 1)
    return CutRows(parts, row, group)


# --- Assignment of features to random buckets.

_BUCKETS = 2  # stage of the random stream, as in cpp/core/base/random.hpp


def random_buckets(features: Ids, n_buckets: int, seed: int) -> Ids:
    """Return random buckets of equal size; the order depends only on the seed and the ids."""
    order = np.lexsort((features, _hash(features.astype(np.uint64), seed)))
    buckets = np.empty(len(features), dtype=np.int32)
    buckets[order] = np.arange(len(features), dtype=np.int32) % n_buckets
    return buckets


def hash_buckets(features: Ids, n_buckets: int, seed: int) -> Ids:
    """Return the bucket of each feature by its hash; sizes differ."""
    return (_hash(features.astype(np.uint64), seed) % np.uint64(n_buckets)).astype(np.int32)


def _hash(items: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Return splitmix64 of seed, stage and item, like the random streams of the core."""
    with np.errstate(over="ignore"):
        state = _splitmix(np.full(1, seed, dtype=np.uint64))
        state = _splitmix(state ^ np.uint64(_BUCKETS * 0xD6E8FEB86659FD93 % 2**64))
        return _splitmix(state ^ (items * np.uint64(0xA0761D6478BD642F)))


def _splitmix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = state + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
