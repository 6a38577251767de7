"""What label trees share: an ensemble of trees, trained node by node, searched by beam."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from defrag import _native
from defrag._progress import progress_bar
from defrag.classifiers._base import Classifier, labels_with_points, unit_rows
from defrag.trees.balanced import build_tree
from defrag.trees.seeds import member_seeds
from defrag.trees.vectors import label_vectors

if TYPE_CHECKING:
    from defrag._native import (
        FeatureIndex,
        KernelRows,
        LabelTreeArrays,
        LabelTreeWeights,
        SolverOptions,
    )
    from defrag.trees.balanced import BalancedTree
    from defrag.typing import Csr, Floats, Ids

__all__ = ["TrainedTree", "TreeClassifier", "cluster_labels"]

# Up to so many rows in a call are searched through an index of the features.
_FEW_ROWS = 64


@dataclass(frozen=True)
class TrainedTree:
    """One tree of an ensemble: its shape and the classifiers of its nodes."""

    tree: LabelTreeArrays
    weights: LabelTreeWeights

    @cached_property
    def index(self) -> FeatureIndex:
        """The index for rows that come alone, built when the first one comes.

        Threads that come at the same time may each build one: they are equal, and one stays.
        """
        return _native.feature_index(self.weights)

    def __getstate__(self) -> dict[str, Any]:
        # The index is no part of the model.
        return {"tree": self.tree, "weights": self.weights}


class TreeClassifier(Classifier):
    """Ensembles of label trees; a subclass says how a tree is shaped and its nodes solved."""

    n_trees: int
    beam_size: int
    max_leaf_size: int
    C: float
    weight_threshold: float
    label_entries: int
    verbose: int
    trees_: list[TrainedTree]

    _discount: ClassVar[float] = 1.0
    # How a hinge counts in a score: squared, as published.
    _power: ClassVar[int] = 2

    def _label_vectors(self, X: Csr, Y: Csr) -> Csr:
        """Give the vectors by which labels are clustered, the same for every tree."""
        threads = _native.n_threads(self.n_jobs)
        return label_vectors(X, Y, max_entries=self.label_entries, n_threads=threads)

    def _shape(self, vectors: Csr, seen: Ids, seed: int) -> LabelTreeArrays:
        """Build a tree over the labels ``seen``, those that have points."""
        raise NotImplementedError

    def _solver(self, seed: int) -> SolverOptions:
        """Say how a node is solved."""
        raise NotImplementedError

    def _loss(self) -> str:
        return "squared_hinge"

    def _train(self, X: Csr, Y: Csr, seed: int) -> None:
        threads = _native.n_threads(self.n_jobs)
        X = unit_rows(X, threads)
        seen = labels_with_points(Y)
        vectors = self._label_vectors(X, Y if len(seen) == Y.shape[1] else Y[:, seen])
        trees = []
        for number, tree_seed in enumerate(member_seeds(seed, self.n_trees)):
            tree = self._shape(vectors, seen, tree_seed)
            name = f"training tree {number + 1} of {self.n_trees}"
            with progress_bar(name, enabled=self.verbose > 0) as progress:
                weights = _native.train_label_tree(
                    X, Y, tree, self._solver(tree_seed), n_threads=threads, progress=progress
                )
            trees.append(TrainedTree(tree, weights))
        self.trees_ = trees

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        threads = _native.n_threads(self.n_jobs)
        rows = _native.unit_rows(X, n_threads=threads)
        alone = len(self.trees_) == 1
        top_k = k if alone or exhaustive else min(max(k, self._handed_on), self.n_labels_)
        answers = [
            self._search(member, rows, top_k, few=X.shape[0] <= _FEW_ROWS, exhaustive=exhaustive)
            for member in self.trees_
        ]
        if alone:
            return answers[0]
        return _native.average_trees(answers, top_k=k, n_threads=threads)

    def _search(
        self, member: TrainedTree, rows: KernelRows, top_k: int, *, few: bool, exhaustive: bool
    ) -> tuple[Ids, Floats]:
        """Give the best labels of one tree; ``few`` rows are worth an index."""
        n_nodes = len(member.tree.begin)
        return _native.beam_search(
            member.tree,
            member.weights,
            rows,
            loss=self._loss(),
            beam_size=n_nodes if exhaustive else min(self.beam_size, n_nodes),
            top_k=top_k,
            discount=self._discount,
            power=self._power,
            index=member.index if few else None,
            n_threads=_native.n_threads(self.n_jobs),
        )

    def _reach(self) -> int:
        largest = max(int((t.tree.end - t.tree.begin)[t.tree.n_children == 0].max())
                      for t in self.trees_)  # fmt: skip
        in_trees = sum(len(t.tree.order) for t in self.trees_)
        return min(self.n_labels_, in_trees, self.beam_size * largest * len(self.trees_))


def cluster_labels(model: Any, vectors: Csr, seed: int, *, n_leaves: int | None) -> BalancedTree:
    """Cluster labels into a balanced binary tree by their vectors."""
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
