"""Parameter rules as data: each rule has a description and a check."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sklearn.base import BaseEstimator

__all__ = ["VERBOSE", "Choice", "Float", "Int", "OrAuto", "Rule", "check_parameters"]


@dataclass(frozen=True)
class Int:
    """An integer in ``[low, high]``, or None if ``none``, or a bool if ``flag``."""

    low: int | None = None
    high: int | None = None
    none: bool = False
    flag: bool = False

    def describe(self) -> str:
        """Return the rule in words, for error messages and help texts."""
        kind = "a bool or an int" if self.flag else "an int"
        return kind + _range(self.low, self.high, "[", "]") + _or_none(self.none)

    def accepts(self, value: Any) -> bool:
        """Return whether the value satisfies the rule."""
        if type(value) is int:  # isinstance with an abstract class takes a microsecond
            return _inside(value, self.low, self.high)
        if value is None:
            return self.none
        if isinstance(value, (bool, np.bool_)):
            return self.flag
        if not isinstance(value, Integral):
            return False
        return _inside(int(value), self.low, self.high)


@dataclass(frozen=True)
class Float:
    """A finite real number in ``[low, high]``, or ``(low, high]`` if ``open_low``."""

    low: float | None = None
    high: float | None = None
    open_low: bool = False
    none: bool = False

    def describe(self) -> str:
        """Return the rule in words, for error messages and help texts."""
        left = "(" if self.open_low else "["
        return "a finite number" + _range(self.low, self.high, left, "]") + _or_none(self.none)

    def accepts(self, value: Any) -> bool:
        """Return whether the value satisfies the rule."""
        if value is None:
            return self.none
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
            return False
        number = float(value)
        if not math.isfinite(number) or (self.open_low and number == self.low):
            return False
        return _inside(number, self.low, self.high)


@dataclass(frozen=True)
class Choice:
    """One of a few values; both type and value must be equal."""

    values: tuple[Any, ...]

    def describe(self) -> str:
        """Return the rule in words, for error messages and help texts."""
        return "one of " + ", ".join(repr(value) for value in self.values)

    def accepts(self, value: Any) -> bool:
        """Return whether the value satisfies the rule."""
        return any(type(value) is type(choice) and value == choice for choice in self.values)


@dataclass(frozen=True)
class OrAuto:
    """The string ``"auto"``, or a value that another rule accepts."""

    rule: Int | Float

    def describe(self) -> str:
        """Return the rule in words, for error messages and help texts."""
        return f"{self.rule.describe()} or 'auto'"

    def accepts(self, value: Any) -> bool:
        """Return whether the value satisfies the rule."""
        return value == "auto" if isinstance(value, str) else self.rule.accepts(value)


VERBOSE = Int(0, flag=True)
"""The rule of ``verbose``: whether progress bars are shown."""


class Rule(Protocol):
    """Interface of parameter rules."""

    def describe(self) -> str:
        """Return the rule in words, for error messages and help texts."""

    def accepts(self, value: Any, /) -> bool:
        """Return whether the value satisfies the rule."""


def check_parameters(estimator: BaseEstimator, rules: Mapping[str, Rule]) -> None:
    """Raise ValueError for the first parameter that violates its rule.

    Raises
    ------
    ValueError
        Such as ``max_cluster_size of Defrag must be an int >= 1, got 0``.
    """
    for name, stated in rules.items():
        rule = VERBOSE if name == "verbose" else stated  # the same rule for all estimators
        value = getattr(estimator, name)
        if not rule.accepts(value):
            owner = type(estimator).__name__
            raise ValueError(f"{name} of {owner} must be {rule.describe()}, got {value!r}")


def _inside(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _range(low: float | None, high: float | None, left: str, right: str) -> str:
    if low is not None and high is not None:
        return f" in {left}{low}, {high}{right}"
    if low is not None:
        return f" {'>' if left == '(' else '>='} {low}"
    return "" if high is None else f" <= {high}"


def _or_none(none: bool) -> str:
    return " or None" if none else ""
