"""Training with the label trees of another model, however deep inside a composite they are."""

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
    """A classifier whose trees are followed, and the new ids of its labels, -1 for none."""

    model: Any
    numbers: Ids


_followed: ContextVar[list[Followed] | None] = ContextVar("followed", default=None)


def previous_model(shape: Any, kind: type[Any]) -> Any:
    """Return the model that ``shape`` is, or that its file contains.

    Raises
    ------
    ValueError
        If it is not a fitted model of a kind.
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
    """Return the new id of each label of another model, by name or by id; -1 for none.

    Raises
    ------
    ValueError
        If the labels of one of the models have names, and those of the other one have not.
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
    """Let the label trees that are trained inside follow those of a model, one by one.

    Parameters
    ----------
    model : classifier
        Fitted: label trees, or a composite over them.
    numbers : ndarray of int32
        The new id of each of its labels; -1 for one that is gone.

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
    """Let label trees that are trained inside have their own shapes."""
    token = _followed.set(None)
    try:
        yield
    finally:
        _followed.reset(token)


def take_followed(kind: type[Any], n_trees: int) -> Followed | None:
    """Return the model whose shape the label trees that are trained next keep, or None.

    Raises
    ------
    ValueError
        If it is of another kind, or has another number of trees.
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
    """Yield the parts of a model that are label trees, in the order in which they are trained."""
    if hasattr(model, "trees_"):
        yield model
        return
    for part in model.fitted_parts():
        yield from _label_trees(part)
