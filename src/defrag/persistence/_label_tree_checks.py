"""Validation of the label trees of a model file before any kernel uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defrag import _native
from defrag.persistence._checks import check_csr, check_ints, check_length, check_size
from defrag.persistence._weight_checks import check_weight_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.persistence._schema import Part
    from defrag.typing import Ids, Offsets

__all__ = ["MAX_OUTPUTS", "check_label_tree", "check_label_tree_weights", "n_outputs", "offsets"]

MAX_OUTPUTS = 65536
"""The kernels store an output as uint16."""


def offsets(sizes: NDArray[np.integer]) -> Offsets:
    """Return the offsets of consecutive runs, including the end of the last.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.persistence._label_tree_checks import offsets
    >>> offsets(np.array([2, 0, 3], dtype=np.uint16))
    array([0, 2, 2, 5])
    """
    result = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, dtype=np.int64, out=result[1:])
    return result


def n_outputs(n_children: Ids, begin: Ids, end: Ids) -> NDArray[np.int64]:
    """Return the number of classifiers of each node: one per child, or per label of a leaf."""
    return np.where(n_children > 0, n_children, end.astype(np.int64) - begin)


def check_label_tree(part: Part, n_labels: int) -> None:
    """Check the shape of a tree over some of the labels.

    Nodes are numbered breadth first: the children of the inner nodes are all nodes but the
    root, in order, and a child follows its parent, which excludes cycles. The labels of the
    children are those of the parent, split in place, at least one each; no label occurs twice.
    ``first_child`` of a leaf is not used, but is -1 or a node.
    """
    n_nodes = len(part.arrays["first_child"])
    if not n_nodes:
        part.fail(f"{part.name('first_child')} must have at least one node, got none")
    for name in ("n_children", "begin", "end"):
        check_length(part, name, n_nodes)
    check_ints(part, "first_child", -1, n_nodes)
    check_ints(part, "n_children", 0, MAX_OUTPUTS + 1)
    _check_children(part)
    _check_ranges(part)
    check_ints(part, "order", 0, n_labels)
    # Sorted, not marked in an array of n_labels items: a hostile file chooses n_labels.
    ordered = np.sort(part.arrays["order"])
    twice = ordered[1:] == ordered[:-1]
    if twice.any():
        label = ordered[np.argmax(twice)]
        part.fail(f"{part.name('order')} must have no label twice, got {label}")


def _check_children(part: Part) -> None:
    first, counts = part.arrays["first_child"], part.arrays["n_children"]
    if (counts == 1).any():
        node = int(np.argmax(counts == 1))
        part.fail(f"{part.name('n_children')} must be 0 or at least 2, got 1 at {node}")
    inner = np.flatnonzero(counts)
    n_children = int(counts.sum(dtype=np.int64))
    if n_children != len(first) - 1:
        part.fail(f"{part.name('n_children')} must add up to all nodes but the root "
                  f"({len(first) - 1}), got {n_children}")  # fmt: skip
    wanted = 1 + offsets(counts[inner])[:-1]
    wrong = (first[inner] != wanted) | (wanted <= inner)
    if wrong.any():
        where = int(np.argmax(wrong))
        node = int(inner[where])
        part.fail(f"{part.name('first_child')} must number the children breadth first, after "
                  f"their parents, got {first[node]} at {node}")  # fmt: skip


def _check_ranges(part: Part) -> None:
    first, counts = part.arrays["first_child"], part.arrays["n_children"]
    begin, end = part.arrays["begin"], part.arrays["end"]
    n_items = len(part.arrays["order"])
    what = f"{part.name('begin')} and end"
    if begin[0] != 0 or end[0] != n_items:
        part.fail(f"{what} must give the root [0, {n_items}), got [{begin[0]}, {end[0]})")
    if (begin >= end).any():
        node = int(np.argmax(begin >= end))
        part.fail(f"{what} must hold at least one label, got [{begin[node]}, {end[node]}) at "
                  f"{node}")  # fmt: skip
    inner = np.flatnonzero(counts)
    heads = first[inner]
    lasts = heads + counts[inner] - 1
    follows = np.append(True, begin[1:] == end[:-1])
    follows[heads] = begin[heads] == begin[inner]
    follows[lasts] &= end[lasts] == end[inner]
    if not follows.all():
        node = int(np.argmin(follows))
        part.fail(f"{what} must cut each node into its children, got [{begin[node]}, {end[node]}) "
                  f"at {node}")  # fmt: skip


def check_label_tree_weights(part: Part, n_features: int) -> Offsets:
    """Check the classifiers of the nodes of a checked tree.

    Features increase within a node and outputs within a feature, which has at least one;
    every output has a bias, and all numbers are finite.

    Returns
    -------
    starts : ndarray of int64
        Offsets of the entries of every eighth feature, and the end of the last.
    """
    arrays = part.arrays
    widths = n_outputs(arrays["n_children"], arrays["begin"], arrays["end"])
    if int(widths.max()) > MAX_OUTPUTS:
        node = int(np.argmax(widths))
        part.fail(f"a node must have at most {MAX_OUTPUTS} outputs, got {widths[node]} at {node}")
    check_csr(part, "feature_ptr", "features", n_rows=len(widths), n_cols=n_features)
    check_length(part, "sizes", len(arrays["features"]))
    check_ints(part, "sizes", 1, MAX_OUTPUTS + 1)
    n_entries = int(arrays["sizes"].sum(dtype=np.int64))
    if n_entries != len(arrays["outputs"]):
        part.fail(f"{part.name('sizes')} must add up to the number of outputs "
                  f"({len(arrays['outputs'])}), got {n_entries}")  # fmt: skip
    starts = _check_outputs(part, widths)
    check_length(part, "bias", int(widths.sum()))
    check_size(part, "bias")
    check_length(part, "weights", n_entries)
    check_weight_values(part, len(widths))
    return starts


def _check_outputs(part: Part, widths: NDArray[np.int64]) -> Offsets:
    """Check that outputs increase within a feature and exist in their nodes; return the starts."""
    outputs, feature_ptr = part.arrays["outputs"], part.arrays["feature_ptr"]
    starts, where, too_large = _native.inspect_entries(
        feature_ptr, widths, part.arrays["sizes"], outputs
    )
    if where >= 0:
        part.fail(f"{part.name('outputs')} must increase within a feature, got "
                  f"{outputs[where]} after {outputs[where - 1]} at {where}")  # fmt: skip
    if too_large >= 0:
        feature = np.searchsorted(offsets(part.arrays["sizes"]), too_large, side="right") - 1
        width = widths[np.searchsorted(feature_ptr, feature, side="right") - 1]
        part.fail(f"{part.name('outputs')} must be in [0, {width}) of its node, got "
                  f"{outputs[too_large]} at {too_large}")  # fmt: skip
    return starts
