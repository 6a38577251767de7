"""Label trees as published: Parabel, Bonsai and PLT.

Baselines of :class:`~defrag.LabelTree`, whose training and search they share. Each states how
labels are clustered into a tree; Bonsai adds k-ary clustering, PLT a logistic loss and an exact
search.
"""

from __future__ import annotations

import heapq
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._native import KernelRows, LabelTreeArrays, Loss, SolverOptions
from defrag._parameters import Choice, Float, Int, param
from defrag._progress import progress_bar
from defrag.classifiers._subtrees import TreeData
from defrag.classifiers._support import unit_rows
from defrag.classifiers.label_tree import TrainedTree, TreeClassifier, cluster_labels
from defrag.trees import widen_tree
from defrag.typing import Csr, Floats, Ids, Progress


class PublishedTrees(TreeClassifier):
    """Base class of label trees that are solved as published: by passes until a tolerance."""

    max_passes: int = param(
        Int(1), "Maximum number of passes of the solver over the points of a node.", default=20
    )
    tol: float = param(
        Float(0.0),
        "The solver stops when its projected gradients differ by at most this.",
        default=0.1,
    )

    def _solver(self, seed: int) -> SolverOptions:
        return SolverOptions(
            loss=self._loss(),
            cost=self.C,
            bias=1.0,
            offset=False,
            max_passes=self.max_passes,
            tolerance=self.tol,
            threshold=self.weight_threshold,
            seed=seed,
        )

    def _shape(self, vectors: Csr, seen: Ids, seed: int) -> LabelTreeArrays:
        arity, root_arity, _ = self._widths()
        binary = cluster_labels(self, vectors, seed, n_leaves=None)
        return widen_tree(binary, seen, arity=arity, root_arity=root_arity)


class Parabel(PublishedTrees):
    """Balanced binary label trees (Prabhu et al., 2018).

    See Also
    --------
    LabelTree : Faster, and at least as accurate.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import Parabel
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> model = Parabel(random_state=0).fit(X, np.repeat(["a", "b", "c"], 4))
    >>> model.predict(X[::4]).tolist()
    ['a', 'b', 'c']
    """

    n_trees: int = param(default=3)
    max_leaf_size: int = param(Int(1, 65536), "Maximum number of labels in a leaf.", default=100)

    _seconds_per_step = 1.4e-8

    def _widths(self) -> tuple[int, int, int]:
        return 2, 2, self.max_leaf_size


