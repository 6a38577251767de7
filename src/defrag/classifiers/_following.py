"""Training with the label trees of a previous model, at any depth inside a composite."""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._estimator import load_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from defrag.typing import Ids

__all__ = [
    "Followed",
    "following",
    "following_nothing",
    "match_labels",
    "previous_model",
    "take_followed",
]


@dataclass(frozen=True)
class Followed:
    """A previous classifier whose trees are kept, and the new ids of its labels or -1."""

    model: Any
    numbers: Ids


_followed: ContextVar[list[Followed] | None] = ContextVar("followed", default=None)


def previous_model(shape: Any, kind: type[Any]) -> Any:
    """Return the model that is given as ``shape``, or that the file ``shape`` contains.

    Raises
    ------
    ValueError
        If it is not a fitted model of type ``kind``.
    """
    found = load_model(shape) if isinstance(shape, (str, os.PathLike)) else shape
    if not isinstance(found, kind) or not hasattr(found, "classes_"):
        raise ValueError(
            f"shape must be a fitted {kind.__name__} or the file of one, got {type(found).__name__}"
        )
    return found


def match_labels(
    previous: NDArray[Any] | None, n_previous: int, own: NDArray[Any] | None, n_labels: int
) -> Ids:
    """Return the new id of each label of a previous model, by name or by id, or -1.

    Raises
    ------
    ValueError
        If only one of the models has label names.
    """
    if (previous is None) != (own is None):
        what = "ids" if previous is None else "names"
        raise ValueError(f"shape must have labels of the same kind as Y, got {what}")
    if previous is None or own is None:
        numbers = np.arange(n_previous)
        return np.where(numbers < n_labels, numbers, -1).astype(np.int32)
    places = {name: place for place, name in enumerate(own.tolist())}
    return np.array([places.get(name, -1) for name in previous.tolist()], dtype=np.int32)


@contextmanager
def following(model: Any, numbers: Ids) -> Iterator[None]:
    """Train label trees inside the ``with`` statement with the shapes of those of a model.

    Parameters
    ----------
    model : classifier
        Fitted label trees, or a fitted composite that contains them.
    numbers : ndarray of int32
        The new id of each of its labels, or -1.

    Raises
    ------
    ValueError
        If the model has no label trees, or more than are trained.
    """
    parts = [Followed(part, numbers) for part in _label_trees(model)]
    if not parts:
        raise ValueError(f"shape must be a model with label trees, got {type(model).__name__}")
    token = _followed.set(parts)
    try:
        yield
        if parts:
            raise ValueError("shape must have as many label trees as the classifier, got more")
    finally:
        _followed.reset(token)


@contextmanager
def following_nothing() -> Iterator[None]:
    """Train label trees inside the ``with`` statement with shapes of their own."""
    token = _followed.set(None)
    try:
        yield
    finally:
        _followed.reset(token)


def take_followed(kind: type[Any], n_trees: int) -> Followed | None:
    """Return the previous model for the next label trees to be trained, or None.

    Raises
    ------
    ValueError
        If it has another type or another number of trees.
    """
    parts = _followed.get()
    if parts is None:
        return None
    if not parts:
        raise ValueError("shape must have as many label trees as the classifier, got fewer")
    found = parts.pop(0)
    if type(found.model) is not kind or len(found.model.trees_) != n_trees:
        got = f"{type(found.model).__name__} with {len(found.model.trees_)}"
        raise ValueError(f"shape must be a {kind.__name__} with {n_trees} trees, got {got}")
    return found


def _label_trees(model: Any) -> Iterator[Any]:
    """Yield the parts of a model that are label trees, in the order of their training."""
    if hasattr(model, "trees_"):
        yield model
        return
    for part in model.fitted_parts():
        yield from _label_trees(part)
