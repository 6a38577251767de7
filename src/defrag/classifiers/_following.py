"""Training with the label trees of a previous model: ``fit(X, Y, shape=previous)``.

:class:`Shapes` holds the previous trees, wherever in a composite they are, and is passed down to
the label trees of the new model, which :func:`follow_tree` lets keep their leaves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._estimator import load_model
from defrag._native import LabelTreeArrays
from defrag.trees import build_tree
from defrag.typing import Csr, Ids


class Shapes:
    """The label trees of a previous model, which those of a new one take in their order.

    - ``model``: fitted label trees, or a fitted composite that contains them.
    - ``numbers``: the new id of each of its labels, or -1.
    - Raises ValueError if the model has no label trees.
    """

    def __init__(self, model: Any, numbers: Ids) -> None:
        self.numbers = numbers
        self._left = list(_label_trees(model))
        if not self._left:
            raise ValueError(f"shape must be a model with label trees, got {type(model).__name__}")

    def take(self, kind: type[Any], n_trees: int) -> list[LabelTreeArrays]:
        """Return the trees of the next ensemble of label trees, for one of the same kind.

        Raises ValueError if it has another type or another number of trees.
        """
        if not self._left:
            raise ValueError("shape must have as many label trees as the classifier, got fewer")
        found = self._left.pop(0)
        if type(found) is not kind or len(found.trees_) != n_trees:
            got = f"{type(found).__name__} with {len(found.trees_)}"
            raise ValueError(f"shape must be a {kind.__name__} with {n_trees} trees, got {got}")
        return [one.tree for one in found.trees_]

    def check_all_taken(self) -> None:
        """Raise ValueError if the previous model has more label trees than the new one."""
        if self._left:
            raise ValueError("shape must have as many label trees as the classifier, got more")


def previous_model(shape: Any, kind: type[Any]) -> Any:
    """Return the model that is given as ``shape``, or that the file ``shape`` contains.

    - Raises ValueError if it is not a fitted model of type ``kind``.
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

    - Raises ValueError if only one of the models has label names.
    """
    if (previous is None) != (own is None):
        what = "ids" if previous is None else "names"
        raise ValueError(f"shape must have labels of the same kind as Y, got {what}")
    if previous is None or own is None:
        numbers = np.arange(n_previous)
        return np.where(numbers < n_labels, numbers, -1).astype(np.int32)
    places = {name: place for place, name in enumerate(own.tolist())}
    return np.array([places.get(name, -1) for name in previous.tolist()], dtype=np.int32)


def _label_trees(model: Any) -> Iterator[Any]:
    """Yield the parts of a model that are label trees, in the order of their training."""
    if hasattr(model, "trees_"):
        yield model
        return
    for part in model._fitted_parts():
        yield from _label_trees(part)


# --- Label trees that keep the shape of a previous tree when the labels change.

# Number of new labels that are compared with all leaves at a time.
_LABELS_AT_A_TIME = 1024


@dataclass
class _Node:
    """A node under construction: the rows of the labels of a leaf, or children."""

    labels: Ids
    children: list[_Node] = field(default_factory=list)


def follow_tree(
    tree: LabelTreeArrays,
    numbers: Ids,
    vectors: Csr,
    seen: Ids,
    *,
    max_leaf_size: int,
    seed: int,
    n_jobs: int | None,
) -> LabelTreeArrays:
    """Return a tree over the labels with points that keeps the leaves of a previous tree.

    A new label joins the leaf whose labels have the most similar mean vector. A leaf that becomes
    larger than twice ``max_leaf_size`` and than all previous leaves is split into smaller leaves,
    and nodes without labels are removed.

    - ``numbers``: the new id of each label of the previous tree, or -1.
    - ``vectors``, shape (n_seen, n_coordinates): unit vectors of the labels with points.
    - ``seen``, shape (n_seen,): ids of the labels with points, in increasing order.
    - ``max_leaf_size``: maximum size of new leaves.
    """
    leaves = np.flatnonzero(tree.n_children == 0).astype(np.int32)
    sizes = tree.end[leaves] - tree.begin[leaves]
    leaf_of_row = _known_leaves(tree, leaves, numbers, seen)
    _assign_new_labels(leaf_of_row, vectors, len(leaves), _native.n_threads(n_jobs))
    limit = max(2 * max_leaf_size, int(sizes.max()))
    by_leaf = np.argsort(leaf_of_row, kind="stable")
    bounds = np.searchsorted(leaf_of_row[by_leaf], np.arange(len(leaves) + 1))
    content = {
        int(leaf): by_leaf[bounds[i] : bounds[i + 1]].astype(np.int32)
        for i, leaf in enumerate(leaves)
    }

    def split(rows: Ids) -> _Node:
        if len(rows) <= limit:
            return _Node(rows)
        n_leaves = -(-len(rows) // max_leaf_size)
        parts, _ = build_tree(vectors[rows], n_leaves=n_leaves, seed=seed, n_jobs=n_jobs)
        smaller = parts.leaves
        children = [
            _Node(np.sort(rows[parts.order[parts.begin[i] : parts.end[i]]])) for i in smaller
        ]
        return _Node(rows[:0], children)

    def build(node: int) -> _Node | None:
        if not tree.n_children[node]:
            return split(content[node]) if len(content[node]) else None
        first = int(tree.first_child[node])
        built = [build(child) for child in range(first, first + int(tree.n_children[node]))]
        children = [child for child in built if child is not None]
        if len(children) < 2:
            return children[0] if children else None
        return _Node(seen[:0], children)

    root = build(0)
    if root is None:  # fit rejects data without labels
        raise ValueError("no label of the tree has points")
    return _arrays(root, seen)


def _known_leaves(tree: LabelTreeArrays, leaves: Ids, numbers: Ids, seen: Ids) -> Ids:
    """Return the leaf of each label with points, as a position in ``leaves``; -1 for new labels."""
    leaf_of_position = np.empty(len(tree.order), dtype=np.int32)
    for position, leaf in enumerate(leaves):
        leaf_of_position[tree.begin[leaf] : tree.end[leaf]] = position
    known = tree.order < len(numbers)
    labels = np.where(known, numbers[np.minimum(tree.order, len(numbers) - 1)], -1)
    rows = np.minimum(np.searchsorted(seen, labels), len(seen) - 1)
    found = (labels >= 0) & (seen[rows] == labels)
    result = np.full(len(seen), -1, dtype=np.int32)
    result[rows[found]] = leaf_of_position[found]
    return result


def _assign_new_labels(leaf_of_row: Ids, vectors: Csr, n_leaves: int, n_threads: int) -> None:
    """Set the leaves of new labels."""
    old, new = np.flatnonzero(leaf_of_row >= 0), np.flatnonzero(leaf_of_row < 0)
    members = sparse.csr_array(
        (np.ones(len(old), dtype=np.float32), (leaf_of_row[old], old)),
        shape=(n_leaves, len(leaf_of_row)),
    )
    means = sparse.csr_array(members @ vectors)
    means.sort_indices()
    means = _native.scale_rows(means, n_threads=n_threads)
    transposed = sparse.csc_array(means.T)
    for begin in range(0, len(new), _LABELS_AT_A_TIME):
        rows = new[begin : begin + _LABELS_AT_A_TIME]
        similarity = (vectors[rows] @ transposed).toarray()
        # A label without similar labels joins the first leaf that has labels.
        similarity[:, np.diff(members.indptr) > 0] += np.float32(1e-9)
        leaf_of_row[rows] = np.argmax(similarity, axis=1)


def _arrays(root: _Node, seen: Ids) -> LabelTreeArrays:
    """Return the arrays of a tree in breadth-first order."""
    spans: dict[int, tuple[int, int]] = {}
    order: list[Ids] = []
    size = 0

    def lay_out(node: _Node) -> None:
        nonlocal size
        begin = size
        for child in node.children:
            lay_out(child)
        order.append(node.labels)
        size += len(node.labels)
        spans[id(node)] = begin, size

    lay_out(root)
    nodes = [root]
    first_child, n_children = [], []
    for node in nodes:  # the list grows during the iteration: breadth first
        first_child.append(len(nodes) if node.children else 0)
        n_children.append(len(node.children))
        nodes += node.children
    ranges = np.array([spans[id(node)] for node in nodes], dtype=np.int32)
    return LabelTreeArrays(
        first_child=np.array(first_child, dtype=np.int32),
        n_children=np.array(n_children, dtype=np.int32),
        begin=np.ascontiguousarray(ranges[:, 0]),
        end=np.ascontiguousarray(ranges[:, 1]),
        order=seen[np.concatenate(order)].astype(np.int32),
    )
