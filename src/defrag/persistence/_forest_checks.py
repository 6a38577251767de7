"""Validation of the forests of a model file before any kernel uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defrag.persistence._checks import (
    check_finite,
    check_increasing,
    check_increasing_ids,
    check_ints,
    check_length,
    check_offsets,
    find_decrease,
)
from defrag.persistence._label_tree_checks import offsets
from defrag.persistence._weight_checks import check_weight_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.persistence._schema import Part
    from defrag.typing import Ids, Offsets

__all__ = [
    "check_centroids",
    "check_forest_shape",
    "check_leaves",
    "check_rows",
    "check_shares",
]


def check_forest_shape(part: Part, *, binary: bool) -> Ids:
    """Check the shape of the trees and return the first child of each node, 0 for a leaf.

    The nodes of a tree are numbered breadth first: the children of its inner nodes are all its
    nodes but the root, in order. The first child of a node follows from the number of children
    of those before it; it must follow the node itself, which excludes cycles.
    """
    counts = part.arrays["n_children"]
    tree_ptr = part.arrays["tree_ptr"]
    check_offsets(part, "tree_ptr", len(counts))
    sizes = np.diff(tree_ptr)
    if not len(sizes) or not sizes.all():
        got = "no tree" if not len(sizes) else f"none at {int(np.argmin(sizes))}"
        part.fail(f"{part.name('tree_ptr')} must give each tree a node, got {got}")
    check_ints(part, "n_children", 0, 3 if binary else 256)
    if (counts == 1).any():
        node = int(np.argmax(counts == 1))
        part.fail(f"{part.name('n_children')} must be 0 or at least 2, got 1 at {node}")
    before = offsets(counts)
    n_children = before[tree_ptr[1:]] - before[tree_ptr[:-1]]
    wrong = n_children != sizes - 1
    if wrong.any():
        tree = int(np.argmax(wrong))
        part.fail(f"{part.name('n_children')} must add up to all nodes of tree {tree} but the root "
                  f"({sizes[tree] - 1}), got {n_children[tree]}")  # fmt: skip
    tree_of = np.repeat(np.arange(len(sizes)), sizes)
    # Within a tree: 1 + the children of the nodes before. Each tree before it adds one root.
    first = before[:-1] + 1 + tree_of
    inner = np.asarray(counts > 0)
    early = inner & (first <= np.arange(len(counts)))
    if early.any():
        node = int(np.argmax(early))
        part.fail(f"{part.name('n_children')} must have children after their parent, got "
                  f"{first[node]} at {node}")  # fmt: skip
    return np.where(inner, first, 0).astype(np.int32)


def check_rows(part: Part, n_rows: int, n_slots: int, *, prefix: str = "") -> Offsets:
    """Check sparse rows of weights, except for their order; return the offsets of their entries."""
    sizes, slots = f"{prefix}sizes", f"{prefix}slots"
    check_length(part, sizes, n_rows)
    entry_ptr = offsets(part.arrays[sizes])
    check_length(part, slots, int(entry_ptr[-1]))
    check_length(part, f"{prefix}weights", int(entry_ptr[-1]))
    check_ints(part, slots, 0, n_slots)
    check_weight_values(part, n_rows, prefix=prefix)
    return entry_ptr


def check_centroids(part: Part, entry_ptr: Offsets, n_children: NDArray[np.uint8]) -> None:
    """Check that entries name children of their node, and increase by slot and child."""
    children, slots = part.arrays["children"], part.arrays["slots"]
    check_length(part, "children", len(slots))
    beyond = children >= np.repeat(n_children, np.diff(entry_ptr))
    if beyond.any():
        where = int(np.argmax(beyond))
        part.fail(f"{part.name('children')} must be children of their node, got {children[where]} "
                  f"at {where}")  # fmt: skip

    def keys(block: slice) -> NDArray[np.int64]:
        return np.asarray(slots[block] * np.int64(256) + children[block])

    unordered = find_decrease(keys, len(slots), entry_ptr)
    if unordered is not None:
        part.fail(f"{part.name('slots')} and children must increase within a node, got slot "
                  f"{slots[unordered]} of child {children[unordered]} at {unordered}")  # fmt: skip


def check_leaves(part: Part, n_leaves: int, n_labels: int) -> Offsets:
    """Check the distributions of the leaves and return their offsets, by leaf."""
    check_increasing_ids(part, "labels", n_labels)
    check_length(part, "leaf_sizes", n_leaves)
    leaf_ptr = offsets(part.arrays["leaf_sizes"])
    check_length(part, "outputs", int(leaf_ptr[-1]))
    check_length(part, "values", int(leaf_ptr[-1]))
    check_ints(part, "outputs", 0, len(part.arrays["labels"]))
    check_increasing(part, "outputs", leaf_ptr)
    check_shares(part, "values")
    return leaf_ptr


def check_shares(part: Part, name: str) -> None:
    """Check that all numbers are between 0 and 1."""
    check_finite(part, name, low=0)
    largest = float(part.arrays[name].max(initial=0.0))
    if largest > 1.0:
        part.fail(f"{part.name(name)} must be at most 1, got {largest:g}")
