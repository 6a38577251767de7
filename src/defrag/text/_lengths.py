"""The rule of ``characters``: lengths of character n-grams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from defrag._parameters import Int

__all__ = ["Lengths"]


@dataclass(frozen=True)
class Lengths:
    """None, an integer in ``[low, high]``, or a pair of such integers in ascending order."""

    low: int
    high: int

    def describe(self) -> str:
        """Return the rule in words."""
        return f"an int in [{self.low}, {self.high}], two of them in ascending order, or None"

    def accepts(self, value: Any) -> bool:
        """Return whether the value satisfies the rule."""
        rule = Int(self.low, self.high)
        if not isinstance(value, (tuple, list)):
            return value is None or rule.accepts(value)
        return len(value) == 2 and all(map(rule.accepts, value)) and value[0] <= value[1]

    @staticmethod
    def bounds(value: Any) -> tuple[int, int]:
        """Return the minimum and maximum length; (0, 0) for None."""
        if value is None:
            return 0, 0
        least, most = value if isinstance(value, (tuple, list)) else (value, value)
        return int(least), int(most)
