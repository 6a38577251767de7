"""Training in parts: planning, training of a part, and joining."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sklearn.base import clone

from defrag._parameters import Int
from defrag._validation import check_seed
from defrag.classifiers._division import Piece
from defrag.distributed._plan import (
    Data,
    PartResult,
    Plan,
    Sizes,
    Trainable,
    Whole,
    check_data,
    checksum,
    classifier_of,
    job_of,
    with_texts,
)
from defrag.text import TextClassifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from defrag.classifiers._division import Arrays
    from defrag.distributed._plan import Part
    from defrag.typing import Csr, LabelsLike, MatrixLike

__all__ = ["Points", "fit_part", "join", "join_parts", "plan", "plan_and_data", "train_part"]

_PARTS_RULE = Int(1)
_WORDS = "vectorizer/"
"""Prefix of the vectoriser's arrays in the outline."""

Points: TypeAlias = "MatrixLike | Sequence[str]"


def plan(estimator: Trainable, X: Points, Y: LabelsLike, *, n_parts: int) -> Plan:
    """Divide the training of a classifier into parts.

    Work that cannot be divided, such as the clustering of labels and features, is done here.

    Parameters
    ----------
    estimator : classifier or TextClassifier
        Any classifier of this library.
    X : sparse or dense matrix, shape (n_points, n_features), or sequence of str
        The points; for a ``TextClassifier``, the texts, whose vectoriser is fitted here.
    Y : labels
        Their labels, in any form that ``fit`` takes.
    n_parts : int
        Maximum number of parts; several per processor balance the load.

    Returns
    -------
    plan : Plan
        The plan; it can be pickled, and written to a file by :func:`save_plan`.
    """
    return plan_and_data(estimator, X, Y, n_parts=n_parts)[0]


def plan_and_data(
    estimator: Trainable, X: Points, Y: LabelsLike, *, n_parts: int
) -> tuple[Plan, Data]:
    """Return a plan, and the data that :func:`train_part` takes."""
    if not isinstance(estimator, Trainable):
        raise ValueError(  # noqa: TRY004 - ValueError for all bad arguments
            f"estimator must be a classifier of defrag, got {estimator!r}"
        )
    if not _PARTS_RULE.accepts(n_parts):
        raise ValueError(f"n_parts must be {_PARTS_RULE.describe()}, got {n_parts!r}")
    if getattr(estimator, "extra", None) is not None:
        raise ValueError(
            f"extra must be None in a plan, which cannot store functions, got {estimator!r}"
        )
    estimator = clone(estimator)
    estimator._check_parameters()
    seed = check_seed(estimator.random_state)
    job = job_of(classifier_of(estimator, seed))
    data = check_data(estimator, X, Y)
    labels = data.labels
    if labels.matrix.nnz == 0:
        raise ValueError("Y must have at least one label, got none for any point")
    division = job.divide(data.X, labels.matrix, seed)
    bounds, shares = _cut(division.costs, n_parts)
    sizes = Sizes(
        *data.X.shape,
        labels.matrix.shape[1],
        labels.classes,
        labels.dense,
        labels.multilabel,
        data.feature_names,
    )
    outline = division.outline | {_WORDS + name: one for name, one in data.vectorizer.items()}
    return Plan(clone(estimator), seed, sizes, checksum(data), outline, bounds, shares), data


