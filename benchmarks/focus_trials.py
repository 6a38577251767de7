"""What `Focus` could be instead: rows, weights and budgets that ``bench_focus.py`` compares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from common import unit
from defrag import Focus, LabelTree, _native
from defrag.focusing import N_GROUPS, feature_importance, group_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Csr = sparse.csr_array
    Importance = Callable[[Csr, Csr, int], NDArray[Any]]
    Rows = Callable[[Csr], Csr]
    Reduction = Callable[[Csr, Csr, int], Rows]

BUDGET = 8.0


# Importance of features


def pilot(rows: Csr, Y: Csr, seed: int) -> NDArray[Any]:
    """Return the norms of the weights of the pilot, as in Focus."""
    return feature_importance(rows, Y, seed=seed, n_threads=1)


def two_rounds(rows: Csr, Y: Csr, seed: int) -> NDArray[Any]:
    """Return the weights of a second pilot on the rows that the first one gives."""
    first = pilot(rows, Y, seed)
    factor = factors(first)
    reduced = _native.focus_rows(rows, first, factor, budget=BUDGET, n_threads=1)
    return factor * pilot(unit(reduced), Y, seed + 1)


def group_lasso(rows: Csr, Y: Csr, seed: int) -> NDArray[Any]:
    """Return the norms of the gradient at zero: a first proximal step, threshold zero."""
    targets = _unions(Y, seed)
    return np.linalg.norm(_products(rows, targets - targets.mean(axis=0)), axis=1)


def fisher(rows: Csr, Y: Csr, seed: int) -> NDArray[Any]:
    """Return the root of the variance between groups of labels over that within them."""
    targets = _unions(Y, seed)
    sizes = np.maximum(targets.sum(axis=0), 1)
    means = _products(rows, targets) / sizes
    squares = rows.copy()
    squares.data **= 2
    inside = _products(squares, targets) / sizes - means**2
    mean = np.asarray(rows.sum(axis=0)).ravel() / rows.shape[0]
    between = ((means - mean[:, None]) ** 2) @ sizes
    within = np.maximum(inside, 0) @ sizes
    return np.sqrt(between / np.maximum(within, 1e-12))


def inverse_deviation(rows: Csr, Y: Csr, seed: int) -> NDArray[Any]:  # noqa: ARG001 - not supervised
    """Return one over the standard deviation of each feature."""
    squares = rows.copy()
    squares.data **= 2
    n = rows.shape[0]
    mean = np.asarray(rows.sum(axis=0)).ravel() / n
    variance = np.asarray(squares.sum(axis=0)).ravel() / n - mean**2
    seen = np.bincount(rows.indices, minlength=rows.shape[1]) > 0
    return np.where(seen, 1 / np.sqrt(np.maximum(variance, 1e-12)), 0.0)


def label_idf(rows: Csr, Y: Csr, seed: int) -> NDArray[Any]:  # noqa: ARG001 - no chance in it
    """Return the logarithm of labels over labels whose points have the feature."""
    both = _native.multiply(sparse.csr_array(Y.T), rows, n_threads=1)
    counts = np.bincount(both.indices, minlength=rows.shape[1])
    n_seen = np.count_nonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    return np.where(counts > 0, np.log1p(n_seen / np.maximum(counts, 1)), 0.0)


def constant(rows: Csr, Y: Csr, seed: int) -> NDArray[Any]:  # noqa: ARG001 - neither
    """Return ones: entries are chosen by their size."""
    return np.ones(rows.shape[1])


WEIGHTS: dict[str, Importance] = {
    "pilot": pilot, "two rounds": two_rounds, "group lasso step": group_lasso, "Fisher": fisher,
    "1 / deviation": inverse_deviation, "idf by labels": label_idf, "none": constant,
}  # fmt: skip


def _unions(Y: Csr, seed: int) -> NDArray[np.float32]:
    groups = group_labels(Y, seed)
    targets = np.zeros((Y.shape[0], N_GROUPS), dtype=np.float32)
    targets[np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), groups[Y.indices]] = 1
    return targets


def _products(rows: Csr, targets: NDArray[np.float32]) -> NDArray[np.float64]:
    return _native.sparse_dense(sparse.csr_array(rows.T), targets, n_threads=1).astype(np.float64)


def factors(importance: NDArray[Any], power: float = 0.5) -> NDArray[np.float32]:
    """Return the factors of Focus."""
    return Focus(power=power)._factors(importance.astype(np.float32))  # noqa: SLF001 - the same


# Reductions of rows


def by(importance: Importance, budget: float | None = BUDGET, power: float = 0.5) -> Reduction:
    """Return a reduction that ranks entries and re-weights features by an importance."""

    def learn(X: Csr, Y: Csr, seed: int) -> Rows:
        weights = importance(unit(X), Y, seed).astype(np.float32)
        factor = factors(weights, power)
        return lambda rows: _native.focus_rows(
            rows, weights, factor, budget=budget or 0.0, n_threads=1
        )

    return learn


def by_energy(share: float) -> Reduction:
    """Return a reduction that keeps the best entries up to a share of the energy of a row."""

    def learn(X: Csr, Y: Csr, seed: int) -> Rows:
        weights = pilot(unit(X), Y, seed)
        factor = factors(weights)
        return lambda rows: _upto(rows, weights, factor, share)

    return learn


def _upto(rows: Csr, weights: NDArray[Any], factor: NDArray[Any], share: float) -> Csr:
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    energy = (rows.data * weights[rows.indices]).astype(np.float64) ** 2
    order = np.lexsort((-energy, row))
    before = np.cumsum(energy[order]) - energy[order]
    first = rows.indptr[:-1][np.diff(rows.indptr) > 0]
    total = np.bincount(row, weights=energy, minlength=rows.shape[0])
    offset = np.zeros(rows.shape[0])
    offset[np.diff(rows.indptr) > 0] = before[first]
    kept = np.zeros(rows.nnz, dtype=bool)
    kept[order] = before - offset[row] < share * total[row] + 1e-12
    counts = np.concatenate([[0], np.cumsum(kept)])
    return sparse.csr_array(
        ((rows.data * factor[rows.indices])[kept], rows.indices[kept], counts[rows.indptr]),
        shape=rows.shape,
    )


def with_tail(budget: float, n_groups: int) -> Reduction:
    """Return a reduction that sums the entries it drops in random groups of features."""

    def learn(X: Csr, Y: Csr, seed: int) -> Rows:
        weights = pilot(unit(X), Y, seed)
        factor = factors(weights)
        groups = np.random.default_rng(seed).integers(0, n_groups, X.shape[1])
        one = np.ones(X.shape[1], dtype=np.float32)
        where = sparse.csr_array(
            (one, groups, np.arange(X.shape[1] + 1)), shape=(X.shape[1], n_groups)
        )

        def reduce(rows: Csr) -> Csr:
            kept = _native.focus_rows(rows, weights, factor, budget=budget, n_threads=1)
            scaled = _native.focus_rows(rows, weights, factor, budget=0.0, n_threads=1)
            tail = sparse.csr_array(scaled - kept)
            tail.eliminate_zeros()
            both = sparse.csr_array(sparse.hstack([kept, sparse.csr_array(tail @ where)]))
            both.sort_indices()
            return both

        return reduce

    return learn


def everything(X: Csr, Y: Csr, seed: int) -> Rows:  # noqa: ARG001 - nothing is learnt
    """Reduce nothing."""
    return lambda rows: rows


# Label trees on reduced rows


class ClusteredOn(LabelTree):
    """A label tree whose labels are clustered by other rows than its classifiers see."""

    rows: Any = None

    def _label_vectors(self, X: Csr, Y: Csr) -> Csr:  # noqa: ARG002 - the other rows instead
        return super()._label_vectors(unit(self.rows), Y)


@dataclass
class Reduced:
    """A label tree behind a reduction, its labels clustered behind another one."""

    seed: int
    reduction: Reduction
    clustering: Reduction | None = None
    n_trees: int = 1

    def fit(self, X: Csr, Y: Csr) -> Reduced:
        """Learn the reductions, then train."""
        self.reduce = self.reduction(X, Y, self.seed)
        rows = self.reduce(X)
        self.entries_per_row = rows.nnz / rows.shape[0]
        self.model = ClusteredOn(self.n_trees, random_state=self.seed, n_jobs=1)
        self.model.rows = rows if self.clustering is None else self.clustering(X, Y, self.seed)(X)
        self.model.fit(rows, Y)
        self.model.rows = None
        return self

    def predict_topk(self, X: Csr) -> Any:
        """Predict on reduced rows."""
        return self.model.predict_topk(self.reduce(X))


@dataclass
class TwoBudgets:
    """A label tree whose leaves are trained on other rows than the nodes above them.

    Both trees are trained whole, so that its training time says nothing.
    """

    seed: int
    upper: Reduction
    leaves: Reduction

    def fit(self, X: Csr, Y: Csr) -> TwoBudgets:
        """Train the same tree on both kinds of rows and join the parts."""
        self.reduce = [one(X, Y, self.seed) for one in (self.upper, self.leaves)]
        rows = [one(X) for one in self.reduce]
        self.entries_per_row = sum(one.nnz for one in rows) / 2 / X.shape[0]
        models = []
        for one in rows:
            model = ClusteredOn(random_state=self.seed, n_jobs=1)
            model.rows = rows[0]  # the same labels in the same nodes
            models.append(model.fit(one, Y))
        self.model = models[0]
        (upper,), (leaves,) = models[0].trees_, models[1].trees_
        shifted = replace(leaves.weights, features=leaves.weights.features + X.shape[1])
        is_leaf = upper.tree.n_children == 0
        self.tree, self.weights = upper.tree, _join(upper.weights, shifted, is_leaf)
        return self

    def predict_topk(self, X: Csr) -> Any:
        """Search the joined tree with both rows side by side."""
        both = sparse.hstack([unit(one(X)) for one in self.reduce], format="csr")
        rows = sparse.csr_array(both)
        return _native.beam_search(self.tree, self.weights, rows, beam_size=10, k=5, power=3)


def _join(a: Any, b: Any, take_b: NDArray[np.bool_]) -> Any:
    """Return the classifiers of a, but those of b for some nodes."""
    parts: dict[str, list[Any]] = {name: [] for name in ("features", "outputs", "weights", "bias")}
    feature_counts, entry_counts, bias_counts = [], [], []
    for v, other in enumerate(take_b):
        one = b if other else a
        f = slice(one.feature_ptr[v], one.feature_ptr[v + 1])
        e = slice(one.entry_ptr[f.start], one.entry_ptr[f.stop])
        c = slice(one.bias_ptr[v], one.bias_ptr[v + 1])
        for name, where in (("features", f), ("outputs", e), ("weights", e), ("bias", c)):
            parts[name].append(getattr(one, name)[where])
        feature_counts.append(f.stop - f.start)
        entry_counts.append(np.diff(one.entry_ptr[f.start : f.stop + 1]))
        bias_counts.append(c.stop - c.start)

    def offsets(counts: Any) -> Any:
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    return replace(
        a,
        feature_ptr=offsets(feature_counts),
        entry_ptr=offsets(np.concatenate(entry_counts)),
        bias_ptr=offsets(bias_counts),
        **{name: np.concatenate(arrays) for name, arrays in parts.items()},
    )
