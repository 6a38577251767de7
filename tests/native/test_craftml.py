"""Trees of CRAFTML: hashes, clusters of labels, growth and search, each against a slow twin."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from defrag import _core, _native
from defrag._native import FULL_HASH, CraftmlOptions
from tests.data import make_data, random_problem, unit_items
from tests.helpers.bits import bits
from tests.oracles.forests import (
    clusters_of_points,
    forest_scores,
    hash_item,
    hashed_vector,
    wrong_leaves,
)

KEYS = np.array([3, 5, 7], dtype=np.uint64)


def grown(seed=0, *, n_threads=1, keys=KEYS, **options):
    X, Y = make_data(seed=seed)
    kept = np.diff(Y.indptr) > 0
    X, Y = X[kept], Y[kept]
    X = _native.scale_rows(X, n_threads=1)
    weights = np.ones(Y.shape[1], dtype=np.float32)
    chosen = CraftmlOptions(**{"n_clusters": 4, "n_buckets": 50, "kept_share": 0.5, **options})
    return X, Y, _native.train_craftml(X, Y, weights, keys, chosen, n_threads=n_threads)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_buckets", [7, 1000])
def test_label_clusters_equal_the_oracle(seed, n_buckets):
    _, Y = random_problem(seed, n_rows=60, n_labels=12, per_row=3)
    lists = [Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist() for i in range(60)]
    kept = [i for i, labels in enumerate(lists) if labels]
    settings = {"n_clusters": 5, "n_buckets": n_buckets, "max_rounds": 3}
    found, cluster = _core.label_clusters(Y[kept], key=seed, **settings)
    starts, wanted, _ = clusters_of_points([lists[i] for i in kept], seed, **settings)
    assert found == len(starts)
    # Similarities that are equal but for their rounding may fall either way.
    assert np.mean(cluster == wanted) > 0.9


def test_points_with_equal_labels_are_not_split():
    Y = sparse.csr_array(np.ones((9, 2), dtype=np.float32))
    found, _ = _core.label_clusters(Y, key=1, n_clusters=3, n_buckets=100, max_rounds=3)
    assert found == 0
    forest = _native.train_craftml(
        unit_items(1, n=9, n_coords=8), Y, np.ones(2, dtype=np.float32), KEYS,
        CraftmlOptions(max_leaf_size=2),
    )  # fmt: skip
    assert forest.tree_ptr.tolist() == [0, 1, 2, 3]


def test_hash_keeps_its_share_in_all_buckets():
    found = [hash_item(11, item, 64, FULL_HASH // 4) for item in range(4000)]
    kept = [one for one in found if one is not None]
    assert 800 < len(kept) < 1200
    buckets = np.bincount([bucket for bucket, _ in kept], minlength=64)
    assert len(buckets) == 64
    assert buckets.max() < 40
    assert 0.4 < np.mean([sign > 0 for _, sign in kept]) < 0.6


@pytest.mark.parametrize("n_kept", [FULL_HASH, FULL_HASH // 2])
def test_leaf_is_the_mean_of_its_points(n_kept):
    X, Y, forest = grown(seed=1, n_kept=n_kept)
    wrong, right = wrong_leaves(forest, X.toarray(), Y.toarray())
    assert not wrong
    assert len(right) > 24


def test_centroid_is_the_cut_and_scaled_mean():
    X, Y, forest = grown(seed=2, max_leaf_size=5)
    hashed = forest.hash
    for tree, key in enumerate(KEYS):
        settings = {"n_clusters": 4, "n_buckets": 10_000, "max_rounds": 3}
        n_clusters, cluster = _core.label_clusters(Y, key=int(key), **settings)
        root = int(forest.tree_ptr[tree])
        # Clusters that no point goes to are no children, which these data have none of.
        assert forest.n_children[root] == n_clusters
        rows = np.array([hashed_vector(row, key, 50, hashed.n_kept) for row in X.toarray()])
        found = np.zeros((n_clusters, 50))
        for e in range(forest.entry_ptr[root], forest.entry_ptr[root + 1]):
            found[forest.children[e], forest.slots[e]] = forest.weights[e]
        for child in range(n_clusters):
            total = rows[cluster == child].sum(axis=0)
            n_kept = max(10, int(np.ceil(0.5 * np.count_nonzero(total))))
            least = np.sort(np.abs(total))[-n_kept]
            total[np.abs(total) < least] = 0.0
            np.testing.assert_allclose(found[child], total / np.linalg.norm(total), atol=1e-5)


def test_slots_and_children_increase():
    _, _, forest = grown(seed=3)
    assert len(forest.bias) == len(forest.features) == 0
    key = forest.slots.astype(int) * 256 + forest.children
    for node, (begin, end) in enumerate(pairwise(forest.entry_ptr)):
        assert (np.diff(key[begin:end]) > 0).all()
        assert (forest.children[begin:end] < max(1, forest.n_children[node])).all()


def test_only_a_sample_of_a_node_is_clustered():
    _, _, whole = grown(seed=2)
    _, _, part = grown(seed=2, sample=40)
    assert bits(whole) != bits(part)


@pytest.mark.parametrize("n_rows", [1, 150])
@pytest.mark.parametrize("seed", range(3))
def test_search_equals_the_oracle(seed, n_rows):
    _, Y, forest = grown(seed=seed)
    rows = unit_items(seed, n=n_rows, n_coords=90)
    labels, found = _native.forest_search(forest, rows, k=6, n_threads=2)
    scores = forest_scores(forest, rows.toarray(), Y.shape[1])
    for i in range(n_rows):
        order = np.lexsort((np.arange(Y.shape[1]), -scores[i]))
        order = order[scores[i, order] > 0][:6]
        wanted = np.append(order, [-1] * (6 - len(order)))
        np.testing.assert_array_equal(labels[i], wanted)
        np.testing.assert_allclose(found[i, : len(order)], scores[i, order], rtol=1e-6)


def test_wide_slots_give_the_same_result():
    X, _, forest = grown()
    wide = replace(forest, slots=forest.slots.astype(np.int32))
    labels, scores = _native.forest_search(wide, X, k=4, n_threads=2)
    wanted = _native.forest_search(forest, X, k=4)
    assert labels.tobytes() == wanted[0].tobytes()
    assert scores.tobytes() == wanted[1].tobytes()


@pytest.mark.parametrize("name", ["entry_ptr", "children", "weights", "bias"])
def test_arrays_of_the_wrong_size_are_refused(name):
    X, _, forest = grown()
    array = getattr(forest, name)
    wrong = np.append(array, array[:1] if len(array) else [0.0]).astype(array.dtype)
    with pytest.raises(ValueError, match=f"{name} of a forest must have"):
        _native.forest_search(replace(forest, **{name: wrong}), X, k=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 257}, r"n_clusters must be in \[1, 256\], got 257"),
        ({"n_clusters": 0}, r"n_clusters must be in \[1, 256\], got 0"),
        ({"n_buckets": 0}, "at least one bucket"),
        ({"label_buckets": 0}, "at least one bucket"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        grown(**options)
