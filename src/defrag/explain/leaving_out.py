"""Contributions computed from the scores of rows without some of their entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from defrag.explain.parts import Attribution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from defrag.typing import Csr

    Scores = Callable[[Csr], NDArray[np.float64]]

__all__ = ["attribute_by_orders", "scores_without", "sums_without"]

# Orders come in pairs: a random one and its reverse.
_PAIRS = 5
# In a longer row, the smallest entries are removed together.
_MAX_PLAYERS = 256
# Maximum number of entries of a matrix that is scored in one call.
_ENTRIES_AT_A_TIME = 1 << 22


def scores_without(scores: Scores, row: Csr, entries: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the scores of a row, of a row without features, and without each of some entries.

    Parameters
    ----------
    scores : callable
        Returns the scores of the rows of a matrix, one row of labels each.
    row : csr_array, shape (1, n_features)
        The row.
    entries : ndarray of int
        Positions among the entries of the row.

    Returns
    -------
    scores : ndarray of float64, shape (2 + len(entries), n_labels)
    """
    present = np.ones((2 + len(entries), row.nnz), dtype=np.bool_)
    present[1] = False
    present[np.arange(len(entries)) + 2, entries] = False
    step = max(1, _ENTRIES_AT_A_TIME // max(1, row.nnz))
    found = [
        scores(_rows(row, present[first : first + step])) for first in range(0, len(present), step)
    ]
    return np.concatenate(found)


def sums_without(row: Csr, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weighted sums of the L2-normalised row without each of its entries.

    Parameters
    ----------
    row : csr_array, shape (1, n_features)
        The row.
    weights : ndarray of float64, shape (n_sums, n_entries)
        The weights of the entries in each sum.

    Returns
    -------
    sums : ndarray of float64, shape (n_entries, n_sums)
    """
    values = row.data.astype(np.float64)
    squares = values * values
    total = squares.sum()
    rest = total - squares
    # If almost nothing is left, the difference would consist of rounding errors.
    for entry in np.flatnonzero(rest < 1e-6 * total):
        rest[entry] = squares[:entry].sum() + squares[entry + 1 :].sum()
    lengths = np.where(rest > 0, np.sqrt(rest), np.inf)
    summands = weights * values
    return np.asarray((summands.sum(axis=1)[:, None] - summands).T / lengths[:, None])


def attribute_by_orders(scores: Scores, row: Csr) -> Attribution:
    """Return contributions to any scores: sampled Shapley values.

    The entries of the row are added one by one, in several random orders and their reverses. The
    contribution of an entry is the mean change of the score when it is added, so that
    contributions add up. The orders depend only on the number of entries.

    Parameters
    ----------
    scores : callable
        Returns the scores of the rows of a matrix, one row of labels each.
    row : csr_array, shape (1, n_features)
        The row.
    """
    players = _players(row)
    n_players = int(players.max(initial=-1)) + 1
    total: NDArray[np.float64] | float = 0.0
    for order in _orders(n_players):
        place = np.empty(n_players, dtype=np.int64)
        place[order] = np.arange(n_players)
        present = place[players][None, :] < np.arange(n_players + 1)[:, None]
        steps = np.diff(scores(_rows(row, present)), axis=0)
        total = total + steps[place]
    if isinstance(total, float):  # no entries
        total = np.zeros((0, scores(row).shape[1]))
    # Entries removed together share their contribution in proportion to their squares.
    energy = row.data.astype(np.float64) ** 2
    whole = np.bincount(players, energy, minlength=n_players)[players]
    share = np.where(whole > 0, energy / np.where(whole > 0, whole, 1.0), 0.0)
    contributions = (total / (2 * _PAIRS))[players] * share[:, None]
    how = f"by leaving features out, in {2 * _PAIRS} orders"
    return Attribution.plain(np.ascontiguousarray(contributions.T), how)


def _players(row: Csr) -> NDArray[np.int64]:
    """Return the player of each entry; entries that are removed together are one player."""
    order = np.argsort(-np.abs(row.data), kind="stable")
    players = np.empty(row.nnz, dtype=np.int64)
    players[order] = np.minimum(np.arange(row.nnz), _MAX_PLAYERS - 1)
    return players


def _orders(n_players: int) -> Iterator[NDArray[np.int64]]:
    draw = np.random.default_rng(0)
    for _ in range(_PAIRS if n_players else 0):
        order = draw.permutation(n_players)
        yield order
        yield order[::-1]


def _rows(row: Csr, present: NDArray[np.bool_]) -> Csr:
    """Return one row for each line of ``present``, with the entries marked in it."""
    entries = np.nonzero(present)[1]
    indptr = np.append(0, np.cumsum(np.count_nonzero(present, axis=1)))
    rows = sparse.csr_array(
        (row.data[entries], row.indices[entries], indptr.astype(np.int32)),
        shape=(len(present), row.shape[1]),
    )
    rows.has_canonical_format = True
    return rows
