"""Vectors of features and labels, and balanced trees over them."""

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import _native
from defrag._validation import canonical_csr
from defrag.trees import (
    FeatureVectors,
    build_tree,
    count_leaves,
    given_vectors,
    largest_ids,
    scale_vectors,
)
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


DEGENERATE = {
    "one item": lambda _: np.eye(1, 3),
    "two items": lambda _: np.eye(2, 3),
    "all zero": lambda _: np.zeros((37, 5)),
    "all equal": lambda _: np.ones((29, 4)),
    "duplicates": lambda rng: np.repeat(rng.random((5, 6)), 9, axis=0),
    "one not zero": lambda rng: np.outer(np.arange(21) == rng.integers(21), np.ones(4)),
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


# --- Vectors.


def matrix(*rows):
    return canonical_csr(np.array(rows, dtype=np.float32), name="X")


def vectors(X, share=1.0, volume="l1", row_norm=None, n_threads=1):
    options = {"volume": volume, "row_norm": row_norm, "n_threads": n_threads}
    return FeatureVectors(X, sample_points=share, **options)


def test_by_points_is_the_transpose_of_the_sampled_rows():
    X = matrix([1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [4.0, 0.0, 1.0])
    half = vectors(X, share=0.7)
    np.testing.assert_array_equal(half.points, [0, 2])
    np.testing.assert_array_equal(half.by_points().toarray(), X.toarray()[[0, 2]].T)


def test_volume_is_a_sum_or_a_count():
    X = matrix([9.0, 0.0], [1.0, 1.0], [2.0, 0.0])
    np.testing.assert_array_equal(vectors(X, 0.34, "l1").points, [0])
    np.testing.assert_array_equal(vectors(X, 0.34, "l0").points, [1])


def test_a_feature_outside_the_sample_is_built_from_all_points():
    # Feature 2 occurs in the two least voluminous points only.
    X = matrix([5, 1, 0], [4, 0, 0], [0, 1, 1], [0, 0, 1])
    Z = vectors(X, share=0.5).by_points().toarray()
    np.testing.assert_array_equal(Z[:, :2], [[5, 4], [1, 0], [0, 0]])
    # Its coordinates are its own: it is near no feature of the sample.
    np.testing.assert_array_equal(Z[2, 2:], [0, 0, 1, 1])
    assert not Z[:2, 2:].any()


def test_by_labels_counts_popularity_and_rescues_features():
    X = matrix([3.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    Y = matrix([1, 1, 0], [1, 0, 0], [0, 0, 1])
    Z = vectors(X, share=0.67).by_labels(Y, n_labels=2, popularity="all").toarray()
    np.testing.assert_array_equal(Z[:2, :2], [[5, 3], [1, 1]])
    # Feature 2 has no sampled label: its column of X stands in, past the labels.
    np.testing.assert_array_equal(Z[2], [0, 0, 0, 0, 1])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_threads", [1, 3])
def test_by_labels_is_the_product(seed, n_threads):
    X = random_csr(40, 30, density=0.2, seed=seed)
    Y = canonical_csr(random_csr(40, 12, density=0.2, seed=seed + 50) > 0, name="Y")
    Z = vectors(X, n_threads=n_threads).by_labels(Y, n_labels=12, popularity="all")
    expected = X.toarray().T @ Y.toarray()
    np.testing.assert_allclose(Z.toarray()[:, :12], expected, rtol=1e-5, atol=1e-6)


def test_labels_that_name_the_points_give_the_columns_of_x():
    X = random_csr(25, 18, density=0.3, seed=1)
    Y = matrix(*np.eye(25))
    Z = vectors(X).by_labels(Y, n_labels=25, popularity="all")
    np.testing.assert_array_equal(Z.toarray(), vectors(X).by_points().toarray())


def test_row_norm_brings_points_to_length_one():
    X = matrix([3.0, 4.0], [0.0, 0.0])
    Z = vectors(X, row_norm="l2").by_points().toarray()
    np.testing.assert_allclose(Z, [[0.6, 0.0], [0.8, 0.0]], rtol=1e-6)


@given(seed=st.integers(0, 10_000), threshold=st.sampled_from([0.0, 0.1, 0.5]))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_scaling_equals_oracle(seed, threshold):
    Z = random_csr(12, 9, density=0.4, seed=seed)
    dense = Z.toarray().astype(np.float64)
    for split in ("kmeans", "ndcg"):
        scaled = scale_vectors(Z, split=split, threshold=threshold, n_threads=2).toarray()
        for row, result in zip(dense, scaled, strict=True):
            size = np.linalg.norm(row) if split == "kmeans" else oracles.ideal_dcg(row)
            expected = row / size if size > 0 else row
            expected[np.abs(expected) <= threshold] = 0.0
            np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_ndcg_needs_positive_values():
    Z = matrix([1.0, -0.5])
    with pytest.raises(ValueError, match=r"which requires values >= 0, got -0\.5"):
        scale_vectors(Z, split="ndcg", threshold=0.0, n_threads=1)


@pytest.mark.parametrize(
    ("given", "names", "expected"),
    [
        ({"cat": [1, 2], "dog": [3, 4]}, ["dog", "x", "cat"], [[3, 4], [0, 0], [1, 2]]),
        ({2: [1.0]}, None, [[0], [0], [1]]),
        (np.eye(3), None, np.eye(3)),
    ],
    ids=["names", "ids", "matrix"],
)
def test_given_vectors_are_read(given, names, expected):
    found = given_vectors(given, n_features=3, names=names)
    np.testing.assert_array_equal(found.toarray(), expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.eye(2), r"one row per feature \(3\), got 2"),
        ({"a": [1.0]}, "none of its keys are feature ids"),
        ({0: [1.0], 1: [1.0, 2.0]}, "vectors of one length"),
    ],
)
def test_bad_vectors_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        given_vectors(given, n_features=3, names=None)


def test_a_feature_without_a_given_vector_falls_back_to_its_column():
    X = matrix([1.0, 0.0, 2.0], [0.0, 0.0, 3.0])
    given = matrix([1.0, 1.0], [1.0, 0.0], [0.0, 0.0])
    Z = vectors(X).by_given(given).toarray()
    np.testing.assert_array_equal(Z, [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 2, 3]])


@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_column_statistics_equal_numpy(n_threads):
    X = random_csr(3000, 40, density=0.1, seed=4)
    counts, energy = _native.column_statistics(X, n_threads=n_threads)
    dense = X.toarray().astype(np.float64)
    unit = dense / np.maximum(np.linalg.norm(dense, axis=1), 1e-30)[:, None]
    np.testing.assert_array_equal(counts, (dense != 0).sum(axis=0))
    np.testing.assert_allclose(energy, (unit**2).sum(axis=0), rtol=1e-9)


def test_largest_ids_breaks_ties_by_id():
    np.testing.assert_array_equal(largest_ids(np.array([1.0, 3.0, 3.0, 3.0]), 2), [1, 2])
