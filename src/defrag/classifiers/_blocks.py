"""Blocks of sixteen classifiers of the nodes of a tree, and how they are joined to those of all.

``TreeUnits`` divides the training of label trees into such blocks and joins what ``fit``, or the
processes and machines of ``defrag.distributed``, have made of them: node by node, feature by
feature, so that any division gives the arrays of one training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from defrag._native import LabelTreeArrays, LabelTreeWeights
from defrag.classifiers._support import LANES
from defrag.persistence.trees import n_outputs, offsets
from defrag.typing import Floats, Ids, Offsets


def _widths(tree: LabelTreeArrays) -> NDArray[np.int64]:
    """Return the number of classifiers of each node."""
    return n_outputs(tree.n_children, tree.begin, tree.end)


def blocks_of_nodes(tree: LabelTreeArrays) -> NDArray[np.int64]:
    """Return the number of blocks of each node."""
    return -(-_widths(tree) // LANES)


def node_costs(tree: LabelTreeArrays, points_of_label: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cost of a block of each node: the points of its labels, at least 1.

    - ``points_of_label``, shape (n_labels,): number of points of each label.
    """
    before = np.concatenate([[0], np.cumsum(points_of_label[tree.order])])
    return np.asarray(1.0 + before[tree.end] - before[tree.begin])


def node_blocks(tree: LabelTreeArrays, nodes: Ids, first: int, last: int) -> Offsets:
    """Return the blocks ``first`` to ``last - 1`` of nodes as rows (node, first block, last block).

    Examples
    --------
    >>> import numpy as np
    >>> from defrag._native import LabelTreeArrays
    >>> from defrag.classifiers._blocks import node_blocks
    >>> root = [np.array([x], dtype=np.int32) for x in (1, 0, 0, 40)]
    >>> tree = LabelTreeArrays(*root, np.arange(40, dtype=np.int32))
    >>> node_blocks(tree, np.array([0], dtype=np.int32), 1, 3).tolist()
    [[0, 1, 3]]
    """
    n_blocks = blocks_of_nodes(tree)[nodes]
    ends = np.cumsum(n_blocks)
    begins = ends - n_blocks
    chosen = np.flatnonzero((begins < last) & (ends > first))
    low = np.maximum(first, begins[chosen]) - begins[chosen]
    high = np.minimum(last, ends[chosen]) - begins[chosen]
    return np.stack([nodes[chosen], low, high], axis=1).astype(np.int64)


def join_blocks(
    tree: LabelTreeArrays, nodes: Ids, parts: Sequence[tuple[Offsets, LabelTreeWeights]]
) -> LabelTreeWeights:
    """Return the classifiers of some nodes of a tree, joined from parts.

    - ``nodes``: the nodes, in ascending order.
    - ``parts``: results of :func:`node_blocks` and the classifiers of these blocks, in order; every
      block occurs once.
    """
    if len(parts) == 1:
        return parts[0][1]
    runs = [
        one
        for cut, group in groupby(_runs(parts), key=itemgetter(0))
        for one in _merged([run for _, run in group], cut=cut is not None)
    ]
    bias = np.concatenate([one.bias for _, one in parts])
    return _concatenated(runs, _widths(tree)[nodes], bias)


def join_runs(runs: Sequence[LabelTreeWeights]) -> LabelTreeWeights:
    """Return the classifiers of runs of nodes, of which none is divided."""
    if len(runs) == 1:
        return runs[0]
    widths = np.concatenate([np.diff(one.bias_ptr) for one in runs])
    every = [_run(one, 0, len(one.bias_ptr) - 1) for one in runs]
    return _concatenated(every, widths, np.concatenate([one.bias for one in runs]))


def join_waves(
    tree: LabelTreeArrays, waves: Sequence[tuple[Ids, LabelTreeWeights]]
) -> LabelTreeWeights:
    """Return the classifiers of all nodes of a tree, given those of waves.

    - ``waves``: nodes in ascending order, and their classifiers. Other nodes have none in the
      result, which can be searched down to these.
    """
    n_nodes = len(tree.begin)
    owner, place = np.full(n_nodes, -1), np.zeros(n_nodes, dtype=np.int64)
    for number, (nodes, one) in enumerate(waves):
        if len(nodes) == n_nodes:
            return one
        owner[nodes], place[nodes] = number, np.arange(len(nodes))
    runs, bias = [], []
    cuts = [0, *(np.flatnonzero(np.diff(owner)) + 1).tolist(), n_nodes]
    for first, last in pairwise(cuts):
        if owner[first] < 0:
            runs.append(_run(_nothing(last - first), 0, last - first))
            continue
        one, begin = waves[owner[first]][1], int(place[first])
        end = begin + last - first
        runs.append(_run(one, begin, end))
        bias.append(one.bias[one.bias_ptr[begin] : one.bias_ptr[end]])
    return _concatenated(runs, _widths(tree) * (owner >= 0), np.concatenate(bias))


def _nothing(n_nodes: int) -> LabelTreeWeights:
    """Return the weights of nodes without classifiers."""
    pointers, floats = np.zeros(n_nodes + 1, dtype=np.int64), np.zeros(0, dtype=np.float32)
    ids, outputs = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.uint16)
    return LabelTreeWeights(pointers, ids, pointers[:1], outputs, floats, pointers, floats)


def _concatenated(
    runs: Sequence[_Run], widths: NDArray[np.int64], bias: Floats
) -> LabelTreeWeights:
    return LabelTreeWeights(
        feature_ptr=offsets(np.concatenate([one.n_features for one in runs])),
        features=np.concatenate([one.features for one in runs]),
        entry_ptr=offsets(np.concatenate([one.sizes for one in runs])),
        outputs=np.concatenate([one.outputs for one in runs]),
        weights=np.concatenate([one.weights for one in runs]),
        bias_ptr=offsets(widths),
        bias=bias,
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
