"""Division of label trees into blocks of sixteen classifiers, and joining of trained blocks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from defrag._native import LabelTreeArrays, LabelTreeWeights
from defrag.classifiers._cost import LANES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from defrag.typing import Floats, Ids, Offsets

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
    """Return the classifiers of a tree, joined from parts.

    Parameters
    ----------
    tree : LabelTreeArrays
        The tree.
    parts : sequence of (ndarray, LabelTreeWeights)
        Results of :func:`node_blocks` and the classifiers of these blocks, in order; every block
        occurs once.
    """
    if len(parts) == 1:
        return parts[0][1]
    runs = [
        one
        for cut, group in groupby(_runs(parts), key=itemgetter(0))
        for one in _merged([run for _, run in group], cut=cut is not None)
    ]
    return LabelTreeWeights(
        feature_ptr=_offsets(np.concatenate([one.n_features for one in runs])),
        features=np.concatenate([one.features for one in runs]),
        entry_ptr=_offsets(np.concatenate([one.sizes for one in runs])),
        outputs=np.concatenate([one.outputs for one in runs]),
        weights=np.concatenate([one.weights for one in runs]),
        bias_ptr=_offsets(n_outputs(tree)),
        bias=np.concatenate([one.bias for _, one in parts]),
    )


@dataclass(frozen=True)
class _Run:
    """Classifiers of consecutive nodes, without biases; ``sizes`` counts entries per feature."""

    n_features: NDArray[np.int64]
    features: Ids
    sizes: NDArray[np.int64]
    outputs: NDArray[np.uint16]
    weights: Floats


def _runs(
    parts: Sequence[tuple[Offsets, LabelTreeWeights]],
) -> Iterator[tuple[int | None, _Run]]:
    """Yield runs of nodes in order, with the number of the node for the first and last of a part.

    Only these two nodes can be divided between parts; they are runs of their own.
    """
    for rows, one in parts:
        n = len(rows)
        yield int(rows[0, 0]), _run(one, 0, 1)
        if n > 2:
            yield None, _run(one, 1, n - 1)
        if n > 1:
            yield int(rows[n - 1, 0]), _run(one, n - 1, n)


def _run(one: LabelTreeWeights, first: int, last: int) -> _Run:
    begin, end = one.feature_ptr[first], one.feature_ptr[last]
    entries = slice(one.entry_ptr[begin], one.entry_ptr[end])
    return _Run(
        n_features=np.diff(one.feature_ptr[first : last + 1]),
        features=one.features[begin:end],
        sizes=np.diff(one.entry_ptr[begin : end + 1]),
        outputs=one.outputs[entries],
        weights=one.weights[entries],
    )


def _merged(runs: list[_Run], *, cut: bool) -> list[_Run]:
    """Return one run for the parts of a node that is ``cut``; other runs are unchanged."""
    if not cut or len(runs) == 1:
        return runs
    features = np.concatenate([one.features for one in runs])
    sizes = np.concatenate([one.sizes for one in runs])
    order = np.argsort(features, kind="stable")  # stable: the blocks of a feature stay in order
    starts = (np.cumsum(sizes) - sizes)[order]
    features, sizes = features[order], sizes[order]
    entries = np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    firsts = np.flatnonzero(np.append(True, np.diff(features) != 0)[: len(features)])
    return [
        _Run(
            n_features=np.array([len(firsts)]),
            features=features[firsts],
            sizes=np.add.reduceat(sizes, firsts) if len(firsts) else sizes,
            outputs=np.concatenate([one.outputs for one in runs])[entries],
            weights=np.concatenate([one.weights for one in runs])[entries],
        )
    ]


def _offsets(sizes: NDArray[np.int64]) -> Offsets:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
