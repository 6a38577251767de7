"""Training plans: parts with costs, and the results of parts."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from defrag.distributed._data import crc32
from defrag.persistence.codecs._base import Unfitted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from defrag.classifiers._division import Arrays
    from defrag.distributed._data import Trainable
    from defrag.distributed._jobs import Sizes

__all__ = ["DESCRIBED", "Part", "PartResult", "Plan"]

DESCRIBED = Unfitted(("classifier", "composite", "text"))
"""Unfitted classifiers as their kind and parameters."""


@dataclass(frozen=True)
class Part:
    """A part of a training: the units ``first`` to ``last - 1``.

    Attributes
    ----------
    index : int
        Its number in the plan.
    first, last : int
        The range of units.
    share : float
        Its share of the expected cost of all parts.
    """

    index: int
    first: int
    last: int
    share: float


@dataclass(frozen=True)
class Plan:
    """A training divided into parts; see :func:`plan`.

    Attributes
    ----------
    estimator : classifier or TextClassifier
        The classifier, not fitted.
    seed : int
        The seed drawn from ``random_state``.
    sizes : Sizes
        Numbers of points, features and labels, and the form of the labels.
    fingerprint : int
        Checksum of the data.
    outline : dict of arrays
        Data that all parts need, such as the shapes of trees.
    bounds : ndarray of int64, shape (n_parts + 1,)
        Offsets of the units of the parts.
    shares : ndarray of float64, shape (n_parts,)
        Shares of the expected cost.
    """

    estimator: Trainable
    seed: int
    sizes: Sizes
    fingerprint: int
    outline: Arrays
    bounds: NDArray[np.int64]
    shares: NDArray[np.float64]

    @cached_property
    def identity(self) -> int:
        """Checksum of the plan, which its part results contain."""
        described = DESCRIBED.pack(self.estimator)
        values = {"seed": self.seed, "data": self.fingerprint, "estimator": described}
        value = zlib.crc32(json.dumps(values, sort_keys=True).encode())
        arrays = {"bounds": self.bounds, "shares": self.shares, **self.outline}
        for name in sorted(arrays):
            value = crc32(arrays[name], zlib.crc32(name.encode(), value))
        return value

    @property
    def parts(self) -> list[Part]:
        """The parts, by decreasing cost."""
        ranges = zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)
        shares = self.shares.tolist()
        parts = [Part(i, first, last, shares[i]) for i, (first, last) in enumerate(ranges)]
        return sorted(parts, key=lambda part: (-part.share, part.index))


@dataclass(frozen=True)
class PartResult:
    """The result of :func:`fit_part`, for :func:`join`.

    Attributes
    ----------
    index : int
        The number of the part.
    identity : int
        Checksum of the plan.
    arrays : dict of arrays
        Fitted arrays.
    """

    index: int
    identity: int
    arrays: Arrays
