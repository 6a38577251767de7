"""What training costs, estimated before it begins."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LANES", "Cost"]

LANES = 16
"""Labels that the block solvers train side by side."""


@dataclass(frozen=True)
class Cost:
    """Seconds of one thread, and bytes beyond those of the data."""

    seconds: float
    bytes: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.bytes + other.bytes)

    def times(self, trainings: float) -> Cost:
        """Return the cost of as many trainings, one after the other."""
        return Cost(self.seconds * trainings, self.bytes)