# --- Shallow, unbalanced k-ary trees built by spherical k-means.

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

    - ``arity``: maximum number of children; a node with at most this many labels is a leaf.
    - ``max_depth``: maximum number of nodes on a path from the root to a leaf, both included.
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
            own = vectors if len(members) == n_labels else vectors[members]
            found = _native.spherical_kmeans(
                own, n_clusters=arity, seed=seed, item=number, n_threads=n_threads
            )
            clusters = resolve_singletons(found.cluster, found.second)
            ends = np.cumsum(np.bincount(clusters))
            if len(ends) > 1:
                parts = np.split(members[np.argsort(clusters, kind="stable")], ends[:-1])
        if not parts:
            if len(members) > _MAX_LEAF_LABELS:
                raise ValueError(
                    f"max_depth must be large enough for leaves of at most {_MAX_LEAF_LABELS} "
                    f"labels, got {max_depth}, which with arity={arity} leaves one of "
                    f"{len(members)}"
                )
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

    - ``cluster``, ``second``, shape (n_items,): the best and the second best cluster of each item,
      or -1.
    - Returns ``clusters``, shape (n_items,): clusters 0, 1, ... without gaps, in the order of the
      given numbers, with at least two items each unless there is only one item.
    """
    result = cluster.astype(np.int32, copy=True)
    n_clusters = max(int(cluster.max()), int(second.max()), 0) + 1
    sizes = np.bincount(result[result >= 0], minlength=n_clusters).astype(np.int32)
    _merge_singles(result, second, sizes)
    _fill_smallest(result, sizes)
    numbers = np.cumsum(np.bincount(result) > 0) - 1
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


def _fill_smallest(result: Ids, sizes: Ids) -> None:
    """Assign items without a cluster, then those that are still alone, to the smallest cluster."""
    heap = [(int(sizes[c]), int(c)) for c in np.flatnonzero(sizes)] or [(0, 0)]
    heapq.heapify(heap)
    for item in np.flatnonzero(result < 0).tolist():
        size, smallest = heap[0]
        result[item] = smallest
        heapq.heapreplace(heap, (size + 1, smallest))
    lone = {int(result[i]): int(i) for i in np.flatnonzero(np.bincount(result)[result] == 1)}
    while len(heap) > 1 and heap[0][0] == 1:
        _, single = heapq.heappop(heap)
        size, target = heap[0]
        result[lone[single]] = target
        heapq.heapreplace(heap, (size + 1, target))


class Bonsai(PublishedTrees):
    """Shallow, unbalanced label trees (Khandagale et al., 2020).

    Labels are clustered by spherical k-means into up to 100 children per node of any size, so
    that similar labels stay together and errors accumulate over few levels. The label of a
    cluster of size one moves to its second best cluster. Labels that are not similar to any
    centre join the smallest cluster (in the published program, the first).

    See Also
    --------
    LabelTree : Balanced wide trees.
    Parabel : Balanced binary trees, as published.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import Bonsai
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> model = Bonsai(arity=2, random_state=0).fit(X, np.repeat(["a", "b", "c"], 4))
    >>> model.predict(X[::4]).tolist()
    ['a', 'b', 'c']
    """

    n_trees: int = param(default=3)
    arity: int = param(
        Int(2, 65536),
        "Maximum number of children; a node with at most this many labels is a leaf.",
        default=100,
    )
    max_depth: int = param(
        Int(1),
        "Maximum number of nodes on a path from the root to a leaf, both included; use 3 for "
        "more than about 50,000 labels.",
        default=2,
    )
    label_representation: str = param(
        Choice(("x", "y", "xy")),
        "Vector of a label for clustering: the sum of its points, its co-occurrences with "
        "other labels, or both.",
        default="x",
    )

    _seconds_per_step = 2.7e-8

    _discount: ClassVar[float] = 0.98

    def _widths(self) -> tuple[int, int, int]:
        return self.arity, self.arity, self.arity

    def _shape(self, vectors: Csr, seen: Ids, seed: int) -> LabelTreeArrays:
        with progress_bar("clustering labels", enabled=self.verbose > 0) as progress:
            return build_kary_tree(
                vectors,
                seen,
                arity=self.arity,
                max_depth=self.max_depth,
                seed=seed,
                n_threads=self._threads,
                progress=progress,
            )

    def _label_vectors(self, data: TreeData, seen: Ids) -> Csr:
        parts = []
        if "x" in self.label_representation:
            parts.append(super()._label_vectors(data, seen))
        if "y" in self.label_representation:
            Y = data.Y[:, seen]
            parts.append(co_occurrences(Y, max_entries=self.label_entries, n_threads=self._threads))
        if len(parts) == 1:
            return parts[0]
        both = sparse.csr_array(sparse.hstack(parts, format="csr"))
        both.sort_indices()
        return unit_rows(both, self._threads)


def co_occurrences(Y: Csr, *, max_entries: int, n_threads: int) -> Csr:
    """Return the L2-normalised co-occurrences of labels; ``max_entries=0`` keeps all."""
    # One more entry, since a label occurs most often with itself, and that entry is removed.
    kept = max_entries + 1 if max_entries else 0
    counts = _native.multiply(sparse.csr_array(Y.T), Y, max_entries=kept, n_threads=n_threads)
    own = np.repeat(np.arange(Y.shape[1]), np.diff(counts.indptr)) == counts.indices
    counts.data[own] = 0.0
    counts.eliminate_zeros()
    return unit_rows(counts, n_threads)


class PLT(PublishedTrees):
    """Probabilistic label trees (Jasinska et al., 2016).

    A node estimates the probability that a label below it is relevant, given that a label
    below its parent is. The score of a label is the product along its path, an estimate of its
    probability for points with at least one label. Points without labels are not used: they
    would only train a factor at the root, which is the same for all labels.

    See Also
    --------
    LabelTree : Faster, and more accurate.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import PLT
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> model = PLT(max_leaf_size=2, random_state=0).fit(X, np.repeat(["a", "b", "c"], 4))
    >>> model.predict(X[::4]).tolist()
    ['a', 'b', 'c']
    """

    arity: int = param(Int(2, 65536), "Maximum number of children of a node.", default=2)
    max_leaf_size: int = param(Int(1, 65536), "Maximum number of labels in a leaf.", default=100)
    C: float = param(default=10.0)
    tol: float = param(
        doc="The solver stops when its projected gradients, at most C, differ by at most this.",
        default=1.0,
    )
    search: str = param(
        Choice(("exact", "beam")),
        "Best-first search, which is exact, or beam search, which is faster.",
        default="exact",
    )
    beam_size: int = param(doc='Number of nodes kept per level of ``search="beam"``.', default=10)

    _seconds_per_step = 3.5e-8

    def _widths(self) -> tuple[int, int, int]:
        return self.arity, self.arity, self.max_leaf_size

    def _loss(self) -> Loss:
        return Loss.logistic

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        if len(self.trees_) == 1 or self._check_parameter("search") == "beam":
            return super()._rank(X, k, exhaustive=exhaustive)
        # An exact search has no beam that could tell the score of a label that it does not list.
        answers = self._answers(X, max(k, self._labels_per_member))
        return _native.average_trees(answers, k=k, n_threads=self._threads)

    def _n_explained(self, k: int) -> int:
        if self._check_parameter("search") == "beam":
            return super()._n_explained(k)
        return max(k, self._labels_per_member)

    def _search(
        self, member: TrainedTree, rows: KernelRows, k: int, *, few: bool, **options: Any
    ) -> tuple[Ids, Floats]:
        if self._check_parameter("search") == "beam":
            return super()._search(member, rows, k, few=few, **options)
        return _native.best_first_search(
            member.tree,
            member.weights,
            rows,
            loss=self._loss(),
            k=k,
            index=member.index if few else None,
            n_threads=self._threads,
        )
