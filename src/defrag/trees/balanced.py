"""A balanced tree over any set of sparse vectors: features, labels or points."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag import _native
from defrag._native import LabelTreeArrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr, Ids, Offsets, Progress

__all__ = ["BalancedTree", "build_tree", "count_leaves", "widen"]


@dataclass(frozen=True)
class BalancedTree:
    """A tree as flat arrays, nodes numbered breadth first.

    Attributes
    ----------
    first_child : ndarray of int32, shape (n_nodes,)
        The first child of each node, -1 at a leaf; siblings are neighbours.
    begin, end : ndarray of int64, shape (n_nodes,)
        The items of a node are ``order[begin:end]``.
    order : ndarray of int32, shape (n_items,)
        Items by leaf, ascending inside a leaf.
    objective : ndarray of float64, shape (n_nodes,)
        Mean similarity of an item to its own side of the node's split; 0 at a leaf.
    n_rounds : ndarray of int32, shape (n_nodes,)
        Rounds that the node's split took.
    """

    first_child: Ids
    begin: Offsets
    end: Offsets
    order: Ids
    objective: NDArray[np.float64]
    n_rounds: Ids

    @property
    def leaves(self) -> Ids:
        """The leaf nodes, in the order in which they hold ``order``."""
        leaves = np.flatnonzero(self.first_child < 0)
        return leaves[np.lexsort((leaves, self.begin[leaves]))].astype(np.int32)

    @property
    def n_leaves(self) -> int:
        """How many leaves there are."""
        return int(np.count_nonzero(self.first_child < 0))

    def leaf_of_items(self) -> Ids:
        """Give the leaf of each item, leaves numbered from left to right."""
        leaves = self.leaves
        sizes = self.end[leaves] - self.begin[leaves]
        result = np.empty(len(self.order), dtype=np.int32)
        result[self.order] = np.repeat(np.arange(len(leaves), dtype=np.int32), sizes)
        return result


@dataclass(frozen=True)
class _Shape:
    first_child: Ids
    begin: Offsets
    end: Offsets
    room: Offsets


def count_leaves(n_items: int, max_leaf_size: int, *, stop: str = "leaf<=d0") -> int:
    """Count the leaves of a tree without building it.

    Parameters
    ----------
    n_items : int
        How many items there are.
    max_leaf_size : int
        The d0 of the stopping rule.
    stop : {"leaf<=d0", "leaf<2*d0"}
        The rule: the program's and the text's, or the one behind the paper's tables.

    Examples
    --------
    >>> from defrag.trees.balanced import count_leaves
    >>> count_leaves(5000, 8), count_leaves(5000, 8, stop="leaf<2*d0")
    (1024, 512)
    """
    shape = _shape(n_items, n_items, max_leaf_size=max_leaf_size, stop=stop, n_leaves=None)
    return int(np.count_nonzero(shape.first_child < 0))


def build_tree(
    items: Csr,
    *,
    max_leaf_size: int = 8,
    stop: str = "leaf<=d0",
    n_leaves: int | None = None,
    room: int | None = None,
    split: str = "kmeans",
    tol: float = 1e-3,
    max_iter: int = 50,
    seed: int = 0,
    starts: Offsets | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[BalancedTree, Offsets]:
    """Build a balanced tree by two-way splits from the root down.

    Parameters
    ----------
    items : csr_array, shape (n_items, n_coordinates)
        The vectors, scaled by ``representations``: to length 1 for ``"kmeans"``,
        to ideal DCG 1 for ``"ndcg"``.
    max_leaf_size : int
        The d0 of the stopping rule; not used with ``n_leaves``.
    stop : {"leaf<=d0", "leaf<2*d0"}
        When a node is left whole.
    n_leaves : int, optional
        Ask for this many leaves instead; sizes then differ by what division leaves.
    room : int, optional
        Shape the tree as if there were this many items, at least ``len(items)``: items
        that cannot be clustered can then be dealt to the leaves afterwards.
    split : {"kmeans", "ndcg"}
        How a node is cut.
    tol : float
        A split ends when its objective rises by less than this share of itself.
    max_iter : int
        The most rounds of a split.
    seed : int
        Seed of the random starts.
    starts : ndarray of int64, shape (2 * n_nodes,), optional
        Positions of the two members that start each node's split, instead of the seed;
        equal scores are then settled by id.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    progress : callable, optional
        Called with the share of work done.

    Returns
    -------
    tree : BalancedTree
        The tree.
    room_left : ndarray of int64, shape (n_leaves,)
        How many more items each leaf may take, in the order of ``tree.leaves``.
    """
    n_items = items.shape[0]
    shape = _shape(
        n_items,
        n_items if room is None else room,
        max_leaf_size=max_leaf_size,
        stop=stop,
        n_leaves=n_leaves,
    )
    # Ties follow the order of items: that of ids where the caller names the starts.
    ids = None if starts is not None else _native.company_order(items, seed=seed)
    order, objective, n_rounds = _native.split_items(
        items if ids is None else items[ids],
        first_child=shape.first_child,
        begin=shape.begin,
        end=shape.end,
        ndcg=split == "ndcg",
        tolerance=tol,
        max_iterations=max_iter,
        seed=seed,
        starts=starts,
        n_threads=_native.n_threads(n_jobs),
        progress=progress,
    )
    if ids is not None:
        order = ids[order]
    tree = BalancedTree(shape.first_child, shape.begin, shape.end, order, objective, n_rounds)
    leaves = tree.leaves
    leaf_of_slot = np.repeat(np.arange(len(leaves)), (shape.end - shape.begin)[leaves])
    order[:] = order[np.lexsort((order, leaf_of_slot))]
    return tree, shape.room[leaves] - (shape.end - shape.begin)[leaves]


def widen(tree: BalancedTree, ids: Ids, *, arity: int, root_arity: int) -> LabelTreeArrays:
    """Put the leaves of a binary tree under nodes of more children.

    Leaves that follow each other are near each other, so a node may take any run of them:
    runs are cut into equal numbers of leaves, level by level.

    Parameters
    ----------
    tree : BalancedTree
        The tree whose leaves are taken over.
    ids : ndarray of int32
        What the items of the tree are called.
    arity, root_arity : int
        The most children of a node, and of the root.
    """
    leaves = tree.leaves
    bounds = np.append(tree.begin[leaves], len(tree.order))
    runs = [(0, len(leaves))]
    first_child: list[int] = []
    n_children: list[int] = []
    for first, last in runs:  # grows while it is walked: that is breadth first
        count = last - first
        width = 0 if count == 1 else min(count, arity if first_child else root_arity)
        first_child.append(len(runs) if width else 0)
        n_children.append(width)
        if width:
            cuts = first + np.arange(width + 1) * count // width
            runs += [(int(a), int(b)) for a, b in pairwise(cuts)]
    spans = np.array(runs)
    return LabelTreeArrays(
        first_child=np.array(first_child, dtype=np.int32),
        n_children=np.array(n_children, dtype=np.int32),
        begin=bounds[spans[:, 0]].astype(np.int32),
        end=bounds[spans[:, 1]].astype(np.int32),
        order=ids[tree.order].astype(np.int32),
    )


def _shape(
    n_items: int, room: int, *, max_leaf_size: int, stop: str, n_leaves: int | None
) -> _Shape:
    """Lay out the nodes level by level; only counts matter, so no item is needed.

    A node's room is what it would hold if the tree were full, and halves (the paper's
    ceil to the left) from level to level. Its items are dealt in proportion to the rooms of its
    children, so none ever holds more than its room.
    """
    limit = max_leaf_size if stop == "leaf<=d0" else 2 * max_leaf_size - 1
    rooms = np.array([room], dtype=np.int64)
    shares = np.array([1 if n_leaves is None else n_leaves], dtype=np.int64)
    begins = np.zeros(1, dtype=np.int64)
    counts = np.array([n_items], dtype=np.int64)
    levels: dict[str, list[NDArray[Any]]] = {"child": [], "begin": [], "count": [], "room": []}
    n_nodes = 0
    while len(rooms):
        inner = rooms > limit if n_leaves is None else shares > 1
        n_nodes += len(rooms)
        children = np.where(inner, n_nodes + 2 * (np.cumsum(inner) - 1), -1)
        for name, values in zip(levels, (children, begins, counts, rooms), strict=True):
            levels[name].append(values)
        rooms, shares, begins, counts = (a[inner] for a in (rooms, shares, begins, counts))
        left_shares = shares - shares // 2
        left_rooms = rooms - rooms // 2 if n_leaves is None else -(-rooms * left_shares // shares)
        left_counts = -(-counts * left_rooms // rooms)
        begins = _interleave(begins, begins + left_counts)
        counts = _interleave(left_counts, counts - left_counts)
        rooms = _interleave(left_rooms, rooms - left_rooms)
        shares = _interleave(left_shares, shares - left_shares)
    begin = np.concatenate(levels["begin"])
    return _Shape(
        first_child=np.concatenate(levels["child"]).astype(np.int32),
        begin=begin,
        end=begin + np.concatenate(levels["count"]),
        room=np.concatenate(levels["room"]),
    )


def _interleave(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    return np.stack([left, right], axis=1).ravel()
