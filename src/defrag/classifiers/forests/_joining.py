"""Conversion of forests to named arrays, and joining of forests."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag import _native
from defrag._native import Forest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from defrag._native import FeatureHash
    from defrag.classifiers._division import Arrays
    from defrag.typing import Ids, Offsets

__all__ = ["forest_arrays", "join_forests"]

_NAMES = [field.name for field in fields(Forest) if field.name != "hash"]


def forest_arrays(forest: Forest) -> Arrays:
    """Return the arrays of a forest without its hash."""
    return {name: getattr(forest, name) for name in _NAMES}


def join_forests(
    parts: Sequence[Mapping[str, NDArray[Any]]], feature_hash: FeatureHash | None
) -> Forest:
    """Return one forest with the trees of several, as if they had been grown together.

    Parameters
    ----------
    parts : sequence of mappings from name to ndarray
        Results of :func:`forest_arrays`, in the order of the trees.
    feature_hash : FeatureHash or None
        The hash of all trees, if their entries refer to buckets.
    """
    if len(parts) == 1:
        return Forest(**{name: parts[0][name] for name in _NAMES}, hash=feature_hash)
    joined: dict[str, Any] = {
        name: np.concatenate([part[name] for part in parts])
        for name in ("n_children", "children", "weights", "bias", "values")
    }
    for name in ("tree_ptr", "entry_ptr", "leaf_ptr"):
        joined[name] = _join_offsets([part[name] for part in parts])
    first_nodes = joined["tree_ptr"][np.cumsum([0] + [len(p["tree_ptr"]) - 1 for p in parts[:-1]])]
    joined["first_child"] = np.concatenate(
        [
            np.where(part["n_children"] == 0, 0, part["first_child"] + first).astype(np.int32)
            for part, first in zip(parts, first_nodes, strict=True)
        ]
    )
    joined["labels"], joined["outputs"] = _join_ids(parts, "labels", "outputs")
    if feature_hash is None:
        joined["features"], joined["slots"] = _join_ids(parts, "features", "slots")
    else:
        joined["features"] = parts[0]["features"]
        joined["slots"] = np.concatenate([part["slots"] for part in parts])
    return Forest(**joined, hash=feature_hash)


def _join_offsets(parts: list[Offsets]) -> Offsets:
    sizes = np.concatenate([np.diff(one) for one in parts])
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _join_ids(
    parts: Sequence[Mapping[str, NDArray[Any]]], names: str, positions: str
) -> tuple[Ids, NDArray[Any]]:
    """Return the ids of all parts in increasing order, and the joined positions in them."""
    ids = np.unique(np.concatenate([part[names] for part in parts])).astype(np.int32)
    found = [np.searchsorted(ids, part[names])[part[positions]] for part in parts]
    return ids, _native.narrow(np.concatenate(found), len(ids))
