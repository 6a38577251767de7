"""Shares that distribute contributions of transformed entries to the features of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr, Ids

__all__ = [
    "EntryShares",
    "MatrixShares",
    "Shares",
    "normalised_shares",
    "shares_of_groups",
    "shares_of_kept",
]


@dataclass(frozen=True, eq=False)
class EntryShares:
    """The shares of entries of a row of which each belongs to at most one transformed entry.

    Attributes
    ----------
    places : ndarray of int, shape (n_entries,)
        The transformed entry that each entry of the row belongs to; any if its share is 0.
    shares : ndarray of float64, shape (n_entries,)
        Its share in the transformed entry.
    """

    places: NDArray[Any]
    shares: NDArray[np.float64]

    def spread(self, contributions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return contributions of transformed entries, one row each, as those of entries."""
        if not contributions.shape[1]:
            return np.zeros((len(contributions), len(self.places)))
        return np.asarray(contributions[:, self.places] * self.shares)


@dataclass(frozen=True, eq=False)
class MatrixShares:
    """The shares of entries of a row in any number of transformed entries.

    Attributes
    ----------
    matrix : csr_array, shape (n_transformed_entries, n_entries)
        The share of each transformed entry that belongs to each entry; rows add up to 1.
    """

    matrix: Csr

    def spread(self, contributions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return contributions of transformed entries, one row each, as those of entries."""
        return np.asarray(contributions @ self.matrix)


Shares: TypeAlias = EntryShares | MatrixShares


def shares_of_kept(row: Csr, transformed: Csr) -> EntryShares:
    """Return the shares for a transformation that drops entries or changes their values."""
    places, kept = _places(transformed.indices, row.indices)
    return EntryShares(places, kept.astype(np.float64))


def shares_of_groups(groups: Ids, row: Csr, pooled: Csr) -> EntryShares:
    """Return the share of each feature in the value of its group, in proportion to its value.

    Parameters
    ----------
    groups : ndarray of int32, shape (n_features,)
        The group of each feature, or -1.
    row, pooled : csr_array, shape (1, n_features) and (1, n_groups)
        The row and its groups.
    """
    places, pools = _places(pooled.indices, groups[row.indices])
    values = np.where(pools, row.data, 0.0).astype(np.float64)
    sums = np.bincount(places, values, minlength=1)[places]
    shares = np.divide(values, sums, out=np.zeros_like(values), where=sums != 0)
    return EntryShares(places, shares)


def _places(rising: Ids, wanted: Ids) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the places of ids among rising ones, and whether they are there; others get 0."""
    places = np.searchsorted(rising, wanted)
    places[places == len(rising)] = 0
    found = rising[places] == wanted if len(rising) else np.zeros(len(wanted), dtype=np.bool_)
    return np.where(found, places, 0), found


def normalised_shares(
    parts: NDArray[Any], places: tuple[NDArray[Any], NDArray[Any]], shape: tuple[int, int]
) -> MatrixShares:
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
    return MatrixShares(sparse.csr_array(sparse.coo_array((shares, places), shape=shape)))
