"""Plans of training: parts with costs, the training of a part, and the join."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from defrag._parameters import Int
from defrag._validation import check_features, check_labels, check_seed
from defrag.classifiers._base import Classifier
from defrag.classifiers._division import Piece
from defrag.distributed._jobs import Sizes, job_of
from defrag.persistence.codecs._base import Unfitted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from defrag._validation import Labels
    from defrag.classifiers._division import Arrays
    from defrag.typing import Csr, LabelsLike, MatrixLike

__all__ = ["DESCRIBED", "Part", "PartResult", "Plan", "fit_part", "join", "plan"]

DESCRIBED = Unfitted(("classifier", "composite"))
"""Unfitted classifiers as their kind and parameters."""

_PARTS_RULE = Int(1)


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
    estimator : classifier
        The classifier, not fitted.
    seed : int
        The seed that ``random_state`` stands for.
    sizes : Sizes
        Numbers of points, features and labels, and the form of the labels.
    fingerprint : int
        Checksum of the data.
    outline : dict of arrays
        What all parts need, such as the shapes of trees.
    bounds : ndarray of int64, shape (n_parts + 1,)
        The units of each part.
    shares : ndarray of float64, shape (n_parts,)
        Shares of the expected cost.
    """

    estimator: Classifier
    seed: int
    sizes: Sizes
    fingerprint: int
    outline: Arrays
    bounds: NDArray[np.int64]
    shares: NDArray[np.float64]

    @cached_property
    def identity(self) -> int:
        """Checksum of the plan, by which the results of parts are recognised."""
        described = DESCRIBED.pack(self.estimator)
        values = {"seed": self.seed, "data": self.fingerprint, "estimator": described}
        value = zlib.crc32(json.dumps(values, sort_keys=True).encode())
        arrays = {"bounds": self.bounds, "shares": self.shares, **self.outline}
        for name in sorted(arrays):
            value = _crc32(arrays[name], zlib.crc32(name.encode(), value))
        return value

    @property
    def parts(self) -> list[Part]:
        """The parts, those with the largest cost first."""
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
        What was learnt.
    """

    index: int
    identity: int
    arrays: Arrays


def plan(estimator: Classifier, X: MatrixLike, Y: LabelsLike, *, n_parts: int) -> Plan:
    """Divide the training of a classifier into parts.

    What cannot be divided, such as the clustering of labels and of features, is done here.

    Parameters
    ----------
    estimator : classifier
        Any classifier of this library.
    X : sparse or dense matrix, shape (n_points, n_features)
        The points.
    Y : labels
        Their labels, in any form that ``fit`` takes.
    n_parts : int
        Maximum number of parts; several per processor balance the load.

    Returns
    -------
    plan : Plan
        The plan, which can be pickled and, by :func:`save_plan`, written to a file.
    """
    if not isinstance(estimator, Classifier):
        raise ValueError(  # noqa: TRY004 - as every other bad value
            f"estimator must be a classifier of defrag, got {estimator!r}"
        )
    if not _PARTS_RULE.accepts(n_parts):
        raise ValueError(f"n_parts must be {_PARTS_RULE.describe()}, got {n_parts!r}")
    estimator = clone(estimator)
    estimator.check_parameters()
    seed = check_seed(estimator.random_state)
    points, labels = _checked(estimator, X, Y)
    if labels.matrix.nnz == 0:
        raise ValueError("Y must have at least one label, got none for any point")
    division = job_of(estimator).divide(points, labels.matrix, seed)
    bounds, shares = _cut(division.costs, n_parts)
    names = getattr(estimator, "feature_names_in_", None)
    sizes = Sizes(
        *points.shape,
        labels.matrix.shape[1],
        labels.classes,
        labels.dense,
        labels.multilabel,
        names,
    )
    return Plan(
        clone(estimator), seed, sizes, _checksum(points, labels), division.outline, bounds, shares
    )


def fit_part(plan: Plan, part: Part | int, X: MatrixLike, Y: LabelsLike) -> PartResult:
    """Train a part of a plan.

    Parameters
    ----------
    plan : Plan
        The plan.
    part : Part or int
        One of ``plan.parts``, or its number.
    X, Y : data
        The data that the plan was made from.

    Returns
    -------
    result : PartResult
        The result, which depends on the plan and the part only.

    Raises
    ------
    ValueError
        If the data are not those of the plan, or the plan has no such part.
    """
    index = part if isinstance(part, int) else part.index
    n_parts = len(plan.shares)
    if not 0 <= index < n_parts:
        raise ValueError(f"the plan has the parts 0 to {n_parts - 1}, got {index}")
    estimator = clone(plan.estimator)
    points, labels = _checked(estimator, X, Y)
    if _checksum(points, labels) != plan.fingerprint:
        raise ValueError(
            f"the data are not those of the plan: it has {plan.sizes.describe()}, or other values "
            f"(got {points.shape[0]} points, {points.shape[1]} features, "
            f"{labels.matrix.shape[1]} labels)"
        )
    units = range(int(plan.bounds[index]), int(plan.bounds[index + 1]))
    arrays = job_of(estimator).train(points, labels.matrix, plan.seed, plan.outline, units)
    return PartResult(index, plan.identity, arrays)


def join(plan: Plan, results: Iterable[PartResult]) -> Classifier:
    """Return the trained classifier, the same as that of ``fit``.

    Parameters
    ----------
    plan : Plan
        The plan.
    results : iterable of PartResult
        The results of all parts, in any order. A part that comes twice counts once.

    Returns
    -------
    estimator : classifier
        Fitted.

    Raises
    ------
    ValueError
        If parts are missing or are not of this plan.
    """
    n_parts = len(plan.shares)
    found = {}
    for result in results:
        if result.identity != plan.identity or not 0 <= result.index < n_parts:
            raise ValueError(f"part {result.index} is of another plan")
        found[result.index] = result.arrays
    missing = [i for i in range(n_parts) if i not in found]
    if missing:
        shown = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
        raise ValueError(f"{len(missing)} of {n_parts} parts are missing: {shown}")
    pieces = [Piece(int(plan.bounds[i]), int(plan.bounds[i + 1]), found[i]) for i in range(n_parts)]
    return job_of(clone(plan.estimator)).join(plan.outline, pieces, plan.seed, plan.sizes)


def _checked(estimator: Classifier, X: MatrixLike, Y: LabelsLike) -> tuple[Csr, Labels]:
    points = check_features(estimator, X, reset=True)
    return points, check_labels(Y, n_rows=points.shape[0], names=True)


def _checksum(X: Csr, labels: Labels) -> int:
    """Return a checksum of points and labels, to recognise other data."""
    classes = None if labels.classes is None else labels.classes.tolist()
    value = zlib.crc32(repr((X.shape, labels.matrix.shape, classes)).encode())
    for matrix in (X, labels.matrix):
        for array in (matrix.indptr, matrix.indices, matrix.data):
            value = _crc32(array, value)
    return value


def _crc32(array: NDArray[Any], value: int) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, value)


def _cut(costs: NDArray[np.float64], n_parts: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the bounds of ranges of units of about equal cost, and their shares of the cost."""
    n_parts = min(n_parts, len(costs))
    ends = np.cumsum(costs)
    targets = ends[-1] * np.arange(1, n_parts) / n_parts
    inner = np.searchsorted(ends, targets) + 1
    bounds = np.unique(np.concatenate([[0], np.minimum(inner, len(costs)), [len(costs)]]))
    before = np.concatenate([[0.0], ends])[bounds]
    return bounds.astype(np.int64), np.diff(before) / ends[-1]
