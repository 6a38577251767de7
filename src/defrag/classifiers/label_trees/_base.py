"""Base class of ensembles of label trees: training by node, and beam search."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone

from defrag import _native
from defrag._native import LabelTreeArrays, LabelTreeWeights, Loss
from defrag._progress import progress_bar
from defrag.classifiers._base import labels_with_points, unit_rows
from defrag.classifiers._cost import LANES, Cost
from defrag.classifiers._division import Divisible, Division
from defrag.classifiers._explain import best_labels
from defrag.classifiers._following import take_followed
from defrag.classifiers.label_trees._blocks import (
    block_costs,
    blocks_of_nodes,
    join_blocks,
    node_blocks,
)
from defrag.classifiers.label_trees._explain import TreeScore, TreesExplainer
from defrag.explain.explainers import members_that_found
from defrag.trees.balanced import build_tree
from defrag.trees.following import follow_tree
from defrag.trees.seeds import member_seeds
from defrag.trees.vectors import label_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from defrag._native import FeatureIndex, KernelRows, SolverOptions, StoredTreeWeights
    from defrag.classifiers._division import Arrays, Piece
    from defrag.explain.explainers import Explainer
    from defrag.trees.balanced import BalancedTree
    from defrag.typing import Csr, Floats, Ids, Offsets

__all__ = ["TrainedTree", "TreeClassifier", "cluster_labels"]

# Memory per non-zero of a point and label of that point: of label vectors, and of weights.
_BYTES_PER_PATH, _BYTES_PER_PATH_AND_TREE = 8, 5
# An index of the features is used for at most this many rows.
_FEW_ROWS = 64


@dataclass(frozen=True)
class TrainedTree:
    """A tree of an ensemble and the classifiers of its nodes."""

    tree: LabelTreeArrays
    weights: LabelTreeWeights | StoredTreeWeights

    @cached_property
    def index(self) -> FeatureIndex:
        """The feature index for searching few rows, built on first use.

        Concurrent threads may each build one; all are equal, and one is kept.
        """
        return _native.FeatureIndex(self.weights)

    @cached_property
    def _place_of_label(self) -> Ids:
        """The position of each label in the order of the tree, or -1."""
        order = self.tree.order
        place = np.full(int(order.max(initial=-1)) + 1, -1, dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        return place

    def places(self, labels: Ids) -> Ids:
        """Return the positions of labels in the order of the tree, or -1."""
        found = self._place_of_label.take(labels, mode="clip")
        found[labels >= len(self._place_of_label)] = -1
        return found

    def __getstate__(self) -> dict[str, Any]:
        # Without cached properties, which are not part of the model.
        return {"tree": self.tree, "weights": self.weights}


@dataclass(frozen=True)
class TreeData:
    """Unit rows, their labels, and the points of each label."""

    X: Csr
    Y: Csr
    positives: Csr


class TreeClassifier(Divisible):
    """Base class of ensembles of label trees."""

    n_trees: int
    beam_size: int
    max_leaf_size: int
    C: float
    weight_threshold: float
    label_entries: int
    verbose: int
    trees_: list[TrainedTree]

    member_noun = "tree"
    seconds_per_step = 2.5e-8
    _discount: ClassVar[float] = 1.0
    # Exponent of the hinge in scores; 2 as published.
    _power: ClassVar[int] = 2

    def _label_vectors(self, data: TreeData, seen: Ids) -> Csr:
        """Return the vectors of the labels ``seen`` for clustering, which all trees share."""
        positives = data.positives
        # The rows of other labels are empty, so that leaving them out copies no entries.
        indptr = np.append(positives.indptr[seen], positives.indptr[-1])
        shape = len(seen), positives.shape[1]
        return label_vectors(
            data.X,
            sparse.csr_array((positives.data, positives.indices, indptr), shape=shape),
            max_entries=self.label_entries,
            n_threads=_native.n_threads(self.n_jobs),
        )

    @abstractmethod
    def _shape(self, vectors: Csr, seen: Ids, seed: int) -> LabelTreeArrays:
        """Return a tree over the labels with points, ``seen``."""

    @abstractmethod
    def _solver(self, seed: int) -> SolverOptions:
        """Return the options of the solver."""

    def _loss(self) -> Loss:
        return Loss.squared_hinge

    def prepare(self, X: Csr, Y: Csr) -> TreeData:
        """Return unit rows and the points of each label."""
        X = unit_rows(X, _native.n_threads(self.n_jobs))
        return TreeData(X, Y, sparse.csr_array(Y.T))  # one transposition for all trees

    def divide(self, data: TreeData, seed: int) -> Division:
        """Return units of sixteen classifiers of a node; the trees are the outline."""
        seen = labels_with_points(data.Y)
        vectors = self._label_vectors(data, seen)
        followed = take_followed(type(self), self.n_trees)
        outline: Arrays = {}
        costs = []
        points = np.diff(data.positives.indptr).astype(np.int64)
        for number, tree_seed in enumerate(member_seeds(seed, self.n_trees)):
            if followed is None:
                tree = self._shape(vectors, seen, tree_seed)
            else:
                tree = follow_tree(
                    followed.model.trees_[number].tree,
                    followed.numbers,
                    vectors,
                    seen,
                    max_leaf_size=self._widths()[2],
                    seed=tree_seed,
                    n_jobs=self.n_jobs,
                )
            outline |= {f"{number}/{name}": array for name, array in vars(tree).items()}
            costs.append(block_costs(tree, points))
        return Division(outline, np.concatenate(costs))

    def train_units(
        self, data: TreeData, seed: int, outline: Arrays, first: int, last: int
    ) -> Arrays:
        """Train a range of blocks; see :meth:`Divisible.train_units`."""
        arrays: Arrays = {}
        seeds = member_seeds(seed, self.n_trees)
        for number, tree, blocks in _blocks_by_tree(self.n_trees, outline, first, last):
            which = f" tree {number + 1} of {self.n_trees}" if self.n_trees > 1 else ""
            with progress_bar(f"training{which}", enabled=self.verbose > 0) as progress:
                weights = _native.train_label_tree(
                    data.X,
                    data.positives,
                    tree,
                    self._solver(seeds[number]),
                    blocks=blocks,
                    n_threads=_native.n_threads(self.n_jobs),
                    progress=progress,
                )
            arrays |= {f"{number}/{name}": array for name, array in vars(weights).items()}
        return arrays

    def assemble(self, outline: Arrays, pieces: Sequence[Piece]) -> None:
        """Set the trees; see :meth:`Divisible.assemble`."""
        parts: list[list[tuple[Offsets, LabelTreeWeights]]] = [[] for _ in range(self.n_trees)]
        for piece in pieces:
            ranges = _blocks_by_tree(self.n_trees, outline, piece.first, piece.last)
            for number, _, blocks in ranges:
                names = [field.name for field in fields(LabelTreeWeights)]
                found = LabelTreeWeights(*(piece.arrays[f"{number}/{name}"] for name in names))
                parts[number].append((blocks, found))
        trees = [_tree(outline, number) for number in range(self.n_trees)]
        self.trees_ = [
            TrainedTree(tree, join_blocks(tree, own))
            for tree, own in zip(trees, parts, strict=True)
        ]

    @property
    def ranks_kernel_rows(self) -> bool:
        """True: label trees search ``KernelRows`` directly."""
        return True

    def rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        """Return the best labels of each row; see :meth:`Classifier.rank`."""
        return self._average(self._answers(X, k, exhaustive=exhaustive), k)

    def _average(self, answers: list[tuple[Ids, Floats]], k: int) -> tuple[Ids, Floats]:
        if len(answers) == 1:
            return answers[0]
        return _native.average_trees(answers, k=k, n_threads=_native.n_threads(self.n_jobs))

    def _answers(self, X: Csr, k: int, *, exhaustive: bool) -> list[tuple[Ids, Floats]]:
        """Return the best labels of each row in each tree."""
        rows = _native.unit_rows(X, n_threads=_native.n_threads(self.n_jobs))
        alone = len(self.trees_) == 1
        n_ranked = k if alone or exhaustive else min(max(k, self.labels_per_member), self.n_labels_)
        return [
            self._search(member, rows, n_ranked, few=X.shape[0] <= _FEW_ROWS, exhaustive=exhaustive)
            for member in self.trees_
        ]

    def explainer(self, row: Csr | None, labels: Ids, k: int) -> Explainer:
        """Return an explainer of the paths to labels; see :meth:`Classifier.explainer`."""
        if row is None or len(self.trees_) == 1:
            return self._explainer(labels, [])
        return self._explainer(labels, self._answers(row, k, exhaustive=False))

    def explain_best(self, row: Csr, n: int, k: int) -> tuple[Ids, Explainer]:
        """Return the best labels and an explainer; see :meth:`Classifier.explain_best`."""
        answers = self._answers(row, k, exhaustive=False)
        labels = best_labels(self._average(answers, k)[0], n)
        return labels, self._explainer(labels, answers)

    def _explainer(self, labels: Ids, answers: list[tuple[Ids, Floats]]) -> Explainer:
        """Return an explainer of the trees that found each label, or of all trees."""
        found = np.ones((len(labels), len(self.trees_)), dtype=np.bool_)
        missed = np.zeros(len(labels), dtype=np.bool_)
        if len(answers) > 1:
            found, missed = members_that_found([ranked for ranked, _ in answers], labels)
        rule = TreeScore(self._loss(), self._discount, self._power)
        return TreesExplainer(self.trees_, labels, rule, found=found, missed=missed)

    def _search(
        self, member: TrainedTree, rows: KernelRows, k: int, *, few: bool, exhaustive: bool
    ) -> tuple[Ids, Floats]:
        """Return the best labels of one tree; ``few`` rows are searched with an index."""
        n_nodes = len(member.tree.begin)
        return _native.beam_search(
            member.tree,
            member.weights,
            rows,
            loss=self._loss(),
            beam_size=n_nodes if exhaustive else min(self._beam(), n_nodes),
            k=k,
            discount=self._discount,
            power=self._power,
            index=member.index if few else None,
            n_threads=_native.n_threads(self.n_jobs),
        )

    def _beam(self) -> int:
        beam: int = self.check_parameter("beam_size")  # it may have been set after fit
        return beam

    def max_ranked(self) -> int:
        """Return the largest number of labels that :meth:`rank` can find for a point."""
        largest = max(int((t.tree.end - t.tree.begin)[t.tree.n_children == 0].max())
                      for t in self.trees_)  # fmt: skip
        in_trees = sum(len(t.tree.order) for t in self.trees_)
        return min(self.n_labels_, in_trees, self._beam() * largest * len(self.trees_))

    @property
    def n_members(self) -> int:
        """Number of trees that are averaged."""
        return self.n_trees

    def as_member(self) -> TreeClassifier:
        """Return an unfitted copy with one tree."""
        member: TreeClassifier = clone(self).set_params(n_trees=1)
        return member

    @abstractmethod
    def _widths(self) -> tuple[int, int, int]:
        """Return the maximum children of the root, children of a node and labels of a leaf."""

    def training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost, estimated from the nodes that contain each point.

        A node contains the points of its labels, so a point is in as many paths as it has
        labels, and in the root. A step processes a non-zero for sixteen children or labels.
        """
        paths = float(np.diff(X.indptr).astype(np.float64) @ np.diff(Y.indptr))
        root_arity, arity, leaf = self._widths()
        n_leaves = max(1, Y.shape[1] / leaf)
        levels = max(0, math.ceil(math.log(max(1.0, n_leaves / root_arity), arity)))
        root = X.nnz * math.ceil(min(root_arity, n_leaves) / LANES)
        below = paths * (levels * math.ceil(arity / LANES) + math.ceil(leaf / LANES))
        vectors = min(paths, Y.shape[1] * (self.label_entries or X.shape[1]))
        memory = vectors * _BYTES_PER_PATH + paths * self.n_trees * _BYTES_PER_PATH_AND_TREE
        return Cost(self.n_trees * (root + below) * self.seconds_per_step, memory)


