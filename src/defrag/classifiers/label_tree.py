"""LabelTree: wide label trees, the recommended classifier.

Top down: the model, its training and its search (:class:`TreeClassifier`, on which the label trees
of ``baselines`` are built too); the recommended settings (:class:`LabelTree`); how training is
divided into blocks, which ``fit`` and ``defrag.distributed`` call; and how a score is taken apart,
which ``explain`` calls.
"""

# ruff: noqa: SLF001 - the units of a training are a part of its classifier

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._native import (
    FeatureIndex,
    KernelRows,
    LabelTreeArrays,
    LabelTreeWeights,
    Loss,
    SolverOptions,
    StoredTreeWeights,
)
from defrag._parameters import Choice, Float, Int, fitted, param
from defrag._progress import progress_bar
from defrag._scikit import clone
from defrag._scratch import keeps, kept, scratch, storage
from defrag.classifiers._blocks import (
    blocks_of_nodes,
    join_blocks,
    join_runs,
    join_waves,
    node_blocks,
    node_costs,
)
from defrag.classifiers._division import Divisible, Division, Found, Piece, Search, Units, Work
from defrag.classifiers._following import Shapes, follow_tree
from defrag.classifiers._subtrees import Lists, Subtrees, TreeData, some_of
from defrag.classifiers._support import LANES, Cost, labels_with_points, unit_rows
from defrag.classifiers._weights import CLASS_WEIGHT, STORED_CLASS_WEIGHT
from defrag.explain.explainers import Explainer, members_that_found, own_features, search_notes
from defrag.explain.parts import FROM_WEIGHTS, Attribution, Parts, Step
from defrag.persistence.fields import Array, Number, Part, State
from defrag.persistence.kinds import Child
from defrag.persistence.trees import (
    TreeEntries,
    check_tree_and_weights,
    stored_weights,
    tree_values,
)
from defrag.trees import BalancedTree, build_tree, label_vectors, member_seeds, widen_tree
from defrag.typing import Csr, Floats, Ids, Offsets

Values = NDArray[np.float64]

# Memory per non-zero of a point and label of that point: of label vectors, and of weights.
_BYTES_PER_PATH, _BYTES_PER_PATH_AND_TREE = 8, 5
# An index of the features is used for at most this many rows.
_FEW_ROWS = 64


_MAX_FEATURES = 2**26 - 1
"""Limit of training. Prediction allocates memory for each feature, even if no tree uses it."""


def _tree_of(part: Part, _: dict[str, Any]) -> TrainedTree:
    weights = stored_weights(part, check_tree_and_weights(part))
    shape = {field.name: part.arrays[field.name] for field in fields(LabelTreeArrays)}
    return TrainedTree(LabelTreeArrays(**shape), weights)


