"""Shallow, unbalanced k-ary trees built by spherical k-means."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from defrag import _native
from defrag._native import LabelTreeArrays

if TYPE_CHECKING:
    from defrag.typing import Csr, Ids, Progress

__all__ = ["build_kary_tree", "resolve_singletons"]

# Classifiers of a node are numbered with 16 bits.
_MAX_LEAF_LABELS = 65536


def build_kary_tree(
    vectors: Csr,
    ids: Ids,
    *,
    arity: int,
    max_depth: int,
    seed: int,
    n_threads: int,
    progress: Progress | None = None,
) -> LabelTreeArrays:
    """Cluster labels into a tree, level by level.

    Parameters
    ----------
    vectors : csr_array, shape (n_labels, n_coordinates)
        Unit vectors of the labels.
    ids : ndarray of int32, shape (n_labels,)
        The ids of the labels.
    arity : int
        Maximum number of children; a node with at most this many labels is a leaf.
    max_depth : int
        Maximum number of nodes on a path from the root to a leaf, both included.
    seed : int
        Seed of the random starts.
    n_threads : int
        Number of threads; the result does not depend on it.
    progress : callable, optional
        Called with the fraction of the labels that are in a leaf.
    """
    n_labels = len(ids)
    nodes = [(np.arange(n_labels, dtype=np.int32), 0, 1)]  # labels, position, depth
    first_child: list[int] = []
    n_children: list[int] = []
    order = np.arange(n_labels, dtype=np.int32)
    n_in_leaves = 0
    for number, (members, begin, depth) in enumerate(nodes):  # the list grows: breadth first
        parts: list[Ids] = []
        if len(members) > arity and depth < max_depth:
            parts = _split_node(
                vectors, members, arity, seed=seed, item=number, n_threads=n_threads
            )
        if not parts:
            _check_leaf(len(members), arity, max_depth)
            n_in_leaves += len(members)
        first_child.append(len(nodes) if parts else 0)
        n_children.append(len(parts))
        place = begin
        for part in parts:
            order[place : place + len(part)] = part
            nodes.append((part, place, depth + 1))
            place += len(part)
        if progress is not None:
            progress(n_in_leaves / n_labels)
    begins = np.array([begin for _, begin, _ in nodes], dtype=np.int32)
    sizes = np.array([len(members) for members, _, _ in nodes], dtype=np.int32)
    return LabelTreeArrays(
        first_child=np.array(first_child, dtype=np.int32),
        n_children=np.array(n_children, dtype=np.int32),
        begin=begins,
        end=begins + sizes,
        order=ids[order].astype(np.int32),
    )


def resolve_singletons(cluster: Ids, second: Ids) -> Ids:
    """Return clusters of at least two items, with every item in a cluster.

    An item that is alone in its cluster moves to its second best cluster. Items that are not
    similar to any centre are then assigned one by one to the smallest cluster: a single cluster
    of all of them, as published, would be large and meaningless. Items that are still alone join
    the smallest other cluster.

    Parameters
    ----------
    cluster, second : ndarray of int32, shape (n_items,)
        The best and the second best cluster of each item, or -1.

    Returns
    -------
    clusters : ndarray of int32, shape (n_items,)
        Clusters 0, 1, ... without gaps, in the order of the given numbers, with at least two
        items each unless there is only one item.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.trees.kary import resolve_singletons
    >>> resolve_singletons(np.array([0, 0, 3, 5, 5, -1]), np.array([-1, -1, 5, 0, 0, -1]))
    array([0, 0, 1, 1, 1, 0], dtype=int32)
    """
    result = cluster.astype(np.int32, copy=True)
    n_clusters = max(int(cluster.max()), int(second.max()), 0) + 1
    sizes = np.bincount(result[result >= 0], minlength=n_clusters).astype(np.int32)
    _merge_singles(result, second, sizes)
    _assign_unplaced(result, sizes)
    _join_smallest(result, sizes)
    numbers = np.cumsum(sizes > 0) - 1
    return numbers[result].astype(np.int32)


def _merge_singles(result: Ids, second: Ids, sizes: Ids) -> None:
    """Move single items to their second best cluster, or to the one that it was merged into."""
    moved: dict[int, int] = {}
    placed = np.flatnonzero(result >= 0)
    alone = placed[sizes[result[placed]] == 1]
    for item in alone[np.argsort(result[alone])].tolist():
        own, target = int(result[item]), int(second[item])
        if sizes[own] != 1 or target < 0:
            continue
        # ``own`` still has one item, so no item was moved to it and this cannot lead back to it.
        while target in moved:
            target = moved[target]
        if sizes[target] == 0:  # emptied by the last iteration of k-means
            continue
        moved[own] = target
        result[item] = target
        sizes[own] -= 1
        sizes[target] += 1


def _assign_unplaced(result: Ids, sizes: Ids) -> None:
    unplaced = np.flatnonzero(result < 0)
    if not len(unplaced):
        return
    heap = [(int(sizes[c]), int(c)) for c in np.flatnonzero(sizes)] or [(0, 0)]
    heapq.heapify(heap)
    for item in unplaced.tolist():
        size, smallest = heap[0]
        result[item] = smallest
        heapq.heapreplace(heap, (size + 1, smallest))
    sizes += np.bincount(result[unplaced], minlength=len(sizes)).astype(np.int32)


def _join_smallest(result: Ids, sizes: Ids) -> None:
    """Move items that are still alone to the smallest other cluster, if there is one."""
    heap = [(int(sizes[c]), int(c)) for c in np.flatnonzero(sizes)]
    heapq.heapify(heap)
    lone = {int(result[i]): int(i) for i in np.flatnonzero(sizes[result] == 1)}
    while len(heap) > 1 and heap[0][0] == 1:
        _, single = heapq.heappop(heap)
        size, target = heap[0]
        result[lone[single]] = target
        heapq.heapreplace(heap, (size + 1, target))
        sizes[single] -= 1
        sizes[target] += 1


def _split_node(
    vectors: Csr, members: Ids, arity: int, *, seed: int, item: int, n_threads: int
) -> list[Ids]:
    """Return the clusters of the labels of a node, or none if there is only one."""
    own = vectors if len(members) == vectors.shape[0] else vectors[members]
    found = _native.spherical_kmeans(
        own, n_clusters=arity, seed=seed, item=item, n_threads=n_threads
    )
    clusters = resolve_singletons(found.cluster, found.second)
    sizes = np.bincount(clusters)
    if len(sizes) < 2:
        return []
    by_cluster = np.argsort(clusters, kind="stable")
    return list(np.split(members[by_cluster], np.cumsum(sizes)[:-1]))


def _check_leaf(n_labels: int, arity: int, max_depth: int) -> None:
    if n_labels > _MAX_LEAF_LABELS:
        raise ValueError(
            f"max_depth must be large enough for leaves of at most {_MAX_LEAF_LABELS} labels, "
            f"got {max_depth}, which with arity={arity} leaves one of {n_labels}"
        )
