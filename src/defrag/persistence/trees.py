"""Trees in a model file: checks across their arrays, before any kernel uses them.

Three kinds: balanced trees of clusterings, label trees with the classifiers of their nodes, and
forests over points. The classes that have them declare the arrays and call these functions
(``defrag.trees``, ``classifiers.label_tree``, ``baselines.forests``). All number their nodes
breadth first, so that the numbers of children determine a tree and exclude cycles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defrag import _native
from defrag._native import LabelTreeArrays, LabelTreeWeights, StoredTreeWeights
from defrag.persistence._checks import find_decrease
from defrag.persistence._weights import (
    WEIGHT_TYPES,
    blocks_of_runs,
    check_weight_values,
    pack_values,
    unpack_values,
)
from defrag.persistence.fields import MAX_COUNT, Field, Form, Part
from defrag.typing import Ids, Offsets

_MAX_OUTPUTS = 65536
"""The kernels store an output as uint16."""


def offsets(sizes: NDArray[np.integer | np.bool_]) -> Offsets:
    """Return the offsets of consecutive runs, including the end of the last."""
    result = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, dtype=np.int64, out=result[1:])
    return result


def narrow_sizes(bounds: Offsets) -> NDArray[Any]:
    """Return the sizes of consecutive runs, as uint16 if all of them fit."""
    sizes = np.diff(bounds)
    return sizes.astype(np.uint16 if int(sizes.max(initial=0)) < 2**16 else np.uint32)


def _check_ranges(part: Part, inner: NDArray[np.intp], *, empty: bool = True) -> None:
    """Check that the items of the inner nodes are cut into those of their children."""
    first, begin, end = (part.arrays[name] for name in ("first_child", "begin", "end"))
    n_items = len(part.arrays["order"])
    what = f"{part.name('begin')} and end"
    if begin[0] != 0 or end[0] != n_items:
        part.fail(f"{what} must give the root [0, {n_items}), got [{begin[0]}, {end[0]})")
    wrong = begin > end if empty else begin >= end
    if wrong.any():
        node = int(np.argmax(wrong))
        rule = "not cross" if empty else "hold at least one label"
        part.fail(f"{what} must {rule}, got [{begin[node]}, {end[node]}) at {node}")
    if not len(inner):
        return
    heads = first[inner].astype(np.int64)
    lasts = np.append(heads[1:], len(first)) - 1
    follows = np.append(True, begin[1:] == end[:-1])
    follows[heads] = begin[heads] == begin[inner]
    follows[lasts] &= end[lasts] == end[inner]
    if not follows.all():
        node = int(np.argmin(follows))
        part.fail(f"{what} must cut each node into its children, got [{begin[node]}, {end[node]}) "
                  f"at {node}")  # fmt: skip


# --- Balanced trees.


def check_balanced_tree(part: Part) -> None:
    """Check a tree whose inner nodes have two children.

    Nodes are numbered breadth first: the children of the inner nodes are all nodes but the
    root, in order, and a child follows its parent, which excludes cycles. The items of the children
    are those of the parent, split in place; items increase within a leaf.
    """
    first, order = part.arrays["first_child"], part.arrays["order"]
    if not len(first):
        part.refuse("first_child", "have at least one node, got none")
    for name in ("begin", "end", "objective", "n_rounds"):
        part.check_length(name, len(first))
    part.check_ints("first_child", -1, len(first))
    late = (first >= 0) & (first <= np.arange(len(first)))
    part.refuse_any("first_child", late, "have children after their parent", first)
    inner = np.flatnonzero(first >= 0)
    counts = np.diff(first[inner].astype(np.int64), append=len(first))
    start = int(first[inner[0]]) if len(inner) else len(first)
    if start != 1 or (counts != 2).any():
        part.refuse("first_child", "give each inner node its own 2 children, breadth first")
    _check_ranges(part, inner)
    part.check_permutation("order")
    falls = np.flatnonzero(order[1:] < order[:-1]) + 1
    wrong = np.setdiff1d(falls, part.arrays["begin"][first < 0])
    if len(wrong):
        part.refuse_order("order", "increase within a leaf", order, int(wrong[0]))
    part.check_finite("objective")
    part.check_ints("n_rounds", 0, 2**31)


# --- Label trees.


def n_outputs(n_children: Ids, begin: Ids, end: Ids) -> NDArray[np.int64]:
    """Return the number of classifiers of each node: one per child, or per label of a leaf."""
    return np.where(n_children > 0, n_children, end.astype(np.int64) - begin)


def check_label_tree(part: Part, n_labels: int) -> None:
    """Check the shape of a tree over some of the labels.

    Nodes are numbered, and labels split, as nodes and items of a balanced tree are; every node has
    a label, and no label occurs twice. ``first_child`` of a leaf is not used, but is -1 or a node.
    """
    first, counts = part.arrays["first_child"], part.arrays["n_children"]
    if not len(first):
        part.refuse("first_child", "have at least one node, got none")
    for name in ("n_children", "begin", "end"):
        part.check_length(name, len(first))
    part.check_ints("first_child", -1, len(first))
    part.check_ints("n_children", 0, _MAX_OUTPUTS + 1)
    part.refuse_any("n_children", counts == 1, "be 0 or at least 2", counts)
    n_children = int(counts.sum(dtype=np.int64))
    if n_children != len(first) - 1:
        part.refuse("n_children", "add up to all nodes but the root "
                    f"({len(first) - 1}), got {n_children}")  # fmt: skip
    inner = np.flatnonzero(counts)
    wanted = 1 + offsets(counts[inner])[:-1]
    wrong = (first[inner] != wanted) | (wanted <= inner)
    if wrong.any():
        node = int(inner[np.argmax(wrong)])
        part.refuse("first_child", "number the children breadth first, after "
                    f"their parents, got {first[node]} at {node}")  # fmt: skip
    _check_ranges(part, inner, empty=False)
    part.check_ints("order", 0, n_labels)
    # Sorted, not marked in an array of n_labels items: a hostile file chooses n_labels.
    ordered = np.sort(part.arrays["order"])
    twice = ordered[1:] == ordered[:-1]
    if twice.any():
        label = ordered[np.argmax(twice)]
        part.refuse("order", f"have no label twice, got {label}")


_FAR = 255
"""A gap of a byte that stands for one in ``far``."""

# Weights of int4: sixteen sizes per node, evenly spaced on a log scale from the least that is kept
# to the largest of the node. An entry has a few bits, from low to high: its size, its sign, whether
# it is the last of its feature, its output. See decision 036.
_LEVELS = 16
_LEAST_IN_LEAF, _LEAST = 16 / 128, 23 / 128  # exact in float16
_SIGN, _LAST, _OUTPUT = 4, 5, 6


@dataclass(frozen=True)
class TreeEntries(Field):
    """The classifiers of the nodes of a label tree: features, outputs and weights.

    They are written as the kernels use them, with the number of entries of each feature, ``sizes``.
    Files of int8 and int4 have a byte for each feature: ``gaps`` has the distances between the
    features of a node, beginning at 0, or 255 for one that is in ``far``; sizes are bytes if all
    are below 256. Files of int4 have ``codes`` instead of sizes, outputs and weights. Reading
    restores the arrays of the kernels, which are then not mapped.

    The value to write is a pair: the weights, and the number of outputs of each node.
    """

    attribute: str = "features"

    def forms(self) -> dict[str, Form]:
        """Return the arrays, of which either features or gaps, weights or codes are present."""
        return {
            "feature_ptr": Form(("int64",)),
            "features": Form(("int32",), 1, "features"),
            "gaps": Form(("uint8",), 1, "gaps"),
            "far": Form(("int32",), 1, "gaps"),
            "sizes": Form(("uint8", "uint16", "uint32"), 1, "weights"),
            "outputs": Form(("uint8", "uint16"), 1, "weights"),
            "weights": Form(WEIGHT_TYPES, 1, "weights"),
            "scales": Form(("float32",), 1, "scales"),
            "codes": Form(("uint8",), 1, "codes"),
            "levels": Form(("float16",), 1, "codes"),
            "node_sizes": Form(("uint32",), 1, "codes"),
        }

    def write(self, value: Any, part: Part, weight_type: str) -> None:
        one, widths = value
        if weight_type == "int4":
            one, part.arrays["levels"] = _levels(one, part.arrays["n_children"] == 0)
            part.arrays |= _codes(one, part.arrays["levels"], widths)
        else:
            narrow = int(widths.max(initial=0)) <= 256
            sizes = narrow_sizes(one.entry_ptr)
            if weight_type == "int8" and int(sizes.max(initial=0)) < 2**8:
                sizes = sizes.astype(np.uint8)
            outputs = one.outputs.astype(np.uint8) if narrow else one.outputs
            part.arrays |= {"sizes": sizes, "outputs": outputs}
            part.arrays |= pack_values(one.weights, one.entry_ptr[one.feature_ptr], weight_type)
        part.arrays["feature_ptr"] = one.feature_ptr
        if weight_type not in {"int8", "int4"}:
            part.arrays["features"] = one.features
            return
        gaps = np.diff(one.features, prepend=np.int32(0))
        heads = one.feature_ptr[:-1][np.diff(one.feature_ptr) > 0]
        gaps[heads] = one.features[heads]
        part.arrays["far"] = gaps[gaps >= _FAR]
        part.arrays["gaps"] = np.minimum(gaps, _FAR).astype(np.uint8)

    def read(self, part: Part) -> dict[str, Any]:  # noqa: ARG002 - see check_tree_and_weights
        """Return nothing: the tree is checked first."""
        return {}


def restore_entries(part: Part) -> None:
    """Restore the arrays of the kernels, given a checked tree."""
    arrays = part.arrays
    for one, other in (("features", "gaps"), ("weights", "codes")):
        if part.has(one) == part.has(other):
            part.fail(f"{part.name(one)} or {part.name(other)} must be present, got "
                      f"{'both' if part.has(one) else 'none'}")  # fmt: skip
    part.check_length("feature_ptr", len(arrays["first_child"]) + 1)
    part.check_offsets("feature_ptr", len(arrays["gaps" if part.has("gaps") else "features"]))
    if part.has("gaps"):
        arrays["features"] = _features_of_gaps(part)
    if part.has("codes"):
        arrays |= _decoded(part)
    if arrays["sizes"].dtype == np.uint8:
        arrays["sizes"] = arrays["sizes"].astype(np.uint16)


def _levels(
    one: LabelTreeWeights, leaf: NDArray[np.bool_]
) -> tuple[LabelTreeWeights, NDArray[np.float16]]:
    """Return the weights that int4 keeps, with the features that have one, and the levels."""
    least = np.where(leaf, _LEAST_IN_LEAF, _LEAST)
    sizes = np.diff(one.entry_ptr[one.feature_ptr])
    kept = np.abs(one.weights) >= np.repeat(least, sizes)
    before = offsets(kept)  # of each entry
    used = np.diff(before[one.entry_ptr]) > 0
    one = replace(
        one,
        feature_ptr=offsets(used)[one.feature_ptr],
        features=one.features[used],
        entry_ptr=before[one.entry_ptr[np.append(True, used)]],
        outputs=one.outputs[kept],
        weights=one.weights[kept],
    )
    bounds = one.entry_ptr[one.feature_ptr]
    levels = np.zeros((len(least), _LEVELS), dtype=np.float16)
    used = bounds[1:] > bounds[:-1]
    if used.any():
        most = np.maximum.reduceat(np.abs(one.weights), bounds[:-1][used])
        low, high = least[used, None], most.astype(np.float16).astype(np.float64)[:, None]
        levels[used] = low * (high / low) ** (np.arange(_LEVELS) / (_LEVELS - 1))
        # What is read is saved again with the same bytes.
        levels[used, 0], levels[used, -1] = low[:, 0], high[:, 0]
    return one, levels.ravel()


def _codes(
    one: LabelTreeWeights, levels: NDArray[np.float16], widths: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """Return the bits of the entries of int4, and their number in each node."""
    bounds = one.entry_ptr[one.feature_ptr]
    codes = np.empty(len(one.weights), dtype=np.uint32)
    for node, sizes in enumerate(levels.astype(np.float64).reshape(-1, _LEVELS)):
        own = slice(bounds[node], bounds[node + 1])
        found = np.searchsorted(np.sqrt(sizes[1:] * sizes[:-1]), np.abs(one.weights[own]))
        codes[own] = np.searchsorted(sizes, sizes)[found]  # the first of equal sizes
    codes |= np.signbit(one.weights).astype(np.uint32) << _SIGN
    codes[one.entry_ptr[1:] - 1] |= 1 << _LAST
    codes |= one.outputs.astype(np.uint32) << _OUTPUT
    return {
        "node_sizes": np.diff(bounds).astype(np.uint32),
        "codes": _native.pack_bits(codes, bounds[1:], _code_bits(widths)),
    }


def _code_bits(widths: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the bits of an entry, given the number of outputs of its node."""
    return np.asarray(_OUTPUT + np.ceil(np.log2(widths)), dtype=np.uint8)


