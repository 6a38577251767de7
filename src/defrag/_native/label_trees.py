"""Training and searching label trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from defrag import _core
from defrag._core import FeatureIndex
from defrag._native.arrays import KernelRows, csr_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag._native.solver import SolverOptions
    from defrag.typing import Csr, Floats, Ids, Offsets, Progress

__all__ = [
    "FeatureIndex",
    "LabelTreeArrays",
    "LabelTreeWeights",
    "average_trees",
    "beam_search",
    "best_first_search",
    "feature_index",
    "train_label_tree",
    "train_node_blocks",
]


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

    def parts(self) -> tuple[Ids, Ids, Ids, Ids, Ids]:
        """Give the arrays in the order and types that the kernels take."""
        arrays = (self.first_child, self.n_children, self.begin, self.end, self.order)
        a, b, c, d, e = (np.ascontiguousarray(array, dtype=np.int32) for array in arrays)
        return a, b, c, d, e


@dataclass(frozen=True)
class LabelTreeWeights:
    """The classifiers of all nodes of a label tree; see ``cpp/core/label_tree.hpp``."""

    feature_ptr: Offsets
    features: Ids
    entry_ptr: Offsets
    outputs: NDArray[np.uint16]
    weights: Floats
    bias_ptr: Offsets
    bias: Floats

    def parts(
        self,
    ) -> tuple[Offsets, Ids, Offsets, NDArray[np.uint16], Floats, Offsets, Floats]:
        """Give the arrays in the order that the kernels take."""
        return (
            self.feature_ptr,
            self.features,
            self.entry_ptr,
            self.outputs,
            self.weights,
            self.bias_ptr,
            self.bias,
        )


def train_label_tree(
    X: Csr,
    positives: Csr,
    tree: LabelTreeArrays,
    options: SolverOptions,
    *,
    scale_cost: bool = False,
    n_threads: int,
    progress: Progress | None = None,
) -> LabelTreeWeights:
    """Train the classifiers of every node; row l of ``positives`` has the points of label l.

    Rows of X are used as they are.
    """
    parts = _core.train_label_tree(
        csr_parts(X),
        csr_parts(positives),
        tree.parts(),
        n_features=X.shape[1],
        solver=options.to_core(),
        scale_cost=scale_cost,
        n_threads=n_threads,
        progress=progress,
    )
    return LabelTreeWeights(*parts)


def train_node_blocks(
    X: Csr,
    positives: Csr,
    tree: LabelTreeArrays,
    blocks: Offsets,
    options: SolverOptions,
    *,
    scale_cost: bool = False,
    n_threads: int,
    progress: Progress | None = None,
) -> LabelTreeWeights:
    """Train some blocks of sixteen outputs, rows ``(node, first block, last block)``.

    Node i of the result is row i of ``blocks``.
    """
    parts = _core.train_node_blocks(
        csr_parts(X),
        csr_parts(positives),
        tree.parts(),
        np.ascontiguousarray(blocks, dtype=np.int64),
        n_features=X.shape[1],
        solver=options.to_core(),
        scale_cost=scale_cost,
        n_threads=n_threads,
        progress=progress,
    )
    return LabelTreeWeights(*parts)


def feature_index(weights: LabelTreeWeights) -> FeatureIndex:
    """Build the index that ``beam_search`` takes; good for these weights only."""
    return FeatureIndex(weights.feature_ptr, weights.features, weights.entry_ptr)


def beam_search(
    tree: LabelTreeArrays,
    weights: LabelTreeWeights,
    X: Csr | KernelRows,
    *,
    loss: str = "squared_hinge",
    beam_size: int = 10,
    k: int = 5,
    discount: float = 1.0,
    power: int = 2,
    instructions: str = "best",
    index: FeatureIndex | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> tuple[Ids, Floats]:
    """Find the best labels of every row of X, scaled as in training.

    An ``index`` (see ``feature_index``) makes rows that come alone several times as fast and
    changes no result. Returns the labels and their scores, ``(n, k)`` each, by falling
    score and rising label; -1 with score 0 where there are fewer.
    """
    labels, scores = _core.beam_search(
        tree.parts(),
        weights.parts(),
        csr_parts(X),
        n_features=X.shape[1],
        loss=loss,
        beam_size=beam_size,
        k=k,
        discount=discount,
        power=power,
        instructions=instructions,
        index=index,
        n_threads=n_threads,
        progress=progress,
    )
    return labels.reshape(-1, k), scores.reshape(-1, k)


def average_trees(
    trees: Sequence[tuple[Ids, Floats]], *, k: int, n_threads: int = 1
) -> tuple[Ids, Floats]:
    """Average the answers of several trees; a label that one does not give counts as 0."""
    flat = [(labels.ravel(), scores.ravel()) for labels, scores in trees]
    n_rows = len(trees[0][0])
    labels, scores = _core.average_trees(flat, n_rows=n_rows, k=k, n_threads=n_threads)
    return labels.reshape(-1, k), scores.reshape(-1, k)


def best_first_search(
    tree: LabelTreeArrays,
    weights: LabelTreeWeights,
    X: Csr | KernelRows,
    *,
    loss: str = "logistic",
    k: int = 5,
    instructions: str = "best",
    index: FeatureIndex | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> tuple[Ids, Floats]:
    """Find the exact best labels of every row of X; arrays are those of ``beam_search``."""
    labels, scores = _core.best_first_search(
        tree.parts(),
        weights.parts(),
        csr_parts(X),
        n_features=X.shape[1],
        loss=loss,
        k=k,
        instructions=instructions,
        index=index,
        n_threads=n_threads,
        progress=progress,
    )
    return labels.reshape(-1, k), scores.reshape(-1, k)
