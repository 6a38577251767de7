"""Label trees as arrays, and their training; see ``cpp/core/label_tree.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from defrag import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from defrag.typing import Csr, Floats, Ids, Offsets, Progress

__all__ = ["LabelTreeArrays", "LabelTreeWeights", "StoredTreeWeights", "train_label_tree"]


@dataclass(frozen=True)
class LabelTreeArrays:
    """A tree over labels in breadth-first order.

    Node ``v`` holds the labels ``order[begin[v]:end[v]]``. Its children are the
    ``n_children[v]`` nodes from ``first_child[v]`` on and hold consecutive parts of that
    range; a node without children is a leaf. Node 0 is the root.
    """

    first_child: Ids
    n_children: Ids
    begin: Ids
    end: Ids
    order: Ids


@dataclass(frozen=True)
class LabelTreeWeights:
    """The classifiers of all nodes of a label tree."""

    feature_ptr: Offsets
    features: Ids
    entry_ptr: Offsets
    outputs: NDArray[np.uint16]
    weights: Floats
    bias_ptr: Offsets
    bias: Floats


@dataclass(frozen=True)
class StoredTreeWeights:
    """The classifiers of all nodes in the layout of model files, which kernels read directly.

    Compared with :class:`LabelTreeWeights`, the entries of feature ``f`` are given by their number
    ``sizes[f]``, ``starts[i]`` is where those of feature ``8 * i`` begin, outputs may be uint8,
    and weights may be int8 with a scale per node, or uint16, the bits of float16.
    """

    feature_ptr: Offsets
    features: Ids
    sizes: NDArray[np.uint16 | np.uint32]
    starts: Offsets
    outputs: NDArray[np.uint8 | np.uint16]
    weights: NDArray[Any]
    scales: Floats | None
    bias_ptr: Offsets
    bias: Floats


def train_label_tree(
    X: Csr,
    positives: Csr,
    tree: LabelTreeArrays,
    options: _core.SolverOptions,
    *,
    blocks: Offsets | None = None,
    scale_cost: bool = False,
    n_threads: int,
    progress: Progress | None = None,
) -> LabelTreeWeights:
    """Train the classifiers of every node; row l of ``positives`` contains the points of label l.

    Rows of X are not normalised. With ``blocks``, int64 rows ``(node, first block, last block)``,
    only these blocks of sixteen outputs are trained, and row i is node i of the result.
    """
    arrays = _core.train_label_tree(
        X,
        positives,
        tree,
        options,
        blocks=blocks,
        scale_cost=scale_cost,
        n_threads=n_threads,
        progress=progress,
    )
    return LabelTreeWeights(*arrays)