def _decoded(part: Part) -> dict[str, NDArray[Any]]:
    """Return sizes, outputs and weights of a file of int4."""
    arrays = part.arrays
    widths = _outputs_of_nodes(part)
    part.check_length("node_sizes", len(widths))
    part.check_length("levels", len(widths) * _LEVELS)
    part.check_size("levels")
    bounds = offsets(arrays["node_sizes"])
    bits = _code_bits(widths)
    part.check_length("codes", -(-int(np.diff(bounds) @ bits.astype(np.int64)) // 8))
    codes = _native.unpack_bits(arrays["codes"], bounds[1:], bits)
    ends = np.append(0, np.flatnonzero(codes >> _LAST & 1) + 1)
    if len(ends) != len(arrays["features"]) + 1 or (ends[arrays["feature_ptr"]] != bounds).any():
        part.refuse("codes", "end each feature of a node once")
    nodes = np.repeat(np.arange(len(widths), dtype=np.uint32) * _LEVELS, np.diff(bounds))
    weights = arrays["levels"][nodes + (codes & (_LEVELS - 1))]
    np.negative(weights, out=weights, where=(codes >> _SIGN & 1).astype(np.bool_))
    codes >>= _OUTPUT
    narrow = int(widths.max()) <= 256
    return {
        "sizes": narrow_sizes(ends),
        "outputs": codes.astype(np.uint8 if narrow else np.uint16),
        "weights": weights,
    }


def _features_of_gaps(part: Part) -> Ids:
    gaps, far, bounds = (part.arrays[name] for name in ("gaps", "far", "feature_ptr"))
    part.check_length("far", int(np.count_nonzero(gaps == _FAR)))
    part.check_ints("far", _FAR, MAX_COUNT)
    features = np.empty(len(gaps), dtype=np.int32)
    n_far = 0
    for first, last in blocks_of_runs(bounds):
        begin, end = int(bounds[first]), int(bounds[last])
        steps = gaps[begin:end].astype(np.int64)
        wide = np.flatnonzero(steps == _FAR)
        steps[wide] = far[n_far : n_far + len(wide)]
        n_far += len(wide)
        sums = np.cumsum(steps)
        own = bounds[first : last + 1] - begin
        before = np.append(0, sums)[own[:-1]]  # what the gaps of earlier nodes add up to
        sums -= np.repeat(before, np.diff(own))
        largest = int(sums.max(initial=0))
        if largest >= MAX_COUNT:
            part.refuse("gaps", f"add up to features below {MAX_COUNT}, got {largest}")
        features[begin:end] = sums
    return features


def check_label_tree_weights(part: Part, n_features: int) -> Offsets:
    """Check the classifiers of the nodes of a checked tree.

    Features increase within a node and outputs within a feature, which has at least one;
    every output has a bias, and all numbers are finite.

    - Returns ``starts``: offsets of the entries of every eighth feature, and the end of the last.
    """
    arrays = part.arrays
    widths = _outputs_of_nodes(part)
    part.check_csr("feature_ptr", "features", n_rows=len(widths), n_cols=n_features)
    part.check_length("sizes", len(arrays["features"]))
    part.check_ints("sizes", 1, _MAX_OUTPUTS + 1)
    n_entries = int(arrays["sizes"].sum(dtype=np.int64))
    if n_entries != len(arrays["outputs"]):
        part.refuse("sizes", "add up to the number of outputs "
                    f"({len(arrays['outputs'])}), got {n_entries}")  # fmt: skip
    starts = _check_outputs(part, widths)
    part.check_length("bias", int(widths.sum()))
    part.check_size("bias")
    part.check_length("weights", n_entries)
    check_weight_values(part, len(widths))
    return starts


def _outputs_of_nodes(part: Part) -> NDArray[np.int64]:
    """Return the number of outputs of each node of a checked tree; check that it is stored."""
    arrays = part.arrays
    widths = n_outputs(arrays["n_children"], arrays["begin"], arrays["end"])
    if int(widths.max()) > _MAX_OUTPUTS:
        node = int(np.argmax(widths))
        part.fail(f"a node must have at most {_MAX_OUTPUTS} outputs, got {widths[node]} at {node}")
    return widths


def _check_outputs(part: Part, widths: NDArray[np.int64]) -> Offsets:
    """Check that outputs increase within a feature and exist in their nodes; return the starts."""
    outputs, feature_ptr = part.arrays["outputs"], part.arrays["feature_ptr"]
    starts, where, too_large = _native.inspect_entries(
        feature_ptr, widths, part.arrays["sizes"], outputs
    )
    if where >= 0:
        part.refuse_order("outputs", "increase within a feature", outputs, where)
    if too_large >= 0:
        feature = np.searchsorted(offsets(part.arrays["sizes"]), too_large, side="right") - 1
        width = widths[np.searchsorted(feature_ptr, feature, side="right") - 1]
        part.refuse("outputs", f"be in [0, {width}) of its node, got "
                    f"{outputs[too_large]} at {too_large}")  # fmt: skip
    return starts


def tree_values(
    tree: LabelTreeArrays, weights: LabelTreeWeights | StoredTreeWeights
) -> dict[str, Any]:
    """Return what a file holds of a label tree, by name.

    - Raises ValueError if the number of biases is not that of the outputs; the reader checks the
      rest.
    """
    if isinstance(weights, StoredTreeWeights):
        weights = widened(weights)
    widths = n_outputs(tree.n_children, tree.begin, tree.end)
    if not np.array_equal(weights.bias_ptr, offsets(widths)):
        raise ValueError("bias_ptr of the weights of a tree must give each node a bias per output")
    return {**vars(tree), "bias": weights.bias, "features": (weights, widths)}


def check_tree_and_weights(part: Part) -> Offsets:
    """Check a label tree and its classifiers; the ensemble checks its labels and features."""
    check_label_tree(part, MAX_COUNT)
    restore_entries(part)
    return check_label_tree_weights(part, MAX_COUNT)


def stored_weights(part: Part, starts: Offsets) -> StoredTreeWeights:
    """Return the checked classifiers of a label tree for the kernels, without a copy."""
    arrays = part.arrays
    weights = arrays["weights"]
    return StoredTreeWeights(
        feature_ptr=arrays["feature_ptr"],
        features=arrays["features"],
        sizes=arrays["sizes"],
        starts=starts,
        outputs=arrays["outputs"],
        weights=weights.view(np.uint16) if weights.dtype == np.float16 else weights,
        scales=arrays.get("scales"),
        bias_ptr=offsets(n_outputs(arrays["n_children"], arrays["begin"], arrays["end"])),
        bias=arrays["bias"],
    )


def widened(stored: StoredTreeWeights) -> LabelTreeWeights:
    """Return the weights in the types that training uses."""
    entry_ptr = offsets(stored.sizes)
    weights = stored.weights
    arrays: dict[str, Any] = {
        "weights": weights.view(np.float16) if weights.dtype == np.uint16 else weights,
        "scales": stored.scales,
    }
    return LabelTreeWeights(
        feature_ptr=stored.feature_ptr,
        features=stored.features,
        entry_ptr=entry_ptr,
        outputs=stored.outputs.astype(np.uint16, copy=False),
        weights=unpack_values(arrays, entry_ptr[stored.feature_ptr]),
        bias_ptr=stored.bias_ptr,
        bias=stored.bias,
    )


# --- Forests.


def check_forest_shape(part: Part, *, binary: bool) -> Ids:
    """Check the shape of the trees and return the first child of each node, 0 for a leaf.

    The nodes of a tree are numbered breadth first: the children of its inner nodes are all its
    nodes but the root, in order. The first child of a node follows from the number of children
    of those before it; it must follow the node itself, which excludes cycles.
    """
    counts = part.arrays["n_children"]
    tree_ptr = part.arrays["tree_ptr"]
    part.check_offsets("tree_ptr", len(counts))
    sizes = np.diff(tree_ptr)
    if not len(sizes) or not sizes.all():
        got = "no tree" if not len(sizes) else f"none at {int(np.argmin(sizes))}"
        part.refuse("tree_ptr", f"give each tree a node, got {got}")
    part.check_ints("n_children", 0, 3 if binary else 256)
    part.refuse_any("n_children", counts == 1, "be 0 or at least 2", counts)
    before = offsets(counts)
    n_children = before[tree_ptr[1:]] - before[tree_ptr[:-1]]
    wrong = n_children != sizes - 1
    if wrong.any():
        tree = int(np.argmax(wrong))
        part.refuse("n_children", f"add up to all nodes of tree {tree} but the root "
                    f"({sizes[tree] - 1}), got {n_children[tree]}")  # fmt: skip
    tree_of = np.repeat(np.arange(len(sizes)), sizes)
    # Within a tree: 1 + the children of the nodes before. Each tree before it adds one root.
    first = before[:-1] + 1 + tree_of
    inner = np.asarray(counts > 0)
    early = inner & (first <= np.arange(len(counts)))
    part.refuse_any("n_children", early, "have children after their parent", first)
    return np.where(inner, first, 0).astype(np.int32)


def check_rows(part: Part, n_rows: int, n_slots: int) -> Offsets:
    """Check sparse rows of weights, except for their order; return the offsets of their entries."""
    part.check_length("sizes", n_rows)
    entry_ptr = offsets(part.arrays["sizes"])
    part.check_length("slots", int(entry_ptr[-1]))
    part.check_length("weights", int(entry_ptr[-1]))
    part.check_ints("slots", 0, n_slots)
    check_weight_values(part, n_rows)
    return entry_ptr


def check_centroids(part: Part, entry_ptr: Offsets, n_children: NDArray[np.uint8]) -> None:
    """Check that entries name children of their node, and increase by slot and child."""
    children, slots = part.arrays["children"], part.arrays["slots"]
    part.check_length("children", len(slots))
    beyond = children >= np.repeat(n_children, np.diff(entry_ptr))
    part.refuse_any("children", beyond, "be children of their node", children)

    def keys(block: slice) -> NDArray[np.int64]:
        return np.asarray(slots[block] * np.int64(256) + children[block])

    unordered = find_decrease(keys, len(slots), entry_ptr)
    if unordered is not None:
        part.fail(f"{part.name('slots')} and children must increase within a node, got slot "
                  f"{slots[unordered]} of child {children[unordered]} at {unordered}")  # fmt: skip


def check_leaves(part: Part, n_leaves: int, n_labels: int) -> Offsets:
    """Check the distributions of the leaves and return their offsets, by leaf."""
    part.check_increasing_ids("labels", n_labels)
    part.check_length("leaf_sizes", n_leaves)
    leaf_ptr = offsets(part.arrays["leaf_sizes"])
    part.check_length("outputs", int(leaf_ptr[-1]))
    part.check_length("values", int(leaf_ptr[-1]))
    part.check_ints("outputs", 0, len(part.arrays["labels"]))
    part.check_increasing("outputs", leaf_ptr)
    check_shares(part, "values")
    return leaf_ptr


def check_shares(part: Part, name: str) -> None:
    """Check that all numbers are between 0 and 1."""
    part.check_finite(name, low=0)
    largest = float(part.arrays[name].max(initial=0.0))
    if largest > 1.0:
        part.refuse(name, f"be at most 1, got {largest:g}")
