"""Groups of features: the check of a group array, and a matrix cut by group.

``labels[j]`` is the group of feature ``j``, or -1 where the feature is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from defrag.typing import Csr, Ids

__all__ = ["CutRows", "check_groups", "cut_rows", "membership"]


def check_groups(
    labels: ArrayLike, *, n_features: int | None = None, n_clusters: int | None = None
) -> tuple[Ids, int]:
    """Check the group of each feature and count the groups.

    Parameters
    ----------
    labels : array-like of int, shape (n_features,)
        The group of each feature, -1 where it is dropped.
    n_features : int, optional
        How many features there are, where that is known.
    n_clusters : int, optional
        How many groups there are; default: the largest id plus one.

    Returns
    -------
    labels : ndarray of int32
        The checked array.
    n_clusters : int
        The number of groups, empty ones among them.
    """
    groups = np.asarray(labels)
    if groups.ndim != 1 or not (groups.dtype.kind in "iu" or groups.size == 0):
        raise ValueError(
            f"groups must be a 1-D array of ints, got {groups.ndim}-D of {groups.dtype}"
        )
    if n_features is not None and len(groups) != n_features:
        raise ValueError(f"groups must have one group for each feature: {n_features}, "
                         f"got {len(groups)}")  # fmt: skip
    if groups.size and int(groups.min()) < -1:
        raise ValueError(f"groups must be >= 0, or -1 to drop, got {groups.min()}")
    largest = int(groups.max()) if groups.size else -1
    if largest >= np.iinfo(np.int32).max:
        raise ValueError(f"groups must be below 2**31 - 1, got {largest}")
    if n_clusters is None:
        n_clusters = largest + 1
    elif largest >= n_clusters:
        raise ValueError(f"groups must be below n_clusters ({n_clusters}), got {largest}")
    return np.ascontiguousarray(groups, dtype=np.int32), n_clusters


def membership(
    labels: Ids, n_clusters: int, weight: NDArray[np.float64] | None = None
) -> sparse.csr_array:
    """Give the (n_clusters, n_features) matrix that adds up the features of each group.

    Parameters
    ----------
    labels : ndarray of int32
        Checked groups.
    n_clusters : int
        The number of groups.
    weight : ndarray of float64, optional
        What each feature counts for; default: 1.
    """
    kept = np.flatnonzero(labels >= 0)
    values = np.ones(len(kept)) if weight is None else weight[kept]
    shape = (n_clusters, len(labels))
    return sparse.csr_array((values, (labels[kept], kept)), shape=shape)


@dataclass(frozen=True)
class CutRows:
    """A matrix with every row cut into one part per group, in double precision.

    A part holds the non-zeros of one row whose features are in one group; the
    dropped features are the group ``n_clusters``. Whatever a theorem says about the
    columns of a group is one product with ``parts``, without a rounded sum on the way.
    """

    parts: sparse.csr_array
    row: NDArray[Any]
    group: NDArray[Any]

    def pooled(self, n_clusters: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the sum of each part, and the squared column norms of those sums."""
        sums: NDArray[np.float64] = np.asarray(self.parts @ np.ones(self.parts.shape[1]))
        squares = np.bincount(self.group, sums * sums, minlength=n_clusters + 1).astype(np.float64)
        return sums, squares[:n_clusters]


def cut_rows(X: Csr, labels: Ids, n_clusters: int) -> CutRows:
    """Cut every row of a canonical matrix into one part per group."""
    rows = np.repeat(np.arange(X.shape[0], dtype=np.int64), np.diff(X.indptr))
    groups = labels[X.indices].astype(np.int64)
    groups[groups < 0] = n_clusters
    key = rows * (n_clusters + 1) + groups
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
