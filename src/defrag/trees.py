"""Balanced trees over sparse vectors, and the vectors of features and labels.

Defrag clusters features with them, label trees cluster labels, and Refrag and Fiat take the seeds
of their members from here. Features and labels are clustered by the same balanced splits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._native import LabelTreeArrays
from defrag._validation import check_matrix
from defrag.persistence.fields import Array, State
from defrag.persistence.trees import check_balanced_tree
from defrag.typing import Csr, Floats, Ids, MatrixLike, Offsets, Progress

# --- Seeds of the members of an ensemble.


def member_seeds(seed: int, n_members: int) -> list[int]:
    """Return the seeds of the members of an ensemble; the first is the seed itself."""
    return [(seed + number * 0x9E3779B97F4A7C15) % 2**63 for number in range(n_members)]


# --- Vectors of features and labels for clustering: construction, sampling, scaling.


def largest_ids(weights: NDArray[Any], n: int) -> Ids:
    """Return the ids of the ``n`` largest weights in ascending order; ties go to the lower id."""
    chosen = np.argsort(-np.asarray(weights), kind="stable")[:n]
    return np.sort(chosen).astype(np.int32)


class FeatureVectors:
    """Vectors of the features of X.

    Vectors are computed from a sample of the points. A feature that does not occur in the
    sample would have a zero vector and be clustered at random; its vector is computed from all
    points instead. If that is also zero (none of its points has a sampled label, or no vector
    was given for it), its column of X is used, with separate coordinates.

    - ``X``, shape (n_points, n_features): canonical training data.
    - ``sample_points``: fraction of the points to use, those with the largest volume first.
    - ``volume`` {"l1", "l0"}: the volume of a point: the sum of its absolute values, or its number
      of non-zeros.
    - ``row_norm`` {None, "l2"}: whether points are L2-normalised first.
    """

    def __init__(
        self, X: Csr, *, sample_points: float, volume: str, row_norm: str | None, n_threads: int
    ) -> None:
        self.X = X
        self.n_threads = n_threads
        self.points = self._sample(sample_points, volume)
        self.row_scale = self._row_scale(row_norm)

    def by_points(self) -> Csr:
        """Return the columns of X, which are similar for features of the same points."""
        from_sample = self._columns(self._all_features(), sampled=True)
        from_all_points = self._columns(_empty_rows(from_sample), sampled=False)
        return self._fill(from_sample, from_all_points, shift=from_sample.shape[1])

    def by_labels(self, Y: Csr, *, n_labels: int, popularity: str) -> Csr:
        """Return the rows of X^T Y, which are similar for features of the same labels.

        - ``Y``, shape (n_points, n_all_labels): labels of the points.
        - ``n_labels``: number of labels to use, the most frequent first.
        - ``popularity``: whether frequencies are counted on all points or on the sampled ones.
        """
        counted = Y if popularity == "all" else Y[self.points]
        counts = np.bincount(counted.indices, minlength=Y.shape[1])
        kept = Y[:, largest_ids(counts, n_labels)]
        kept.sort_indices()
        from_sample = self.joint(kept)
        columns = self._columns(_empty_rows(from_sample), sampled=False)
        from_all_points = self._fill(self._multiply(columns, kept), columns, shift=kept.shape[1])
        return self._fill(from_sample, from_all_points, shift=0)

    def joint(self, Y: Csr) -> Csr:
        """Return X^T Y on the sampled points, without replacing zero rows."""
        return self._multiply(self._columns(self._all_features(), sampled=True), Y[self.points])

    def by_given(self, vectors: Csr) -> Csr:
        """Return external vectors, such as word embeddings."""
        columns = self._columns(_empty_rows(vectors), sampled=False)
        return self._fill(vectors, columns, shift=vectors.shape[1])

    def _sample(self, share: float, volume: str) -> Ids:
        n = self.X.shape[0]
        n_kept = max(1, int(share * n))
        if n_kept >= n:
            return np.arange(n, dtype=np.int32)
        if volume == "l0":
            return largest_ids(np.diff(self.X.indptr), n_kept)
        norms = _native.row_norms(self.X, norm=_native.Norm.l1, n_threads=self.n_threads)
        return largest_ids(norms, n_kept)

    def _row_scale(self, row_norm: str | None) -> Floats | None:
        if row_norm is None:
            return None
        norms = _native.row_norms(self.X, norm=_native.Norm.l2, n_threads=self.n_threads)
        return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)

    def _all_features(self) -> NDArray[np.bool_]:
        return np.ones(self.X.shape[1], dtype=np.bool_)

    def _columns(self, wanted: NDArray[np.bool_], *, sampled: bool) -> Csr:
        n = self.X.shape[0]
        points = self.points if sampled else np.arange(n, dtype=np.int32)
        coordinate = np.full(n, -1, dtype=np.int32)
        coordinate[points] = np.arange(len(points), dtype=np.int32)
        return _native.feature_rows(
            self.X,
            coordinate=coordinate,
            n_coords=len(points),
            wanted=wanted,
            row_scale=self.row_scale,
            n_threads=self.n_threads,
        )

    def _multiply(self, A: Csr, B: Csr) -> Csr:
        return _native.multiply(A, B, n_threads=self.n_threads)

    def _fill(self, first: Csr, second: Csr, *, shift: int) -> Csr:
        if second.nnz == 0:
            return first
        return _native.fill_empty_rows(first, second, shift=shift, n_threads=self.n_threads)


def given_vectors(
    vectors: MatrixLike | Mapping[Any, Any], *, n_features: int, names: Sequence[Any] | None
) -> Csr:
    """Return user-given vectors, a matrix or a mapping from features to vectors, as a matrix.

    - ``vectors``, shape (n_features, n_dimensions), or mapping: keys of a mapping are feature names
      if ``names`` are given, else feature ids; features without a key have no vector.
    """
    if not isinstance(vectors, Mapping):
        matrix = check_matrix(vectors, name="representation")
        if matrix.shape[0] != n_features:
            raise ValueError(
                f"representation must have one row per feature ({n_features}), "
                f"got {matrix.shape[0]}"
            )
        return matrix
    keys = range(n_features) if names is None else names
    rows = [
        (j, np.asarray(vectors[key], dtype=np.float32))
        for j, key in enumerate(keys)
        if key in vectors
    ]
    if not rows:
        kind = "feature ids" if names is None else "feature names"
        raise ValueError(f"representation is a mapping, but none of its keys are {kind} of X")
    sizes = {row.shape for _, row in rows}
    if len(sizes) != 1 or len(rows[0][1].shape) != 1:
        raise ValueError(f"representation must map to vectors of one length, got {sorted(sizes)}")
    dense = sparse.csr_array(np.stack([row for _, row in rows]))
    place = sparse.csr_array(
        (np.ones(len(rows), dtype=np.float32), ([j for j, _ in rows], np.arange(len(rows)))),
        shape=(n_features, len(rows)),
    )
    return check_matrix(place @ dense, name="representation")


def label_vectors(X: Csr, positives: Csr, *, max_entries: int, n_threads: int) -> Csr:
    """Return L2-normalised sums of the points of each label, cut to their largest entries.

    - ``positives``, shape (n_labels, n_points): the points of each label.
    - ``max_entries``: number of entries to keep per label, 0 for all.
    """
    sums = _native.multiply(positives, X, max_entries=max_entries, n_threads=n_threads)
    return scale_vectors(sums, split="kmeans", threshold=0.0, n_threads=n_threads)


def scale_vectors(Z: Csr, *, split: str, threshold: float, n_threads: int) -> Csr:
    """Return vectors scaled as ``build_tree`` requires for a kind of split."""
    by_rank = split.startswith("ndcg")
    if by_rank and Z.nnz and Z.data.min() < 0:
        raise ValueError(
            'Negative values in data passed to split="ndcg", which requires values >= 0, '
            f"got {float(Z.data.min()):g}"
        )
    scale = _native.RowScale.ideal if by_rank else _native.RowScale.unit
    return _native.scale_rows(Z, scale=scale, threshold=threshold, n_threads=n_threads)


def _empty_rows(Z: Csr) -> NDArray[np.bool_]:
    return np.asarray(np.diff(Z.indptr) == 0)


@dataclass(frozen=True)
class BalancedTree:
    """A tree as flat arrays, nodes numbered breadth first."""

    # Shape (n_nodes,): the first child of each node, -1 for leaves; siblings are adjacent.
    first_child: Ids
    # Shape (n_nodes,): the items of a node are ``order[begin:end]``.
    begin: Offsets
    end: Offsets
    # Shape (n_items,): items by leaf, in ascending order within a leaf.
    order: Ids
    # Shape (n_nodes,): mean similarity of an item to its own side of the split; 0 for leaves.
    objective: NDArray[np.float64]
    # Shape (n_nodes,): number of iterations of the split.
    n_rounds: Ids

    @property
    def leaves(self) -> Ids:
        """The leaf nodes, in the order of their items in ``order``."""
        leaves = np.flatnonzero(self.first_child < 0)
        return leaves[np.lexsort((leaves, self.begin[leaves]))].astype(np.int32)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.first_child < 0))

    def leaf_of_items(self) -> Ids:
        """Return the leaf of each item, with leaves numbered from left to right."""
        leaves = self.leaves
        sizes = self.end[leaves] - self.begin[leaves]
        result = np.empty(len(self.order), dtype=np.int32)
        result[self.order] = np.repeat(np.arange(len(leaves), dtype=np.int32), sizes)
        return result


BALANCED_TREE = State(
    Array("first_child", "int32"),
    Array("begin", "int64"),
    Array("end", "int64"),
    Array("order", "int32"),
    Array("objective", "float64"),
    Array("n_rounds", "int32"),
    make=BalancedTree,
    check=check_balanced_tree,
)


@dataclass(frozen=True)
class _Shape:
    """Nodes of a tree before items are assigned; see :class:`BalancedTree`."""

    first_child: Ids
    begin: Offsets
    end: Offsets
    capacity: Offsets


def count_leaves(n_items: int, max_leaf_size: int, *, stop: str = "leaf<=d0") -> int:
    """Return the number of leaves of a tree without building it.

    - ``n_items``: number of items.
    - ``max_leaf_size``: the d0 of the stopping rule.
    - ``stop`` {"leaf<=d0", "leaf<2*d0"}: the stopping rule: that of the official program and the
      paper's text, or that of the paper's tables.
    """
    shape = _shape(n_items, n_items, max_leaf_size=max_leaf_size, stop=stop, n_leaves=None)
    return int(np.count_nonzero(shape.first_child < 0))


def build_tree(
    items: Csr,
    *,
    max_leaf_size: int = 8,
    stop: str = "leaf<=d0",
    n_leaves: int | None = None,
    capacity: int | None = None,
    split: str = "kmeans",
    tol: float = 1e-3,
    max_iter: int = 50,
    seed: int = 0,
    starts: Offsets | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[BalancedTree, Offsets]:
    """Build a balanced tree by recursive two-way splits.

    - ``items``, shape (n_items, n_coordinates): the vectors, scaled by ``scale_vectors``: to unit
      L2 norm for ``"kmeans"``, to an ideal DCG of 1 for ``"ndcg"``.
    - ``max_leaf_size``: the d0 of the stopping rule; not used with ``n_leaves``.
    - ``stop`` {"leaf<=d0", "leaf<2*d0"}: when a node becomes a leaf.
    - ``n_leaves`` (optional): number of leaves, of nearly equal sizes, instead of a stopping rule.
    - ``capacity`` (optional): build the tree for this many items, at least ``len(items)``, so that
      items that cannot be clustered can be assigned to the leaves afterwards.
    - ``split`` {"kmeans", "ndcg"}: how a node is split.
    - ``tol``: a split stops when the relative increase of its objective is below this.
    - ``max_iter``: maximum number of iterations of a split.
    - ``starts``, shape (2 * n_nodes,): positions of the two items that initialise the split of each
      node, instead of random ones; ties are then broken by id.
    - Returns ``tree``: the tree.
    - Returns ``free``, shape (n_leaves,): number of items that each leaf can still take, in the
      order of ``tree.leaves``.
    """
    n_items = items.shape[0]
    shape = _shape(
        n_items,
        n_items if capacity is None else capacity,
        max_leaf_size=max_leaf_size,
        stop=stop,
        n_leaves=n_leaves,
    )
    threads = _native.n_threads(n_jobs)
    # Ties are broken by the order of the items, which is that of ids if ``starts`` are given.
    ids = None
    if starts is None:
        ids = _native.min_hash_order(items, seed=seed, n_threads=threads)
    order, objective, n_rounds = _native.split_items(
        items if ids is None else items[ids],
        first_child=shape.first_child,
        begin=shape.begin,
        end=shape.end,
        rule=_native.SplitRule[split],
        tolerance=tol,
        max_iterations=max_iter,
        seed=seed,
        starts=starts,
        n_threads=threads,
        progress=progress,
    )
    if ids is not None:
        order = ids[order]
    tree = BalancedTree(shape.first_child, shape.begin, shape.end, order, objective, n_rounds)
    leaves = tree.leaves
    leaf_of_slot = np.repeat(np.arange(len(leaves)), (shape.end - shape.begin)[leaves])
    order[:] = order[np.lexsort((order, leaf_of_slot))]
    return tree, shape.capacity[leaves] - (shape.end - shape.begin)[leaves]


def grow_freely(
    items: Csr, *, max_leaf_size: int, max_iter: int, seed: int
) -> tuple[Ids, int, int]:
    """Return leaves of items by unbalanced nDCG splits, their number, and the most iterations.

    - ``items``: vectors with an ideal DCG of 1; those without entries have leaves of their own.
    """
    draw = np.random.default_rng(seed)
    leaf_of = np.full(items.shape[0], -1, dtype=np.int32)
    seen = np.diff(items.indptr) > 0
    waiting = [np.flatnonzero(seen)] if seen.any() else []
    n_leaves, most = 0, 1
    while waiting:
        members = waiting.pop()
        if len(members) <= max_leaf_size:
            leaf_of[members] = n_leaves
            n_leaves += 1
            continue
        starts = draw.choice(len(members), 2, replace=False)
        left, n_rounds = split_freely(items[members], *starts.tolist(), max_iter=max_iter)
        waiting += [members[~left], members[left]]
        most = max(most, n_rounds)
    leaf_of[~seen] = n_leaves + np.arange(np.count_nonzero(~seen)) // max_leaf_size
    return leaf_of, int(leaf_of.max()) + 1, most


def split_freely(
    items: Csr, first: int, second: int, *, max_iter: int
) -> tuple[NDArray[np.bool_], int]:
    """Return which items go to the ranking that starts from the first, and the iterations.

    Items that both rankings suit equally are divided evenly; so are all if one side has none.
    """
    names, places = np.unique(items.indices, return_inverse=True)
    rows = sparse.csr_array(
        (items.data.astype(np.float64), places, items.indptr), shape=(items.shape[0], len(names))
    )
    sums = [rows[[one]].toarray()[0] for one in (first, second)]
    side, n_rounds = np.zeros(len(items.indptr) - 1, dtype=np.bool_), 0
    while n_rounds < max_iter:
        n_rounds += 1
        scores = np.asarray(rows @ (_discounts(sums[0]) - _discounts(sums[1])))
        found = scores > 0
        found[np.flatnonzero(scores == 0)[::2]] = True
        if found.all() or not found.any():
            found[:] = np.argsort(np.argsort(-scores, kind="stable")) < (len(scores) + 1) // 2
        if n_rounds > 1 and np.array_equal(found, side):
            break
        side = found
        sums = [np.asarray(rows.T @ one.astype(np.float64)) for one in (side, ~side)]
    return side, n_rounds


def _discounts(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the discount of the rank of each coordinate; those without a sum share the last."""
    order = np.argsort(-sums, kind="stable")[: np.count_nonzero(sums > 0)]
    result = np.full(len(sums), 1.0 / np.log2(len(order) + 2.0))
    result[order] = 1.0 / np.log2(np.arange(len(order)) + 2.0)
    return result


