import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag._validation import canonical_csr
from defrag.trees import build_tree, count_leaves, scale_vectors
from tests.data import random_csr
from tests.helpers.bits import bits
from tests.oracles import trees as oracles


def random_items(n, p, density, seed, *, split="kmeans"):
    Z = random_csr(n, p, density=density, seed=seed)
    return scale_vectors(Z, split=split, threshold=0.0, n_threads=1)


def leaves_of(tree):
    return [tree.order[tree.begin[leaf] : tree.end[leaf]].tolist() for leaf in tree.leaves]


def check_invariants(tree, n_items, limit):
    """Leaves partition the items; children partition their parent, sizes differing by <= 1."""
    assert sorted(tree.order.tolist()) == list(range(n_items))
    sizes = tree.end - tree.begin
    inner = np.flatnonzero(tree.first_child >= 0)
    left, right = tree.first_child[inner], tree.first_child[inner] + 1
    np.testing.assert_array_equal(sizes[left] + sizes[right], sizes[inner])
    np.testing.assert_array_equal(tree.begin[left], tree.begin[inner])
    np.testing.assert_array_equal(tree.begin[right], tree.end[left])
    assert np.all(np.abs(sizes[left] - sizes[right]) <= 1)
    assert sizes[tree.leaves].max() <= limit
    for leaf in leaves_of(tree):
        assert leaf == sorted(leaf)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 17, 100, 1836])
@pytest.mark.parametrize("d0", [1, 2, 8])
def test_sizes_follow_the_stopping_rule(n, d0):
    items = random_items(n, 20, 0.3, seed=n)
    tree, free = build_tree(items, max_leaf_size=d0)
    check_invariants(tree, n, d0)
    assert not free.any()
    assert tree.n_leaves == count_leaves(n, d0)
    assert tree.n_leaves <= 2 ** max(0, math.ceil(math.log2(n / d0)))
    assert d0 > 1 or tree.n_leaves == n
    assert d0 < n or tree.n_leaves == 1
    table, _ = build_tree(items, max_leaf_size=d0, stop="leaf<2*d0")
    check_invariants(table, n, 2 * d0 - 1)
    if n >= d0:
        assert (table.end - table.begin)[table.leaves].min() >= d0


def test_published_numbers_of_clusters():
    for d, strict, table in [
        (5000, 1024, 512),
        (203882, 32768, 16384),
        (101938, 16384, 8192),
        (782585, 131072, 65536),
        (1836, 256, 128),
    ]:
        assert count_leaves(d, 8) == strict
        assert count_leaves(d, 8, stop="leaf<2*d0") == table


@pytest.mark.parametrize("n_leaves", [1, 2, 3, 5, 17, 50])
def test_a_wanted_number_of_leaves(n_leaves):
    tree, free = build_tree(random_items(50, 10, 0.4, seed=1), n_leaves=n_leaves)
    sizes = (tree.end - tree.begin)[tree.leaves]
    assert tree.n_leaves == n_leaves
    assert sizes.sum() == 50
    assert sizes.min() >= 50 // n_leaves
    assert not free.any()


@pytest.mark.slow
@given(n=st.integers(0, 60), extra=st.integers(0, 60), d0=st.integers(1, 9))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_capacity_is_kept_for_later_items(n, extra, d0):
    items = random_items(n, 8, 0.4, seed=n) if n else sparse.csr_array((0, 8), dtype=np.float32)
    tree, free = build_tree(items, max_leaf_size=d0, capacity=n + extra)
    sizes = (tree.end - tree.begin)[tree.leaves]
    assert free.min() >= 0
    assert free.sum() == extra
    assert (sizes + free).max() <= max(d0, 1)
    assert sorted(tree.order.tolist()) == list(range(n))


@pytest.mark.parametrize("split", ["kmeans", "ndcg"])
@pytest.mark.parametrize("seed", range(20))
def test_split_equals_oracle(split, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    items = random_items(n, 15, 0.4, seed=seed, split=split)
    starts = rng.choice(n, 2, replace=False)
    half, padded = (n + 1) // 2, np.array([*starts, 0, 0, 0, 0])
    tree, _ = build_tree(items, max_leaf_size=half, split=split, tol=1e-4, starts=padded)
    options = {"ndcg": split == "ndcg", "tol": 1e-4, "max_iter": 50}
    side, trace = oracles.split(items.toarray().astype(np.float64), half, *starts, **options)
    assert tree.n_leaves == 2
    assert leaves_of(tree)[0] == np.flatnonzero(side).tolist()
    assert tree.objective[0] == pytest.approx(trace[-1], rel=1e-5)
    assert np.all(np.diff(trace) >= -1e-9)


@pytest.mark.parametrize("split", ["kmeans", "ndcg"])
def test_objective_never_decreases(split):
    items = random_items(500, 60, 0.1, seed=3, split=split)
    values = [
        build_tree(items, split=split, tol=0.0, max_iter=rounds)[0].objective[0]
        for rounds in range(1, 25)
    ]
    assert np.all(np.diff(values) >= -1e-9)


@pytest.mark.parametrize("split", ["kmeans", "ndcg"])
def test_result_is_equal_for_any_threads(split):
    items = random_items(5000, 300, 0.02, seed=5, split=split)
    first = build_tree(items, split=split, n_jobs=1)
    for n_jobs in (2, 3, 8):
        assert bits(build_tree(items, split=split, n_jobs=n_jobs)) == bits(first)


def one_not_zero(rng):
    dense = np.zeros((21, 4))
    dense[rng.integers(21)] = 1.0
    return dense


DEGENERATE = {
    "one item": lambda _: np.eye(1, 3),
    "two items": lambda _: np.eye(2, 3),
    "all zero": lambda _: np.zeros((37, 5)),
    "all equal": lambda _: np.ones((29, 4)),
    "duplicates": lambda rng: np.repeat(rng.random((5, 6)), 9, axis=0),
    "one not zero": one_not_zero,
    "power law": lambda rng: rng.random((64, 40)) < 1.0 / np.arange(1, 65)[:, None],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", DEGENERATE)
def test_degenerate_items_for_a_thousand_seeds(kind):
    @functools.cache
    def items_of(draw, split):
        items = canonical_csr(np.float32(DEGENERATE[kind](np.random.default_rng(draw))), name="Z")
        return scale_vectors(items, split=split, threshold=0.0, n_threads=1)

    for seed in range(1000):
        split = "ndcg" if seed % 4 == 0 else "kmeans"
        items = items_of(seed % 10, split)
        leaf = 1 + seed % 3
        tree, _ = build_tree(items, max_leaf_size=leaf, split=split, seed=seed, tol=0.0)
        check_invariants(tree, items.shape[0], leaf)


def test_identical_and_zero_items_are_split_by_id():
    items = canonical_csr(np.zeros((6, 2)), name="Z")
    tree, _ = build_tree(items, max_leaf_size=2)
    assert leaves_of(tree) == [[0, 1], [2], [3, 4], [5]]


def test_seeds_give_different_trees():
    items = random_items(400, 50, 0.1, seed=9)
    orders = {tuple(build_tree(items, seed=seed)[0].order) for seed in range(5)}
    assert len(orders) == 5