def _tree(outline: Arrays, number: int) -> LabelTreeArrays:
    names = [field.name for field in fields(LabelTreeArrays)]
    return LabelTreeArrays(*(outline[f"{number}/{name}"] for name in names))


def _blocks_by_tree(
    n_trees: int, outline: Arrays, first: int, last: int
) -> Iterator[tuple[int, LabelTreeArrays, Offsets]]:
    """Yield, for each tree in a range of blocks, its number, the tree and its blocks."""
    begin = 0
    for number in range(n_trees):
        tree = _tree(outline, number)
        end = begin + int(blocks_of_nodes(tree).sum())
        if begin < last and end > first:
            low, high = max(first, begin) - begin, min(last, end) - begin
            yield number, tree, node_blocks(tree, low, high)
        begin = end


def cluster_labels(model: Any, vectors: Csr, seed: int, *, n_leaves: int | None) -> BalancedTree:
    """Return a balanced binary tree of the labels, clustered by their vectors."""
    with progress_bar("clustering labels", enabled=model.verbose > 0) as progress:
        tree, _ = build_tree(
            vectors,
            max_leaf_size=model.max_leaf_size,
            n_leaves=n_leaves,
            seed=seed,
            n_jobs=model.n_jobs,
            progress=progress,
        )
    return tree
