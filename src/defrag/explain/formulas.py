"""Slopes and means that turn parts of a sum into parts of a function of the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["logarithmic_mean", "secant"]

# Below this distance the secant is replaced by a difference quotient over _STEP.
_NEAR, _STEP = 1e-6, 1e-4


def secant(function: Callable[[Values], Values], at: Values, start: Values) -> Values:
    """Return the slope of the line through two points of a function.

    For a function of one sum, integrated gradients on the straight line between two rows give
    each summand the contribution of the summand times this slope.

    Parameters
    ----------
    function : callable
        The function, applied element by element.
    at, start : ndarray of float64
        The two arguments.
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