def fit_part(plan: Plan, part: Part | int, X: Points, Y: LabelsLike) -> PartResult:
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
        The result, which depends only on the plan and the part.

    Raises
    ------
    ValueError
        If the data are not those of the plan, or the plan has no such part.
    """
    index = part if isinstance(part, int) else part.index
    n_parts = len(plan.shares)
    if not 0 <= index < n_parts:
        raise ValueError(f"the plan has the parts 0 to {n_parts - 1}, got {index}")
    return train_part(plan, index, *_data_of(plan, X, Y))


def train_part(plan: Plan, index: int, X: Csr, Y: Csr) -> PartResult:
    """Train a part of a plan on the data that :func:`plan_and_data` returned."""
    units = range(int(plan.bounds[index]), int(plan.bounds[index + 1]))
    job = job_of(classifier_of(plan.estimator, plan.seed))
    return PartResult(index, plan.identity, job.train(X, Y, plan.seed, plan.outline, units))


def join(
    plan: Plan,
    results: Iterable[PartResult],
    X: Points | None = None,
    Y: LabelsLike | None = None,
) -> Trainable:
    """Return the trained classifier, identical to that of ``fit``.

    Parameters
    ----------
    plan : Plan
        The plan.
    results : iterable of PartResult
        The results of all parts, in any order. Repeated parts count once.
    X, Y : data, optional
        The data that the plan was made from. Only ``LPSR``, alone or as a part of another
        estimator, requires them: it ranks the points with its trained base.

    Returns
    -------
    estimator : classifier
        Fitted.

    Raises
    ------
    ValueError
        If parts are missing or belong to another plan, or required data are missing.
    """
    if X is None or Y is None:
        if X is not Y:
            raise ValueError("join requires both X and Y, or neither")
        return join_parts(plan, results, None)
    return join_parts(plan, results, _data_of(plan, X, Y))


def join_parts(
    plan: Plan, results: Iterable[PartResult], data: tuple[Csr, Csr] | None
) -> Trainable:
    """Return the trained classifier, given checked data."""
    n_parts = len(plan.shares)
    found = {}
    for result in results:
        if result.identity != plan.identity or not 0 <= result.index < n_parts:
            raise ValueError(f"part {result.index} belongs to another plan")
        found[result.index] = result.arrays
    missing = [i for i in range(n_parts) if i not in found]
    if missing:
        shown = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
        raise ValueError(f"{len(missing)} of {n_parts} parts are missing: {shown}")
    pieces = [Piece(int(plan.bounds[i]), int(plan.bounds[i + 1]), found[i]) for i in range(n_parts)]
    job, sizes = job_of(classifier_of(plan.estimator, plan.seed)), plan.sizes
    if not isinstance(plan.estimator, TextClassifier):
        return job.join(plan.outline, pieces, Whole(plan.seed, sizes, data))
    inner = Whole(plan.seed, sizes.unnamed(), data)
    base = job.join(plan.outline, pieces, inner)
    return with_texts(plan.estimator, base, _vectorizer(plan), sizes.classes)


def _data_of(plan: Plan, X: Points, Y: LabelsLike) -> tuple[Csr, Csr]:
    """Return checked points and labels; raise ValueError if they are not those of the plan."""
    data = check_data(clone(plan.estimator), X, Y, _vectorizer(plan))
    if checksum(data) != plan.fingerprint:
        raise ValueError(
            f"the data are not those of the plan: it has {plan.sizes.describe()}, or other values "
            f"(got {data.X.shape[0]} points, {data.X.shape[1]} features, "
            f"{data.labels.matrix.shape[1]} labels)"
        )
    return data.X, data.labels.matrix


def _vectorizer(plan: Plan) -> Arrays:
    """Return the packed vectoriser of texts."""
    return {
        name.removeprefix(_WORDS): array
        for name, array in plan.outline.items()
        if name.startswith(_WORDS)
    }


def _cut(costs: NDArray[np.float64], n_parts: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the bounds of ranges of units of about equal cost, and their shares of the cost."""
    n_parts = min(n_parts, len(costs))
    ends = np.cumsum(costs)
    targets = ends[-1] * np.arange(1, n_parts) / n_parts
    inner = np.searchsorted(ends, targets) + 1
    bounds = np.unique(np.concatenate([[0], np.minimum(inner, len(costs)), [len(costs)]]))
    before = np.concatenate([[0.0], ends])[bounds]
    return bounds.astype(np.int64), np.diff(before) / ends[-1]