def widen_tree(tree: BalancedTree, ids: Ids, *, arity: int, root_arity: int) -> LabelTreeArrays:
    """Return a tree with the leaves of a binary tree and nodes with more children.

    Adjacent leaves are similar, so any run of leaves can form a node: runs are divided into
    parts with equal numbers of leaves, level by level.

    - ``arity``, ``root_arity``: maximum number of children of a node, and of the root.
    """
    leaves = tree.leaves
    bounds = np.append(tree.begin[leaves], len(tree.order))
    runs = [(0, len(leaves))]
    first_child: list[int] = []
    n_children: list[int] = []
    for first, last in runs:  # the list grows during the iteration: breadth first
        count = last - first
        width = 0 if count == 1 else min(count, arity if first_child else root_arity)
        first_child.append(len(runs) if width else 0)
        n_children.append(width)
        if width:
            cuts = first + np.arange(width + 1) * count // width
            runs += [(int(a), int(b)) for a, b in pairwise(cuts)]
    spans = np.array(runs)
    return LabelTreeArrays(
        first_child=np.array(first_child, dtype=np.int32),
        n_children=np.array(n_children, dtype=np.int32),
        begin=bounds[spans[:, 0]].astype(np.int32),
        end=bounds[spans[:, 1]].astype(np.int32),
        order=ids[tree.order].astype(np.int32),
    )