@dataclass(frozen=True)
class TrainedTree:
    """A tree of an ensemble and the classifiers of its nodes."""

    _state = State(
        *(Array(field.name, "int32") for field in fields(LabelTreeArrays)),
        TreeEntries(),
        Array("bias"),
        kind="tree",
        take=lambda one: tree_values(one.tree, one.weights),
        build=_tree_of,
    )

    tree: LabelTreeArrays
    weights: LabelTreeWeights | StoredTreeWeights

    @cached_property
    def index(self) -> FeatureIndex:
        """The feature index for searching few rows, built on first use.

        Concurrent threads may each build one; all are equal, and one is kept.
        """
        return _native.FeatureIndex(self.weights)

    @cached_property
    def search_few(self) -> _native.TreeSearch:
        """The beam search of few rows, with its arguments that do not change; see ``index``."""
        return _native.TreeSearch(self.tree, self.weights, self.index)

    @cached_property
    def place_of_label(self) -> Ids:
        """The position of each label in the order of the tree, or -1."""
        order = self.tree.order
        place = np.full(int(order.max(initial=-1)) + 1, -1, dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        return place

    def places(self, labels: Ids) -> Ids:
        """Return the positions of labels in the order of the tree, or -1."""
        found = self.place_of_label.take(labels, mode="clip")
        found[labels >= len(self.place_of_label)] = -1
        return found

    def __getstate__(self) -> dict[str, Any]:
        # Without cached properties, which are not part of the model.
        return {"tree": self.tree, "weights": self.weights}


def _check_trees(part: Part) -> None:
    n_features, trees = part.state["n_features"], part.children["trees"]
    if n_features > _MAX_FEATURES:
        part.fail(f"n_features of a label tree must be at most {_MAX_FEATURES}, got {n_features}")
    for number, one in enumerate(trees):
        for name, ids, bound in (
            ("order", one.tree.order, part.state["n_labels"]),
            ("features", one.weights.features, n_features),
        ):
            largest = int(ids.max(initial=0))
            if largest >= bound:
                part.fail(f"{part.name(f'trees/{number}/{name}')} must be in [0, {bound}), got "
                          f"{largest}")  # fmt: skip


class TreeClassifier(Divisible):
    """Base class of ensembles of label trees."""

    n_trees: int = param(Int(1), "Number of trees that are averaged.", default=1, kw_only=False)
    C: float = param(
        Float(0.0, open_low=True), "Weight of the loss relative to the regulariser.", default=1.0
    )
    weight_threshold: float = param(
        Float(0.0), "Weights up to this absolute value are dropped.", default=0.1
    )
    label_entries: int = param(
        Int(0),
        "Number of largest entries kept in label vectors for clustering, 0 for all.",
        default=0,
    )
    beam_size: int = param(Int(1), "Number of nodes kept per level of the search.", default=10)
    class_weight: Any = CLASS_WEIGHT

    trees_: list[TrainedTree] = fitted("list of TrainedTree", "The trees.")

    _state = State(
        Child("trees_", TrainedTree, many=True),
        check=_check_trees,
        parameters={"class_weight": STORED_CLASS_WEIGHT},
        absent={"class_weight": None},
    )

    hard_negatives: bool = False

    _member_noun = "tree"
    _seconds_per_step = 2.5e-8
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
            n_threads=self._threads,
        )

    @abstractmethod
    def _shape(self, vectors: Csr, seen: Ids, seed: int) -> LabelTreeArrays:
        """Return a tree over the labels with points, ``seen``."""

    @abstractmethod
    def _solver(self, seed: int) -> SolverOptions:
        """Return the options of the solver."""

    def _leaf_solver(self, seed: int) -> SolverOptions:
        """Return the options of the solver for leaves with hard negatives."""
        return self._solver(seed)

    def _takes_weights(self) -> bool:
        return True

    def _loss(self) -> Loss:
        return Loss.squared_hinge

    def _leaf_discount(self) -> float:
        """Return the factor of the log score of a leaf in those of its labels."""
        return self._discount

    def _units(self) -> TreeUnits:
        """Return units of sixteen classifiers of a node; the trees are the outline."""
        return TreeUnits(self)

    @property
    def _ranks_kernel_rows(self) -> bool:
        """True: label trees search ``KernelRows`` directly."""
        return True

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        rows = _native.unit_rows(X, n_threads=self._threads)
        few = X.shape[0] <= _FEW_ROWS
        options = self._search_options(exhaustive=exhaustive)
        if len(self.trees_) == 1:
            return self._search(self.trees_[0], rows, k, few=few, **options)
        members = [
            (
                one.search_few if few else _native.TreeSearch(one.tree, one.weights, None),
                one.place_of_label,
            )
            for one in self.trees_
        ]
        found: tuple[Ids, Floats] = _native.search_trees(members, rows, k=k, **options)
        return found

    def _search_options(self, *, exhaustive: bool) -> dict[str, Any]:
        """Return the options that all trees are searched with."""
        n_nodes = max(len(one.tree.begin) for one in self.trees_)
        return {
            "loss": self._loss(),
            "beam_size": n_nodes if exhaustive else min(self._beam(), n_nodes),
            "discount": self._discount,
            "leaf_discount": self._leaf_discount(),
            "power": self._power,
            "n_threads": self._threads,
        }

    def _answers(self, X: Csr, k: int) -> list[tuple[Ids, Floats]]:
        """Return the best k labels of each row in each tree."""
        rows = _native.unit_rows(X, n_threads=self._threads)
        k, few = min(k, self.n_labels_), X.shape[0] <= _FEW_ROWS
        options = self._search_options(exhaustive=False)
        return [self._search(one, rows, k, few=few, **options) for one in self.trees_]

    def _n_explained(self, k: int) -> int:  # noqa: ARG002 - for all k
        """Return the number of labels of a tree whose scores count for the best k: all it finds."""
        return self._max_ranked()

    def _explainer(self, row: Csr | None, labels: Ids, k: int) -> Explainer:
        if row is None or len(self.trees_) == 1:
            return self._explainer_of(labels, [])
        return self._explainer_of(labels, self._answers(row, self._n_explained(k)))

    def _explainer_of(self, labels: Ids, answers: list[tuple[Ids, Floats]]) -> Explainer:
        """Return an explainer of the trees that found each label, or of all trees."""
        found = np.ones((len(labels), len(self.trees_)), dtype=np.bool_)
        missed = np.zeros(len(labels), dtype=np.bool_)
        if len(answers) > 1:
            found, missed = members_that_found([ranked for ranked, _ in answers], labels)
        rule = TreeScore(self._loss(), self._discount, self._leaf_discount(), self._power)
        return TreesExplainer(self.trees_, labels, rule, found=found, missed=missed)

    def _search(
        self, member: TrainedTree, rows: KernelRows, k: int, *, few: bool, **options: Any
    ) -> tuple[Ids, Floats]:
        """Return the best labels of one tree; ``few`` rows are searched with an index."""
        if few:
            return member.search_few(rows, k=k, **options)
        return _native.beam_search(member.tree, member.weights, rows, k=k, **options)

    def _beam(self) -> int:
        beam: int = self._check_parameter("beam_size")  # it may have been set after fit
        return beam

    def _max_ranked(self) -> int:
        largest = max(int((t.tree.end - t.tree.begin)[t.tree.n_children == 0].max())
                      for t in self.trees_)  # fmt: skip
        in_trees = sum(len(t.tree.order) for t in self.trees_)
        return min(self.n_labels_, in_trees, self._beam() * largest * len(self.trees_))

    @property
    def _n_members(self) -> int:
        return self.n_trees

    def _as_member(self) -> TreeClassifier:
        member: TreeClassifier = clone(self).set_params(n_trees=1)
        return member

    @abstractmethod
    def _widths(self) -> tuple[int, int, int]:
        """Return the maximum children of the root, children of a node and labels of a leaf."""

    def _training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost, estimated from the nodes that contain each point.

        A node contains the points of its labels, so a point is in as many paths as it has
        labels, and in the root. A step processes a non-zero for sixteen children or labels.
        """
        paths = float(np.diff(X.indptr).astype(np.float64) @ np.diff(Y.indptr))
        root_arity, arity, leaf = self._widths()
        n_leaves = max(1, Y.shape[1] / leaf)
        levels = max(0, math.ceil(math.log(max(1.0, n_leaves / root_arity), arity)))
        root = X.nnz * math.ceil(min(root_arity, n_leaves) / LANES)
        leaf_steps = math.ceil(leaf / LANES) * (_HARD_LEAVES_TIME if self.hard_negatives else 1.0)
        below = paths * (levels * math.ceil(arity / LANES) + leaf_steps)
        vectors = min(paths, Y.shape[1] * (self.label_entries or X.shape[1]))
        memory = vectors * _BYTES_PER_PATH + paths * self.n_trees * _BYTES_PER_PATH_AND_TREE
        return Cost(self.n_trees * (root + below) * self._seconds_per_step, memory)


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


class LabelTree(TreeClassifier):
    """Wide label trees, the recommended classifier.

    The root has up to 128 children, other nodes up to 16, and leaves at most 64 labels. Every
    node solves its one-vs-rest problems sixteen at a time, which is several times faster than
    binary trees and at least as accurate. Leaves learn which points the search leads to them, so
    that one tree is about as accurate as three that do not.

    See Also
    --------
    Parabel : Balanced binary trees, as published.
    Agglomerated : Classifiers on agglomerated features.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import LabelTree
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = [[0], [0], [0], [0], [1, 2], [1, 2], [1], [1], [3], [3], [3], [3]]
    >>> labels, scores = LabelTree(random_state=0).fit(X, Y).predict_topk(X[:5], k=2)
    >>> labels[:, 0]
    array([0, 0, 0, 0, 1], dtype=int32)
    """

    n_trees: int = param(
        doc="Number of trees that are averaged; three are more accurate.", default=1
    )
    hard_negatives: bool = param(
        Choice((True, False)),
        "Whether leaves are also trained on the points that the search leads to them although "
        "they have none of their labels. Without, training takes about two thirds of the time "
        "and is less accurate.",
        default=True,
    )
    preset: str = param(
        Choice(("fast", "default", "exact")),
        "Number of passes of the solver over the points of a node: 4, 8, or up to 20 until the "
        'projected gradients differ by at most 0.1. Except with "exact", points that no longer '
        'change the weights are left out from the fourth pass on; with "fast" from the second, '
        "and also points that change them a little, which saves a fifth of the time and costs "
        "up to half a point of precision.",
        default="default",
    )
    max_leaf_size: int = param(
        Int(1, 65536),
        "Maximum number of labels in a leaf; multiples of 16 are fastest.",
        default=64,
    )
    arity: int = param(Int(2, 65536), "Maximum number of children of a node.", default=16)
    root_arity: int = param(Int(2, 65536), "Maximum number of children of the root.", default=128)
    label_entries: int = param(default=200)

    leaf_discount_: float = fitted(
        "float", "Factor of the log score of a leaf in those of its labels: 0.4 or 1."
    )

    # Models from before hard negatives have neither.
    _state = State(
        Number("leaf_discount_", rule=Float(0.0, 1.0)),
        absent={"hard_negatives": False, "leaf_discount": 1.0},
    )

    # On splits of training data, 3 instead of 2 raises P@3 and P@5 by 0.1 at the same P@1.
    _power = 3

    _seconds_per_step = 2.2e-8

    def _widths(self) -> tuple[int, int, int]:
        return self.root_arity, self.arity, self.max_leaf_size

    def _shape(self, vectors: Csr, seen: Ids, seed: int) -> LabelTreeArrays:
        n_leaves = -(-len(seen) // self.max_leaf_size)
        binary = cluster_labels(self, vectors, seed, n_leaves=n_leaves)
        return widen_tree(binary, seen, arity=self.arity, root_arity=self.root_arity)

    def _leaf_discount(self) -> float:
        return self.leaf_discount_

    def _solver(self, seed: int) -> SolverOptions:
        return self._options(seed, self.C, settle=3)

    def _leaf_solver(self, seed: int) -> SolverOptions:
        # Most negatives are easy, and are left out from the second pass on.
        return self._options(seed, _LEAF_COST * self.C, settle=1)

    def _options(self, seed: int, cost: float, *, settle: int) -> SolverOptions:
        exact = self.preset == "exact"
        return SolverOptions(
            cost=cost,
            max_passes={"fast": 4, "default": 8, "exact": 20}[self.preset],
            tolerance=0.1 if exact else 0.0,
            threshold=self.weight_threshold,
            shrink=0.0 if exact else 0.05,
            skip={"fast": 0.1, "default": 0.03, "exact": 0.01}[self.preset],
            settle={"fast": 1, "default": settle, "exact": 0}[self.preset],
            seed=seed,
        )


# --- Training in parts: blocks of sixteen classifiers of a node, and their joining.

# Hard negatives, chosen on splits of the training data of six sets; see decision 024.
#
# A point is a negative of this many leaves per label that points have on average, and of at most
# ten leaves, the best that the search reaches: leaves have at most five times as many points as
# without, and training them takes about twice as long.
_LEAVES_PER_LABEL, _MOST_LEAVES = 4, 10
_HARD_LEAVES_TIME = 2.0
# Leaves that know which points reach them repeat part of what the nodes above them say.
_LEAF_DISCOUNT = 0.4
# Factor of C in leaves: several times as many points would otherwise outweigh the regulariser.
_LEAF_COST = 0.6


class TreeUnits(Units):
    """Training of an ensemble in blocks of sixteen classifiers of a node.

    With hard negatives there are two waves: the inner nodes, then the leaves, which are also
    trained on the points that a search with the inner nodes leads to them. Without, all nodes are
    wave 0. The outline has the trees by number, the result of some blocks the weights of these
    blocks by the number of their tree and wave (``2 * tree + wave``).
    """

    model: TreeClassifier
    outline_kind, result_kind = LabelTreeArrays, LabelTreeWeights

    def __init__(self, model: TreeClassifier) -> None:
        super().__init__(model)
        self._subtrees: dict[int, Subtrees] = {}
        self._root: dict[int, _native.RootPoints] = {}  # of the tree and wave in work

    def prepare(self, X: Csr, Y: Csr) -> TreeData:
        """Return unit rows and the points of each label."""
        X = unit_rows(X, self.model._threads)
        return TreeData(X, Y, sparse.csr_array(Y.T))  # one transposition for all trees

    def divide(self, data: TreeData, seed: int, shapes: Shapes | None = None) -> Division:
        """Cluster the labels into trees, or let the trees of a previous model keep their leaves."""
        model = self.model
        seen = labels_with_points(data.Y)
        vectors = model._label_vectors(data, seen)
        seeds = member_seeds(seed, model.n_trees)
        if shapes is None:
            trees = [model._shape(vectors, seen, own) for own in seeds]
        else:
            leaf = model._widths()[2]
            trees = [
                follow_tree(
                    previous,
                    shapes.numbers,
                    vectors,
                    seen,
                    max_leaf_size=leaf,
                    seed=own,
                    n_jobs=model.n_jobs,
                )
                for previous, own in zip(
                    shapes.take(type(model), model.n_trees), seeds, strict=True
                )
            ]
        points = np.diff(data.positives.indptr).astype(np.int64)
        costs: list[NDArray[np.float64]] = []
        waves = []
        for wave in range(2):
            for tree in trees:
                nodes = self._nodes(tree, wave)
                per_block = node_costs(tree, points)[nodes]
                if wave and len(nodes):
                    per_block += data.X.shape[0] * leaves_per_point(data.Y) / len(nodes)
                costs.append(np.repeat(per_block, blocks_of_nodes(tree)[nodes]))
                waves.append(np.full(len(costs[-1]), wave, dtype=np.uint8))
        outline = dict(enumerate(trees))
        return Division(outline, np.concatenate(costs), np.concatenate(waves))

    def train(self, data: TreeData, work: Work) -> dict[int, LabelTreeWeights]:
        """Train a range of blocks; a range may begin and end inside a tree."""
        result: dict[int, LabelTreeWeights] = {}
        outline = work.outline
        for number, blocks in self._blocks(outline, work.first, work.last):
            negatives = work.found.get(str(number // 2)) if number % 2 else None
            if number % 2 and negatives is None:
                tree, nodes = outline[number // 2], self._nodes(outline[number // 2], 0)
                own = Piece(work.first, work.last, result)
                known = self._parts(outline, [*work.earlier, own])
                inner = known.get(number - 1)
                if inner is None:  # they are in another process, and are trained again
                    every = node_blocks(tree, nodes, 0, int(blocks_of_nodes(tree)[nodes].sum()))
                    inner = [(every, self._solve(data, work, number - 1, every))]
                trees = {"": self._inner(tree, inner)}
                negatives = self._found(trees, leaves_per_point(data.Y), data.X)[""]
            result[number] = self._solve(data, work, number, blocks, negatives)
        return result

    def needs(self, positives: Csr, work: Work) -> tuple[Ids | None, Found]:
        """Return the points with labels below the nodes of blocks, and the negatives of leaves.

        The root needs all points, and leaves do if they are to find their negatives themselves.
        """
        needed = np.zeros(positives.shape[1], dtype=np.bool_)
        found: dict[str, Lists] = {}
        for number, blocks in self._blocks(work.outline, work.first, work.last):
            tree, nodes, name = work.outline[number // 2], blocks[:, 0], str(number // 2)
            if nodes[0] == 0 or (number % 2 and name not in work.found):
                return None, work.found
            if number % 2:
                found[name] = some_of(work.found[name], nodes)
                needed[found[name][1]] = True
            labels = [tree.order[tree.begin[node] : tree.end[node]] for node in nodes]
            needed[positives[np.concatenate(labels)].indices] = True
        return np.flatnonzero(needed).astype(np.int32), found

    def _solve(
        self,
        data: TreeData,
        work: Work,
        number: int,
        blocks: Offsets,
        negatives: Lists | None = None,
    ) -> LabelTreeWeights:
        """Train some blocks of a tree and wave."""
        model, n_trees = self.model, len(work.outline)
        which, wave = divmod(number, 2)
        own = member_seeds(work.seed, n_trees)[which]
        solver = (model._leaf_solver if wave else model._solver)(own)
        title = f"training{' leaves' * wave}"
        title += f" tree {which + 1} of {n_trees}" if n_trees > 1 else ""
        whole, subtrees = (blocks, data, negatives), self._subtrees.get(number)
        if subtrees is not None and number not in self._root:
            self._root = {number: _native.RootPoints()}
        runs = []
        with progress_bar(title, enabled=model.verbose > 0) as progress:
            for some, near, lists in [whole] if subtrees is None else subtrees.of(blocks):
                found = _native.train_label_tree(
                    near.X,
                    near.positives,
                    work.outline[which],
                    solver,
                    negatives=lists,
                    blocks=some,
                    weights=near.weights,
                    storage=storage(),
                    root=self._root.get(number),
                    n_threads=model._threads,
                    progress=progress if len(some) == len(blocks) else None,
                )
                runs.append(found)
        return join_runs(runs)

    def _nodes(self, tree: LabelTreeArrays, wave: int) -> Ids:
        """Return the nodes of a wave."""
        nodes = np.arange(len(tree.begin), dtype=np.int32)
        # All points reach a root that is a leaf; those without labels would teach it nothing.
        second = (tree.n_children == 0) & self.model.hard_negatives & (len(nodes) > 1)
        return np.asarray(nodes[second == wave])

    def meet(
        self, data: TreeData, outline: Mapping[int, LabelTreeArrays], pieces: Sequence[Piece]
    ) -> Found:
        """Find the negatives of leaves, before these, and the rows of subtrees if X is in files."""
        wave = int(len(pieces) > 0)
        found: Found = {}
        if wave:
            work = Work(0, outline, 0, 0, pieces)
            found = kept(
                "reached leaves", lambda: self.search(data.Y, work)(data.X), self.kept_found
            )
        folder = scratch() if keeps() else None
        for number, tree in outline.items():
            if folder is not None and len(tree.begin) > 1:
                rows = Subtrees(folder, data, tree, found.get(str(number)))
                self._subtrees[2 * number + wave] = rows
        return found

    def search(self, Y: Csr, work: Work) -> Search:
        """Return the search for the negatives of leaves, by the numbers of their trees."""
        known = self._parts(work.outline, work.earlier)
        inner = {
            str(number): self._inner(tree, known[2 * number])
            for number, tree in work.outline.items()
            if len(tree.begin) > 1  # otherwise the root is a leaf
        }
        return partial(self._found, inner, leaves_per_point(Y))

    def _inner(
        self, tree: LabelTreeArrays, parts: Sequence[tuple[Offsets, LabelTreeWeights]]
    ) -> TrainedTree:
        """Return a tree with the classifiers of its inner nodes."""
        nodes = self._nodes(tree, 0)
        return TrainedTree(tree, join_waves(tree, [(nodes, join_blocks(tree, nodes, parts))]))

    def _found(self, inner: Mapping[str, TrainedTree], beam: int, rows: Csr) -> Found:
        """Return the unit rows that the search with inner nodes leads to each leaf."""
        model = self.model
        options: Any = {"loss": model._loss(), "discount": model._discount, "power": model._power}
        return {
            name: _native.reached_leaves(
                one.tree, one.weights, rows, beam_size=beam, n_threads=model._threads, **options
            )
            for name, one in inner.items()
        }

    def _blocks(
        self, trees: Mapping[int, LabelTreeArrays], first: int, last: int
    ) -> Iterator[tuple[int, Offsets]]:
        """Yield the numbers of trees and waves in a range of units, with their blocks."""
        begin = 0
        for wave in range(2):
            for number, tree in trees.items():
                nodes = self._nodes(tree, wave)
                end = begin + int(blocks_of_nodes(tree)[nodes].sum())
                low, high = max(first, begin) - begin, min(last, end) - begin
                if low < high:
                    yield 2 * number + wave, node_blocks(tree, nodes, low, high)
                begin = end

    def _parts(
        self, outline: Mapping[int, LabelTreeArrays], pieces: Sequence[Piece]
    ) -> dict[int, list[tuple[Offsets, LabelTreeWeights]]]:
        """Return the blocks that pieces have of each tree and wave, with their classifiers."""
        parts: dict[int, list[tuple[Offsets, LabelTreeWeights]]] = {}
        for piece in pieces:
            for number, blocks in self._blocks(outline, piece.first, piece.last):
                if number in piece.result:  # otherwise still to be trained
                    parts.setdefault(number, []).append((blocks, piece.result[number]))
        return parts

    def join(self, outline: Mapping[int, LabelTreeArrays], pieces: Sequence[Piece]) -> None:
        """Set the trees with their weights."""
        parts = self._parts(outline, pieces)
        trees = []
        for number, tree in outline.items():
            both = [(self._nodes(tree, wave), parts.get(2 * number + wave)) for wave in range(2)]
            joined = [(nodes, join_blocks(tree, nodes, own)) for nodes, own in both if own]
            trees.append(TrainedTree(tree, join_waves(tree, joined)))
        self.model.trees_ = trees
        if isinstance(self.model, LabelTree):
            self.model.leaf_discount_ = _LEAF_DISCOUNT if self.model.hard_negatives else 1.0


def leaves_per_point(Y: Csr) -> int:
    """Return the number of leaves that a point is a negative of.

    Examples
    --------
    >>> from scipy import sparse
    >>> from defrag.classifiers.label_tree import leaves_per_point
    >>> [leaves_per_point(sparse.csr_array([labels])) for labels in ([1, 0, 0], [1, 1, 1])]
    [4, 10]
    """
    return min(_MOST_LEAVES, -(-_LEAVES_PER_LABEL * int(Y.nnz) // Y.shape[0]))


# --- Explanations of the scores of label trees, by the steps of paths to labels.


@dataclass(frozen=True)
class TreeScore:
    """The function from the margins on a path to the score of a label.

    The search computes the same, ``cpp/core/search/scores.hpp``, and takes the score of one row
    apart; here are the scores of many rows, which explanations compare.

    The score is ``exp(sum of c L(m))`` over the steps of a path, where m is the margin of a step
    and c the product of the discounts of the steps after it.

    - ``loss``: whether ``L(m)`` is ``-max(0, 1 - m) ** power`` or ``-log(1 + exp(-m))``.
    - ``discount``: the factor of the log score of a node in that of its children.
    - ``leaf_discount``: the factor of the log score of a leaf in that of its labels.
    - ``power``: the exponent of the hinge.
    """

    loss: Loss
    discount: float
    leaf_discount: float
    power: int

    def discounts(self, steps_after: NDArray[np.int64]) -> Values:
        """Return c for steps, given the number of steps after them."""
        inner = self.discount ** np.maximum(steps_after - 1, 0).astype(np.float64)
        return np.where(steps_after > 0, self.leaf_discount * inner, 1.0)

    def gain(self, margins: Values) -> Values:
        """Return ``L(m)`` for margins."""
        if self.loss == Loss.logistic:
            return -np.logaddexp(0.0, -margins)
        return np.asarray(-(np.maximum(0.0, 1.0 - margins) ** self.power))


@dataclass(frozen=True)
class _Paths:
    """The paths to labels in all trees, concatenated.

    Path p leads to label ``label[p]``, and its steps begin at ``begin[p]``; a step has a discount
    c, a bias and a row of weights.
    """

    label: Ids
    begin: NDArray[np.int64]
    discounts: Values
    bias: Values
    weights: Values


class TreesExplainer(Explainer):
    """Explainer of some labels in an ensemble of label trees.

    - ``labels``: the labels; a label that is not in a tree has the score 0 there.
    - ``rule``: the function from margins to scores.
    - ``found``, shape (n_labels, n_members): whether the search of a tree found a label; its score
      is 0 in the other trees.
    - ``missed``, shape (n_labels,): the labels that no search found; they are scored in all trees.
    """

    def __init__(
        self,
        members: Sequence[TrainedTree],
        labels: Ids,
        rule: TreeScore,
        *,
        found: NDArray[np.bool_],
        missed: NDArray[np.bool_],
    ) -> None:
        self._members = members
        self._rule = rule
        self._found, self._missed = found, missed
        self._places = [member.places(labels) for member in members]
        for number, places in enumerate(self._places):
            places[~found[:, number]] = -1

    def _paths(self, features: Ids) -> _Paths | None:
        """Return the paths to all labels that are found in a tree, or None."""
        known = [np.flatnonzero(places >= 0) for places in self._places]
        if not any(map(len, known)):
            return None
        parts = [
            _native.label_paths(one.tree, one.weights, places[own], features)
            for one, places, own in zip(self._members, self._places, known, strict=True)
        ]
        n_steps = np.concatenate([np.diff(part.step_ptr) for part in parts])
        end = np.cumsum(n_steps)
        steps_after = np.repeat(end, n_steps) - 1 - np.arange(end[-1])
        return _Paths(
            label=np.concatenate(known).astype(np.int32),
            begin=end - n_steps,
            discounts=self._rule.discounts(steps_after),
            bias=np.concatenate([part.bias for part in parts]).astype(np.float64),
            weights=np.concatenate([part.weights for part in parts]).astype(np.float64),
        )

    def scores(self, X: Csr) -> Values:
        """Return the scores of the labels for the rows of a canonical matrix."""
        features, product = own_features(_native.unit_rows(X, n_threads=1))
        paths = self._paths(features)
        if paths is None:
            return np.zeros((X.shape[0], len(self._found)))
        gains = paths.discounts * self._rule.gain(paths.bias + product(paths.weights))
        logs = np.add.reduceat(gains, paths.begin, axis=-1)
        share = np.zeros((len(paths.label), len(self._found)))
        share[np.arange(len(paths.label)), paths.label] = 1.0 / len(self._members)
        return np.asarray(np.exp(logs) @ share)

    def attribute(self, row: Csr) -> Attribution:
        """Return the contributions of the entries of a row to the scores."""
        return self.take_apart(row).attribution

    def take_apart(self, row: Csr) -> Parts:
        """Return the contributions to the scores of a row, and the scores without its entries."""
        n_labels, share = len(self._found), 1.0 / len(self._members)
        steps: list[list[Step]] = [[] for _ in range(n_labels)]
        scores, bases = np.zeros(n_labels), np.zeros(n_labels)
        contributions, without = np.zeros((n_labels, row.nnz)), np.zeros((row.nnz, n_labels))
        entries = row.indices, row.data, _native.unit_rows(row, n_threads=1).data
        rule = self._rule
        for number, (member, places) in enumerate(zip(self._members, self._places, strict=True)):
            known = (places >= 0).nonzero()[0]
            found = _native.path_parts(
                member.tree,
                member.weights,
                places[known],
                *entries,
                loss=rule.loss,
                discount=rule.discount,
                leaf_discount=rule.leaf_discount,
                power=rule.power,
            )
            scores[known] += share * found.scores
            bases[known] += share * found.bases
            without[:, known] += share * found.without.T
            parts = share * found.contributions
            columns = (found.nodes, found.outputs, found.step_scores, found.step_bases)
            rows = list(zip(*(column.tolist() for column in columns), parts, strict=True))
            ends = found.step_ptr.tolist()
            for i, label in enumerate(known.tolist()):
                own = slice(ends[i], ends[i + 1])
                contributions[label] += parts[own].sum(axis=0)
                steps[label] += [Step(number, *step) for step in rows[own]]
        notes = search_notes(self._found, self._missed)
        return Parts(scores, bases, without, Attribution(contributions, steps, notes, FROM_WEIGHTS))
