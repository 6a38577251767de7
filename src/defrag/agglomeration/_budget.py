"""Assignment of features to groups: singletons and random buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defrag.trees.vectors import largest_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Ids

__all__ = ["fill_groups", "hash_buckets", "pick_singletons", "random_buckets"]

_BUCKETS = 2  # stage of the random stream, as in cpp/core/random.hpp


def pick_singletons(energy: NDArray[np.float64], n_clusters: int, share: float) -> Ids:
    """Return the features that form a group of their own: those with the most energy."""
    wanted = min(int(share * n_clusters), int(np.count_nonzero(energy > 0)))
    return largest_ids(energy, wanted)


def random_buckets(features: Ids, n_buckets: int, seed: int) -> Ids:
    """Return random buckets of equal size.

    The order of the features depends only on the seed and their ids.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.agglomeration._budget import random_buckets
    >>> np.bincount(random_buckets(np.arange(10, dtype=np.int32), 4, seed=0))
    array([3, 3, 2, 2])
    """
    order = np.lexsort((features, _hash(features.astype(np.uint64), seed)))
    buckets = np.empty(len(features), dtype=np.int32)
    buckets[order] = np.arange(len(features), dtype=np.int32) % n_buckets
    return buckets


def hash_buckets(features: Ids, n_buckets: int, seed: int) -> Ids:
    """Return the bucket of each feature by its hash; sizes differ.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.agglomeration._budget import hash_buckets
    >>> hash_buckets(np.arange(6, dtype=np.int32), 4, seed=0)
    array([3, 0, 2, 1, 3, 3], dtype=int32)
    """
    return (_hash(features.astype(np.uint64), seed) % np.uint64(n_buckets)).astype(np.int32)


def fill_groups(free: NDArray[np.int64]) -> Ids:
    """Return groups for further items that fill the free places of all groups, in order."""
    return np.repeat(np.arange(len(free), dtype=np.int32), free)


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
