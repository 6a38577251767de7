"""Label trees cut into blocks of sixteen classifiers, and put together again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defrag._native import LabelTreeArrays, LabelTreeWeights
from defrag.classifiers._cost import LANES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag.typing import Offsets

__all__ = ["block_costs", "blocks_of_nodes", "join_blocks", "node_blocks"]


def n_outputs(tree: LabelTreeArrays) -> NDArray[np.int64]:
    """Return the number of classifiers of each node: one per child, or per label of a leaf."""
    leaf = tree.n_children == 0
    return np.where(leaf, tree.end - tree.begin, tree.n_children).astype(np.int64)


def blocks_of_nodes(tree: LabelTreeArrays) -> NDArray[np.int64]:
    """Return the number of blocks of each node."""
    return -(-n_outputs(tree) // LANES)


def block_costs(tree: LabelTreeArrays, points_of_label: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cost of each block in breadth-first order: the points of its node, at least 1.

    Parameters
    ----------
    tree : LabelTreeArrays
        The tree.
    points_of_label : ndarray of int64, shape (n_labels,)
        Number of points of each label.
    """
    before = np.concatenate([[0], np.cumsum(points_of_label[tree.order])])
    points = before[tree.end] - before[tree.begin]
    return np.repeat(1.0 + points, blocks_of_nodes(tree))


def node_blocks(tree: LabelTreeArrays, first: int, last: int) -> Offsets:
    """Return the blocks ``first`` to ``last - 1`` as rows (node, first block, last block).

    Examples
    --------
    >>> import numpy as np
    >>> from defrag._native import LabelTreeArrays
    >>> from defrag.classifiers.label_trees._blocks import node_blocks
    >>> root = [np.array([x], dtype=np.int32) for x in (1, 0, 0, 40)]
    >>> tree = LabelTreeArrays(*root, np.arange(40, dtype=np.int32))
    >>> node_blocks(tree, 1, 3).tolist()
    [[0, 1, 3]]
    """
    ends = np.cumsum(blocks_of_nodes(tree))
    begins = ends - blocks_of_nodes(tree)
    nodes = np.flatnonzero((begins < last) & (ends > first))
    low = np.maximum(first, begins[nodes]) - begins[nodes]
    high = np.minimum(last, ends[nodes]) - begins[nodes]
    return np.stack([nodes, low, high], axis=1)


def join_blocks(
    tree: LabelTreeArrays, parts: Sequence[tuple[Offsets, LabelTreeWeights]]
) -> LabelTreeWeights:
    """Return the classifiers of a tree.

    Parameters
    ----------
    tree : LabelTreeArrays
        The tree.
    parts : sequence of (ndarray, LabelTreeWeights)
        Rows of :func:`node_blocks` and their classifiers, in order; every block once.
    """
    blocks = np.concatenate([rows for rows, _ in parts])
    if len(parts) == 1 and len(blocks) == len(tree.begin):
        return parts[0][1]
    node_of_item = blocks[:, 0]
    n_features = np.concatenate([np.diff(one.feature_ptr) for _, one in parts])
    features = np.concatenate([one.features for _, one in parts])
    sizes = np.concatenate([np.diff(one.entry_ptr) for _, one in parts])
    outputs = np.concatenate([one.outputs for _, one in parts])
    weights = np.concatenate([one.weights for _, one in parts])
    nodes = np.repeat(node_of_item, n_features)
    if len(node_of_item) > len(tree.begin):  # a node comes from several parts
        order = np.lexsort((features, nodes))  # stable: blocks of a feature stay in order
        starts = (np.cumsum(sizes) - sizes)[order]
        nodes, features, sizes = nodes[order], features[order], sizes[order]
        shift = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
        entries = np.arange(len(outputs)) + shift
        outputs, weights = outputs[entries], weights[entries]
        new = np.append(True, (np.diff(nodes) != 0) | (np.diff(features) != 0))[: len(nodes)]
        firsts = np.flatnonzero(new)
        sizes = np.add.reduceat(sizes, firsts) if len(firsts) else sizes
        nodes, features = nodes[firsts], features[firsts]
    counts = np.bincount(nodes, minlength=len(tree.begin))
    return LabelTreeWeights(
        feature_ptr=_offsets(counts),
        features=features,
        entry_ptr=_offsets(sizes),
        outputs=outputs,
        weights=weights,
        bias_ptr=_offsets(n_outputs(tree)),
        bias=np.concatenate([one.bias for _, one in parts]),
    )


def _offsets(sizes: NDArray[np.int64]) -> Offsets:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
