"""Training data of subtrees: the nodes below a child of the root need the rows of its points only.

``TreeUnits`` trains them on these when X lies in files: rows of a node are anywhere in X, and
reading them from there, node by node, would read X from the disk again and again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from defrag._native import LabelTreeArrays
from defrag._scratch import Scratch, kept_groups, offsets_of
from defrag.typing import Csr, Floats, Ids, Offsets

Lists = tuple[Offsets, Ids]
"""Lists of points: list i is ``points[begin[i]:begin[i + 1]]``."""


@dataclass(frozen=True)
class TreeData:
    """Unit rows, their labels, and the points of each label."""

    X: Csr
    Y: Csr
    positives: Csr
    weights: Floats | None = None


class Subtrees:
    """The subtrees of a tree with more than a root, with rows for a wave of training."""

    def __init__(
        self, folder: Scratch, data: TreeData, tree: LabelTreeArrays, negatives: Lists | None
    ) -> None:
        self._data, self._tree, self._negatives = data, tree, negatives
        first = int(tree.first_child[0])
        children = slice(first, first + int(tree.n_children[0]))
        self._ends = tree.end[children]
        self._points = [self._points_of(number) for number in range(len(self._ends))]
        begin = offsets_of(np.array([len(one) for one in self._points]))
        points = np.concatenate(self._points)
        self._rows = kept_groups(folder, "rows of subtrees", data.X, begin, points)

    def of(self, blocks: Offsets) -> Iterator[tuple[Offsets, TreeData, Lists | None]]:
        """Yield runs of blocks, in order, each with the data that its nodes are trained on."""
        nodes = blocks[:, 0]
        owner = np.searchsorted(self._ends, self._tree.begin[nodes], side="right")
        owner[nodes == 0] = -1
        cuts = np.flatnonzero(np.diff(owner)) + 1
        for some in np.split(np.arange(len(blocks)), cuts):
            number = int(owner[some[0]])
            if number < 0:
                yield blocks[some], self._data, self._negatives
            else:
                yield blocks[some], *self._near(number)

    def _lists_of(self, number: int) -> list[Lists]:
        """Return the points of labels, and the negatives of nodes, of a subtree; others empty."""
        tree, positives = self._tree, self._data.positives
        end = self._ends[number]
        begin = 0 if number == 0 else self._ends[number - 1]
        labels = np.sort(tree.order[begin:end])
        found = [some_of((positives.indptr, positives.indices), labels)]
        if self._negatives is not None:
            inside = (tree.begin >= begin) & (tree.end <= end)
            found.append(some_of(self._negatives, np.flatnonzero(inside)))
        return found

    def _points_of(self, number: int) -> Ids:
        return np.unique(np.concatenate([points for _, points in self._lists_of(number)]))

    def _near(self, number: int) -> tuple[TreeData, Lists | None]:
        data, points = self._data, self._points[number]
        (indptr, having), *negatives = (
            (begin, np.searchsorted(points, one).astype(np.int32))
            for begin, one in self._lists_of(number)
        )
        shape = data.positives.shape[0], len(points)
        ones = np.ones(len(having), dtype=data.positives.dtype)
        positives = sparse.csr_array((ones, having, indptr), shape=shape)
        weights = None if data.weights is None else data.weights[points]
        near = TreeData(self._rows(number), data.Y[:0], positives, weights)
        return near, negatives[0] if negatives else None


def some_of(lists: tuple[Ids | Offsets, Ids], chosen: Ids | Offsets) -> Lists:
    """Return lists of which those that are not chosen are empty."""
    begin, points = lists
    sizes = np.zeros(len(begin) - 1, dtype=np.int64)
    sizes[chosen] = begin[chosen + 1] - begin[chosen]
    parts = [points[begin[i] : begin[i + 1]] for i in chosen.tolist()]
    return offsets_of(sizes), np.concatenate([points[:0], *parts])


def join_lists(blocks: Sequence[Lists]) -> Lists:
    """Return the lists of all points, given those of blocks of consecutive points."""
    blocks = sorted(blocks, key=lambda lists: int(lists[1].max(initial=-1)))
    sizes = [np.diff(begin) for begin, _ in blocks]
    owner = np.concatenate([np.repeat(np.arange(len(one)), one) for one in sizes])
    points = np.concatenate([points for _, points in blocks])
    return offsets_of(np.sum(sizes, axis=0)), points[np.argsort(owner, kind="stable")]