def _shape(
    n_items: int, capacity: int, *, max_leaf_size: int, stop: str, n_leaves: int | None
) -> _Shape:
    """Return the nodes of a tree, level by level; they depend only on the number of items.

    The capacity of a node is its number of items if the tree is full; it is halved from level
    to level (rounded up on the left, as in the paper). Items are divided in proportion to the
    capacities of the children, so no node exceeds its capacity.
    """
    limit = max_leaf_size if stop == "leaf<=d0" else 2 * max_leaf_size - 1
    capacities = np.array([capacity], dtype=np.int64)
    shares = np.array([1 if n_leaves is None else n_leaves], dtype=np.int64)
    begins = np.zeros(1, dtype=np.int64)
    counts = np.array([n_items], dtype=np.int64)
    levels: dict[str, list[NDArray[Any]]] = {"child": [], "begin": [], "count": [], "capacity": []}
    n_nodes = 0
    while len(capacities):
        inner = capacities > limit if n_leaves is None else shares > 1
        n_nodes += len(capacities)
        children = np.where(inner, n_nodes + 2 * (np.cumsum(inner) - 1), -1)
        for name, values in zip(levels, (children, begins, counts, capacities), strict=True):
            levels[name].append(values)
        capacities, shares, begins, counts = (
            a[inner] for a in (capacities, shares, begins, counts)
        )
        left_shares = shares - shares // 2
        left_capacities = (
            capacities - capacities // 2
            if n_leaves is None
            else -(-capacities * left_shares // shares)
        )
        left_counts = -(-counts * left_capacities // capacities)
        begins = _interleave(begins, begins + left_counts)
        counts = _interleave(left_counts, counts - left_counts)
        capacities = _interleave(left_capacities, capacities - left_capacities)
        shares = _interleave(left_shares, shares - left_shares)
    begin = np.concatenate(levels["begin"])
    return _Shape(
        first_child=np.concatenate(levels["child"]).astype(np.int32),
        begin=begin,
        end=begin + np.concatenate(levels["count"]),
        capacity=np.concatenate(levels["capacity"]),
    )


def _interleave(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    return np.stack([left, right], axis=1).ravel()
