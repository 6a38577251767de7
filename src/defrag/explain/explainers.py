"""Attribution of scores to features: one class per way in which a model computes scores.

An explainer holds the search of one prediction fixed, so that the score is a function of the row.
Where the score is a function of sums, contributions are integrated gradients, and exact. Elsewhere,
features are left out, in several orders. Classifiers return an explainer from ``_explainer``; what
is special to a model stands beside its score, in the module of that model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._native import KernelRows
from defrag.explain.parts import Attribution, Parts, Shares
from defrag.typing import Csr, Ids

Values = NDArray[np.float64]
ScoresOfRows = Callable[[Csr], NDArray[np.float64]]
Scores = NDArray[np.float64]

# --- Slopes and means that turn parts of a sum into parts of a function of the sum.

# Below this distance the secant is replaced by a difference quotient over _STEP.
_NEAR, _STEP = 1e-6, 1e-4


def secant(function: Callable[[Values], Values], at: Values, start: Values) -> Values:
    """Return the slope of the line through two points of a function.

    For a function of one sum, integrated gradients on the straight line between two rows give
    each summand the contribution of the summand times this slope.
    """
    distance = at - start
    near = np.abs(distance) < _NEAR
    slopes = (function(at) - function(start)) / np.where(near, 1.0, distance)
    if near.any():
        quotient = (function(at + _STEP) - function(at - _STEP)) / (2 * _STEP)
        slopes = np.where(near, quotient, slopes)
    return slopes


def logarithmic_mean(log_a: Values, log_b: Values) -> Values:
    """Return ``(a - b) / (log a - log b)`` for the logarithms of a and b; a if they are equal.

    Parts of the difference of two logarithms, multiplied by this mean, add up to the difference
    of the numbers.
    """
    gap = np.abs(log_a - log_b)
    ratio = np.where(gap > 0, -np.expm1(-gap) / np.where(gap > 0, gap, 1.0), 1.0)
    return np.asarray(np.exp(np.maximum(log_a, log_b)) * ratio)


# --- Contributions computed from the scores of rows without some of their entries.

# Orders come in pairs: a random one and its reverse.
_PAIRS = 5
# In a longer row, the smallest entries are removed together.
_MAX_PLAYERS = 256
# Maximum number of entries of a matrix that is scored in one call.
_ENTRIES_AT_A_TIME = 1 << 22


def sums_without(row: Csr, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weighted sums of the L2-normalised row without each of its entries, one row for each.

    - ``weights``, shape (n_sums, n_entries): the weights of the entries in each sum.
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


def attribute_by_orders(scores: ScoresOfRows, row: Csr) -> Attribution:
    """Return contributions to any scores: sampled Shapley values.

    The entries of the row are added one by one, in several random orders and their reverses. The
    contribution of an entry is the mean change of the score when it is added, so that
    contributions add up. The orders depend only on the number of entries.
    """
    # Entries that are removed together are one player.
    players = np.empty(row.nnz, dtype=np.int64)
    by_size = np.argsort(-np.abs(row.data), kind="stable")
    players[by_size] = np.minimum(np.arange(row.nnz), _MAX_PLAYERS - 1)
    n_players = int(players.max(initial=-1)) + 1
    draw = np.random.default_rng(0)
    drawn = [draw.permutation(n_players) for _ in range(_PAIRS if n_players else 0)]
    total: NDArray[np.float64] | float = 0.0
    for order in (one for pair in drawn for one in (pair, pair[::-1])):
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


# Where the score without an entry takes a prediction, it is computed for at most _MAX_LEFT_OUT
# entries of a row, and the predicted rows have at most _MAX_ENTRIES entries in all.
_MAX_LEFT_OUT = 1000
_MAX_ENTRIES = 1 << 22
# Number of rows times features up to which a product is computed densely.
_DENSE_CELLS = 1 << 20


class Explainer(ABC):
    """Base class: the scores of some labels, with the search that found them held fixed."""

    @abstractmethod
    def scores(self, X: Csr) -> Scores:
        """Return the scores of the labels for the rows of a canonical matrix."""

    def attribute(self, row: Csr) -> Attribution:
        """Return the contribution of each entry of a row to the scores.

        By default, contributions are computed by leaving entries out.
        """
        return attribute_by_orders(self.scores, row)

    def take_apart(self, row: Csr) -> Parts:
        """Return the contributions to the scores of a row, and the scores without its entries.

        By default, rows without each of the entries with the largest contributions are scored.
        """
        found = self.attribute(row)
        largest = np.abs(found.contributions).max(axis=0, initial=0.0)
        most = min(_MAX_LEFT_OUT, max(1, _MAX_ENTRIES // max(1, row.nnz)))
        entries = np.argsort(-largest, kind="stable")[:most]
        # The row, a row without features, and the row without each of the entries.
        present = np.ones((2 + len(entries), row.nnz), dtype=np.bool_)
        present[1] = False
        present[np.arange(len(entries)) + 2, entries] = False
        step = max(1, _ENTRIES_AT_A_TIME // max(1, row.nnz))
        parts = [present[first : first + step] for first in range(0, len(present), step)]
        scores = np.concatenate([self.scores(_rows(row, part)) for part in parts])
        without = np.full((row.nnz, scores.shape[1]), np.nan)
        without[entries] = scores[2:]
        return Parts(scores[0], scores[1], without, found)


@dataclass(frozen=True)
class SingleIndex(Explainer):
    """Scores that are each a function of one weighted sum of the unit row."""

    # Returns the weights of increasing features, (n_labels, n_features), and the constants of the
    # labels, (n_labels,), float64.
    weights: Callable[[Ids], tuple[Scores, Scores]]
    # The function, applied element by element.
    link: Callable[[Scores], Scores]
    # Shape (n_labels,): the labels that have weights; others score 0.
    known: NDArray[np.bool_]

    def scores(self, X: Csr) -> Scores:
        features, product = own_features(_native.unit_rows(X, n_threads=1))
        weights, bias = self.weights(features)
        return self._scores(bias + product(weights))

    def _scores(self, sums: Scores) -> Scores:
        return np.where(self.known, self.link(sums), 0.0)

    def attribute(self, row: Csr) -> Attribution:
        """Return the summands of the weighted sum times the slope of the function."""
        return self.take_apart(row).attribution

    def take_apart(self, row: Csr) -> Parts:
        weights, bias = self.weights(row.indices)
        summands = weights * _native.unit_rows(row, n_threads=1).data.astype(np.float64)
        sums = bias + summands.sum(axis=1)
        slopes = np.where(self.known, secant(self.link, sums, bias), 0.0)
        return Parts(
            self._scores(sums),
            self._scores(bias),
            self._scores(bias + sums_without(row, weights)),
            Attribution.plain(summands * slopes[:, None]),
        )


@dataclass(frozen=True)
class Transformed(Explainer):
    """Scores of a model of transformed rows."""

    # The model of transformed rows.
    inner: Explainer
    # Transforms a canonical matrix.
    transform: Callable[[Csr], Csr]
    # Returns, for a row and the transformed row, the share of each transformed entry that belongs
    # to each entry of the row.
    shares: Callable[[Csr, Csr], Shares]
    # A row that was transformed already, and what became of it.
    known: tuple[Csr, Csr] | None = None

    def scores(self, X: Csr) -> Scores:
        return self.inner.scores(self.transform(X))

    def attribute(self, row: Csr) -> Attribution:
        """Return the contributions of transformed entries, shared among their source entries."""
        known, transformed = self.known or (None, None)
        if transformed is None or known is not row:
            transformed = self.transform(row)
        return self.inner.attribute(transformed).spread(self.shares(row, transformed))


@dataclass(frozen=True)
class Noted(Explainer):
    """Scores with notes about them."""

    # The scores.
    inner: Explainer
    # The notes of each label.
    notes: Sequence[Sequence[str]]

    def scores(self, X: Csr) -> Scores:
        return self.inner.scores(X)

    def attribute(self, row: Csr) -> Attribution:
        return self.inner.attribute(row).with_notes(self.notes)

    def take_apart(self, row: Csr) -> Parts:
        parts = self.inner.take_apart(row)
        return replace(parts, attribution=parts.attribution.with_notes(self.notes))


@dataclass(frozen=True)
class Averaged(Explainer):
    """The mean of the scores of several members."""

    # The members.
    parts: Sequence[Explainer]
    # Shape (n_labels, n_members): the members whose search found each label; it counts as 0 in the
    # others.
    found: NDArray[np.bool_]
    # Shape (n_labels,): the labels that no search found; all members count for them.
    missed: NDArray[np.bool_]

    @classmethod
    def of_all(cls, parts: Sequence[Explainer], n_labels: int) -> Averaged:
        """Return the mean in which every member counts."""
        found = np.ones((n_labels, len(parts)), dtype=np.bool_)
        return cls(parts, found, np.zeros(n_labels, dtype=np.bool_))

    def _weights(self) -> Scores:
        return np.asarray(self.found / self.found.shape[1])

    def scores(self, X: Csr) -> Scores:
        weights = self._weights()
        total = np.zeros((X.shape[0], len(weights)))
        for number, part in enumerate(self.parts):
            total += part.scores(X) * weights[:, number]
        return total

    def attribute(self, row: Csr) -> Attribution:
        """Return the mean of the contributions to the scores of the members."""
        weights = self._weights()
        parts = [
            part.attribute(row).times(weights[:, number], number)
            for number, part in enumerate(self.parts)
        ]
        n_labels = len(weights)
        return Attribution(
            np.sum([part.contributions for part in parts], axis=0),
            [[step for part in parts for step in part.paths[i]] for i in range(n_labels)],
            search_notes(self.found, self.missed),
            parts[0].how,
        )


def search_notes(found: NDArray[np.bool_], missed: NDArray[np.bool_]) -> list[tuple[str, ...]]:
    """Return notes about the search for each label; see :class:`Averaged`."""
    if found.all() and not missed.any():
        return [()] * len(found)
    n_members = found.shape[1]
    notes: list[tuple[str, ...]] = []
    for n_found, not_found in zip(found.sum(axis=1).tolist(), missed.tolist(), strict=True):
        if not_found:
            note = "the search does not find this label: its score is that of a full search"
        elif n_found < n_members:
            note = f"{n_found} of {n_members} members find this label; it is 0 in the others"
        else:
            notes.append(())
            continue
        notes.append((note,))
    return notes


def members_that_found(
    answers: Sequence[Ids], labels: Ids
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which members found each label, (n_labels, n_members), and the labels that none found.

    Those count as found by all members. ``answers`` are the labels that each member ranked.
    """
    # For short arrays, comparing all pairs is faster than isin, which sorts.
    found = np.stack([(labels[:, None] == answer).any(axis=1) for answer in answers], axis=1)
    missed = np.asarray(~found.any(axis=1))
    found[missed] = True
    return found, missed


def own_features(X: KernelRows) -> tuple[Ids, Callable[[Scores], Scores]]:
    """Return the features that occur in some rows, increasing, and a function of their weights.

    It multiplies the rows by weights, (n_sums, n_features), and returns (n_rows, n_sums).
    """
    features, columns = np.unique(X.indices, return_inverse=True)
    shape = len(X.indptr) - 1, len(features)
    narrow: Any
    if shape[0] * shape[1] <= _DENSE_CELLS:
        narrow = np.zeros(shape)
        narrow[np.repeat(np.arange(shape[0]), np.diff(X.indptr)), columns] = X.data
    else:
        narrow = sparse.csr_array((X.data.astype(np.float64), columns, X.indptr), shape=shape)
    return features, lambda weights: narrow @ weights.T
