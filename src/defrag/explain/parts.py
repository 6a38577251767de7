"""Contributions to scores, as computed from the models, and how transformations divide them.

Explainers pass these between them: a composite gets the contributions of its part and spreads them
over the features of its own row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag.typing import Csr, Ids

# --- Shares that distribute contributions of transformed entries to the features of a row.


@dataclass(frozen=True, eq=False)
class EntryShares:
    """The shares of entries of a row of which each belongs to at most one transformed entry."""

    # Shape (n_entries,): the transformed entry that each entry of the row belongs to; any if its
    # share is 0.
    places: NDArray[Any]
    # Shape (n_entries,): its share in the transformed entry.
    shares: NDArray[np.float64]

    def spread(self, contributions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return contributions of transformed entries, one row each, as those of entries."""
        if not contributions.shape[1]:
            return np.zeros((len(contributions), len(self.places)))
        return np.asarray(contributions[:, self.places] * self.shares)


@dataclass(frozen=True, eq=False)
class MatrixShares:
    """The shares of entries of a row in any number of transformed entries."""

    # Shape (n_transformed_entries, n_entries): the share of each transformed entry that belongs to
    # each entry; rows add up to 1.
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
    """Return the share of each feature in the value of its group, in proportion to its value."""
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

    - ``parts``: the parts; those with equal places are summed.
    - ``places`` ((ndarray of int, ndarray of int)): the transformed entry that each part belongs
      to, and the entry of the row it comes from.
    - ``shape`` ((int, int)): the numbers of transformed entries and of entries of the row.
    """
    values = parts.astype(np.float64)
    sums = np.bincount(places[0], values, minlength=shape[0])[places[0]]
    shares = np.divide(values, sums, out=np.zeros_like(values), where=sums != 0)
    return MatrixShares(sparse.csr_array(sparse.coo_array((shares, places), shape=shape)))


FROM_WEIGHTS = "from the weights of the model"
"""How exact contributions were computed."""


@dataclass(frozen=True, eq=False)
class Step:
    """A classifier on the path to a label in a tree.

    Attributes
    ----------
    member : int
        The tree of an ensemble.
    node, child : int
        The node and which of its children, or of the labels of a leaf, the path takes.
    score, base : float
        The factor of the step in the score of the tree, and the factor without features.
    contributions : ndarray of float64, shape (n_features_of_row,)
        The part of the contributions that comes from this step.
    """

    member: int
    node: int
    child: int
    score: float
    base: float
    contributions: NDArray[np.float64]

    def having(self, contributions: NDArray[np.float64], member: int | None = None) -> Step:
        """Return the step with other contributions, and of another tree if one is given."""
        # dataclasses.replace would take longer than the sums of a step.
        own = self.member if member is None else member
        return Step(own, self.node, self.child, self.score, self.base, contributions)


@dataclass(frozen=True, eq=False)
class Attribution:
    """The contributions of the entries of a row to the scores of some labels."""

    # They add up to the score minus the score of a row without features.
    contributions: NDArray[np.float64]
    # The path to each label in a tree, or in several; empty for methods without trees.
    paths: Sequence[Sequence[Step]]
    # Remarks on the score of each label.
    notes: Sequence[Sequence[str]]
    # How the contributions were computed.
    how: str

    @classmethod
    def plain(cls, contributions: NDArray[np.float64], how: str = FROM_WEIGHTS) -> Attribution:
        """Return contributions without paths and notes."""
        none: list[tuple[()]] = [()] * len(contributions)
        return cls(contributions, none, none, how)

    def spread(self, shares: Shares) -> Attribution:
        """Return the contributions of the source entries."""
        contributions = shares.spread(self.contributions)
        steps = [step for path in self.paths for step in path]
        if not steps:
            return Attribution(contributions, self.paths, self.notes, self.how)
        # One call for all steps: the overhead of a call exceeds its arithmetic.
        rows = iter(shares.spread(np.stack([step.contributions for step in steps])))
        paths = [[step.having(next(rows)) for step in path] for path in self.paths]
        return Attribution(contributions, paths, self.notes, self.how)

    def times(self, weights: NDArray[np.float64], member: int | None = None) -> Attribution:
        """Multiply the contributions of each label by a number."""
        paths = [
            [step.having(float(weight) * step.contributions, member) for step in path if weight]
            for path, weight in zip(self.paths, weights, strict=True)
        ]
        return Attribution(self.contributions * weights[:, None], paths, self.notes, self.how)

    def with_notes(self, notes: Sequence[Sequence[str]]) -> Attribution:
        """Add notes to those of each label."""
        both = [(*own, *more) for own, more in zip(self.notes, notes, strict=True)]
        return Attribution(self.contributions, self.paths, both, self.how)


@dataclass(frozen=True, eq=False)
class Parts:
    """Scores, bases and contributions of a row for some labels."""

    # Shape (n_labels,): the scores of the row, and of a row without features.
    scores: NDArray[np.float64]
    bases: NDArray[np.float64]
    # Shape (n_entries, n_labels): the scores of the row without each of its entries; NaN where
    # they were not computed.
    without: NDArray[np.float64]
    # The contributions of the entries.
    attribution: Attribution
