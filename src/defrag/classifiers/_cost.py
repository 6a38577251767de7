"""Estimated cost of training."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LANES", "Cost"]

LANES = 16
"""Number of labels that the block solvers train together."""


@dataclass(frozen=True)
class Cost:
    """Seconds on one thread, and bytes in addition to the data."""

    seconds: float
    bytes: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.bytes + other.bytes)

    def times(self, trainings: float) -> Cost:
        """Return the cost of several sequential trainings."""
        return Cost(self.seconds * trainings, self.bytes)
