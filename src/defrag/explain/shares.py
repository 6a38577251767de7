"""Shares that distribute contributions of transformed entries to the features of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr, Ids

__all__ = ["normalised_shares", "shares_of_groups", "shares_of_kept"]


def shares_of_kept(row: Csr, transformed: Csr) -> Csr:
    """Return the shares for a transformation that drops entries or changes their values."""
    places = np.searchsorted(row.indices, transformed.indices)
    ones = np.ones(len(places))
    return sparse.csr_array(
        (ones, places, np.arange(len(places) + 1)), shape=(len(places), row.nnz)
    )


def shares_of_groups(groups: Ids, row: Csr, pooled: Csr) -> Csr:
    """Return the share of each feature in the value of its group, in proportion to its value.

    Parameters
    ----------
    groups : ndarray of int32, shape (n_features,)
        The group of each feature, or -1.
    row, pooled : csr_array, shape (1, n_features) and (1, n_groups)
        The row and its groups.
    """
    own = groups[row.indices]
    entries = np.flatnonzero(np.isin(own, pooled.indices))
    places = np.searchsorted(pooled.indices, own[entries])
    return normalised_shares(row.data[entries], (places, entries), (pooled.nnz, row.nnz))


def normalised_shares(
    parts: NDArray[Any], places: tuple[NDArray[Any], NDArray[Any]], shape: tuple[int, int]
) -> Csr:
    """Return parts of values, divided by their row sums.

    Parameters
    ----------
    parts : ndarray
        The parts; those with equal places are summed.
    places : (ndarray of int, ndarray of int)
        The transformed entry that each part belongs to, and the entry of the row it comes from.
    shape : (int, int)
        The numbers of transformed entries and of entries of the row.
    """
    values = parts.astype(np.float64)
    sums = np.bincount(places[0], values, minlength=shape[0])[places[0]]
    shares = np.divide(values, sums, out=np.zeros_like(values), where=sums != 0)
    return sparse.csr_array(sparse.coo_array((shares, places), shape=shape))
