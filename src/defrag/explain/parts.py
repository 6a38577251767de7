"""Contributions to scores, as computed from the models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag.explain.shares import Shares

__all__ = ["FROM_WEIGHTS", "Attribution", "Parts", "Step"]

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

    def times(self, weight: float, *, member: int | None = None) -> Step:
        """Return the step with its contributions multiplied by a number."""
        return self.having(weight * self.contributions, member)

    def in_order(self, order: NDArray[np.int64]) -> Step:
        """Return the step with its contributions in another order."""
        return self.having(self.contributions[order])

    def having(self, contributions: NDArray[np.float64], member: int | None = None) -> Step:
        """Return the step with other contributions, and of another tree if one is given."""
        # dataclasses.replace would take longer than the sums of a step.
        own = self.member if member is None else member
        return Step(own, self.node, self.child, self.score, self.base, contributions)


@dataclass(frozen=True, eq=False)
class Attribution:
    """The contributions of the entries of a row to the scores of some labels.

    Attributes
    ----------
    contributions : ndarray of float64, shape (n_labels, n_entries)
        They add up to the score minus the score of a row without features.
    paths : sequence of sequences of Step
        The path to each label in a tree, or in several; empty for methods without trees.
    notes : sequence of sequences of str
        Remarks on the score of each label.
    how : str
        How the contributions were computed.
    """

    contributions: NDArray[np.float64]
    paths: Sequence[Sequence[Step]]
    notes: Sequence[Sequence[str]]
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
            [step.times(float(weight), member=member) for step in path] if weight else []
            for path, weight in zip(self.paths, weights, strict=True)
        ]
        return Attribution(self.contributions * weights[:, None], paths, self.notes, self.how)

    def with_notes(self, notes: Sequence[Sequence[str]]) -> Attribution:
        """Add notes to those of each label."""
        both = [(*own, *more) for own, more in zip(self.notes, notes, strict=True)]
        return Attribution(self.contributions, self.paths, both, self.how)


@dataclass(frozen=True, eq=False)
class Parts:
    """Scores, bases and contributions of a row for some labels.

    Attributes
    ----------
    scores, bases : ndarray of float64, shape (n_labels,)
        The scores of the row, and of a row without features.
    without : ndarray of float64, shape (n_entries, n_labels)
        The scores of the row without each of its entries; NaN where they were not computed.
    attribution : Attribution
        The contributions of the entries.
    """

    scores: NDArray[np.float64]
    bases: NDArray[np.float64]
    without: NDArray[np.float64]
    attribution: Attribution
