"""Forests over points: the steps of a node, growth and search, each against a slow twin."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import _core, _native
from defrag._native import FULL_HASH, CraftmlOptions, FastxmlOptions
from tests.data import make_data, random_problem, unit_items
from tests.helpers.bits import bits
from tests.oracles import forests as oracles
from tests.oracles.embeddings import best_columns

KEYS = np.array([3, 5, 7], dtype=np.uint64)


def label_lists(Y):
    return [Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist() for i in range(Y.shape[0])]


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_split_sides_equal_the_oracle(seed, normalized):
    _, Y = random_problem(seed, n_rows=50, n_labels=9, per_row=4)
    weights = np.float32(1.0 + np.arange(9) / 3) if seed % 2 else np.ones(9, dtype=np.float32)
    found = _core.label_sides(Y, weights, key=seed, normalized=normalized)
    wanted = oracles.sides_of_points(label_lists(Y), weights, seed, normalized=normalized)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("normalized", [True, False])
def test_split_ranks_labels_better_than_random(normalized):
    _, Y = make_data(seed=4)
    lists, weights = label_lists(Y), np.ones(Y.shape[1], dtype=np.float32)
    side = _core.label_sides(Y, weights, key=1, normalized=normalized)
    gain = oracles.mean_gain(lists, weights, side, normalized=normalized)
    draw = np.random.default_rng(0)
    for _ in range(5):
        random = draw.integers(0, 2, len(lists))
        assert gain > 1.05 * oracles.mean_gain(lists, weights, random, normalized=normalized)


@pytest.mark.parametrize("cost", [0.5, 2.0, 20.0])
@pytest.mark.parametrize("signed", [False, True])
def test_separators_reach_the_minimum_of_the_oracle(signed, cost):
    X = unit_items(2, n=80, n_coords=30, signed=signed)
    draw = np.random.default_rng(1)
    side = (X.toarray() @ draw.normal(size=30) + 0.2 * draw.normal(size=80) > 0).astype(np.uint8)
    costs = np.where(side, cost * 80 / side.sum(), cost * 80 / (80 - side.sum()))
    features, weights, bias, converged = _core.sparse_logistic(
        X, side, positive_cost=costs[side > 0][0],
        negative_cost=costs[side == 0][0], bias=1.0, max_rounds=100, tolerance=1e-4,
    )  # fmt: skip
    assert converged
    assert (np.diff(features) > 0).all()
    rows = np.hstack([X.toarray().astype(np.float64), np.ones((80, 1))])
    w = np.zeros(31)
    w[features], w[30] = weights, bias
    best = oracles.logistic_objective(
        oracles.logistic_minimum(rows, side, costs), rows, side, costs
    )
    found = oracles.logistic_objective(w, rows, side, costs)
    assert found <= best * (1 + 1e-4)


def test_strong_penalty_leaves_no_weight():
    X, side = unit_items(3, n=20, n_coords=8), np.uint8([0, 1] * 10)
    costs = {"positive_cost": 0.01, "negative_cost": 0.01}
    features, weights, bias, converged = _core.sparse_logistic(
        X, side, **costs, bias=1.0, max_rounds=10, tolerance=0.01
    )
    assert converged
    assert len(features) == len(weights) == bias == 0


def trained(train, options, X, Y, keys=KEYS):
    """Return rows of length one, their labels and a forest of them."""
    X = _native.scale_rows(X, n_threads=1)
    weights = np.ones(Y.shape[1], dtype=np.float32)
    return X, Y, train(X, Y, weights, keys, options, n_threads=1)


def grown(seed=0, *, keys=KEYS, **options):
    chosen = FastxmlOptions(**{"cost": 3.0, **options})
    return trained(_native.train_fastxml, chosen, *make_data(seed=seed), keys)


def grown_craftml(seed=0, **options):
    X, Y = make_data(seed=seed)
    labelled = np.diff(Y.indptr) > 0
    chosen = CraftmlOptions(**{"n_clusters": 4, "n_buckets": 50, "kept_share": 0.5, **options})
    return trained(_native.train_craftml, chosen, X[labelled], Y[labelled])


BOTH = pytest.mark.parametrize("grow", [grown, grown_craftml], ids=["FastXML", "CRAFTML"])


@pytest.mark.parametrize(
    ("made", "n_mixed"),
    [
        (grown, 12),
        (lambda: grown_craftml(seed=1, n_kept=FULL_HASH), 24),
        (lambda: grown_craftml(seed=1, n_kept=FULL_HASH // 2), 24),
    ],
    ids=["FastXML", "CRAFTML", "CRAFTML on half of the features"],
)
def test_leaf_is_the_mean_of_its_points(made, n_mixed):
    X, Y, forest = made()
    wrong, right = oracles.wrong_leaves(forest, X.toarray(), Y.toarray())
    assert not wrong
    assert len(right) > n_mixed


def test_nodes_are_breadth_first_with_increasing_slots():
    _, _, forest = grown(seed=1)
    for begin, end in pairwise(forest.tree_ptr):
        counts = forest.n_children[begin:end]
        inner = counts > 0
        first = begin + 1 + np.append(0, np.cumsum(counts))[:-1]
        np.testing.assert_array_equal(forest.first_child[begin:end][inner], first[inner])
        assert counts.sum() == end - begin - 1
    for bounds, items in ((forest.entry_ptr, forest.slots), (forest.leaf_ptr, forest.outputs)):
        for begin, end in pairwise(bounds):
            assert (np.diff(items[begin:end].astype(int)) > 0).all()
    assert (np.diff(forest.features) > 0).all()
    assert (np.diff(forest.labels) > 0).all()


def test_tree_of_few_points_is_one_leaf():
    n_points = make_data(seed=0)[0].shape[0]
    assert len(grown(max_leaf_size=n_points)[2].first_child) == len(KEYS)
    assert len(grown(max_leaf_size=n_points - 1)[2].first_child) > len(KEYS)


def test_leaf_keeps_its_best_labels():
    _, _, forest = grown(leaf_labels=2, max_leaf_size=6)
    _, _, whole = grown(max_leaf_size=6)
    np.testing.assert_array_equal(forest.first_child, whole.first_child)
    sizes, all_sizes = np.diff(forest.leaf_ptr), np.diff(whole.leaf_ptr)
    np.testing.assert_array_equal(sizes, np.minimum(all_sizes, 2))
    assert all_sizes.max() > 2
    for leaf in np.flatnonzero(all_sizes > 2):
        kept = forest.values[forest.leaf_ptr[leaf] : forest.leaf_ptr[leaf + 1]]
        everything = whole.values[whole.leaf_ptr[leaf] : whole.leaf_ptr[leaf + 1]]
        np.testing.assert_array_equal(np.sort(kept), np.sort(everything)[-2:])


def test_tree_depends_only_on_its_key():
    _, _, three = grown(seed=3)
    _, _, last = grown(seed=3, keys=KEYS[2:])
    begin = three.tree_ptr[2]
    np.testing.assert_array_equal(three.n_children[begin:], last.n_children)
    assert three.bias[begin:].tobytes() == last.bias.tobytes()


@BOTH
@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 50), n_rows=st.sampled_from([1, 9, 70, 150]), k=st.integers(1, 12))
def test_search_equals_the_oracle(grow, seed, n_rows, k):
    _, Y, forest = grow(seed=seed % 5)
    rows = unit_items(seed, n=n_rows, n_coords=90)
    labels, found = _native.forest_search(forest, rows, k=k, n_threads=1 + seed % 2)
    scores = oracles.forest_scores(forest, rows.toarray(), Y.shape[1])
    wanted = best_columns(np.where(scores > 0, scores, -np.inf), k)
    np.testing.assert_array_equal(labels, wanted[0])
    np.testing.assert_array_equal(found, wanted[1])


def prototypes_of(forest, n_slots, seed=0):
    """Return random prototypes of all outputs, and the same as weighted dense rows."""
    draw = np.random.default_rng(seed)
    dense = np.float32(draw.random((len(forest.labels), n_slots)) * 0.2)
    dense *= draw.random(dense.shape) < 0.5
    made = sparse.csr_array(dense)
    weights = np.float32(draw.uniform(0.05, 1.0, len(forest.labels)))
    slots = _native.narrow(made.indices, n_slots)
    prototypes = _native.Prototypes.of(made.indptr.astype(np.int64), slots, made.data, weights)
    return prototypes, (dense.astype(np.float64), weights)


@pytest.mark.parametrize(("alpha", "gamma"), [(0.8, 30.0), (0.3, 4.0), (1.0, 30.0), (0.5, 1e6)])
@pytest.mark.parametrize("k", [1, 4, 40])
def test_reranking_equals_the_oracle(alpha, gamma, k):
    _, Y, forest = grown(seed=1)
    rows = unit_items(5, n=60, n_coords=90)
    # Slots are the features themselves, so that distances are those of whole rows.
    prototypes, dense = prototypes_of(forest, len(forest.features))
    kept = rows.toarray()[:, forest.features]
    kept /= np.maximum(np.linalg.norm(kept, axis=1, keepdims=True), 1e-12)
    whole = np.zeros((60, 90), dtype=np.float32)
    whole[:, forest.features] = kept
    labels, found = _native.forest_search(
        forest, sparse.csr_array(whole), k=k, prototypes=prototypes, alpha=alpha, gamma=gamma
    )
    means = oracles.forest_scores(forest, whole, Y.shape[1])[:, forest.labels]
    wanted = oracles.reranked_scores(means, np.float64(kept), dense, alpha=alpha, gamma=gamma)
    order_changes = 0
    for ids, scores, exact, before in zip(labels, found, wanted, means, strict=True):
        order = np.lexsort((forest.labels, -exact))
        order = order[exact[order] > 0][:k]
        n = len(order)
        assert (ids[n:] == -1).all()
        # Rounding to steps may differ by one where the twin adds in another order.
        np.testing.assert_allclose(scores[:n], exact[order], rtol=1e-5)
        place = np.searchsorted(forest.labels, ids[:n])
        np.testing.assert_allclose(exact[place], scores[:n], rtol=1e-5)
        assert (np.diff(scores[:n]) <= 0).all()
        order_changes += order[0] != before.argmax()
    assert order_changes > 0 or alpha == 1.0


def test_equal_labels_are_ranked_by_id():
    _, _, forest = grown(seed=1)
    n_labels = len(forest.labels)
    empty = _native.Prototypes.of(
        np.zeros(n_labels + 1, dtype=np.int64),
        forest.slots[:0],
        np.zeros(0, dtype=np.float32),
        np.full(n_labels, 0.5, dtype=np.float32),
    )
    rows = unit_items(6, n=40, n_coords=90)
    labels, scores = _native.forest_search(forest, rows, k=9, prototypes=empty, alpha=0.7, gamma=9)
    wanted, means = _native.forest_search(forest, rows, k=9)
    np.testing.assert_array_equal(labels, wanted)
    np.testing.assert_array_equal(scores[:, 0], means[:, 0])
    best, _ = _native.forest_search(forest, rows, k=1, prototypes=empty, alpha=0.7, gamma=9)
    np.testing.assert_array_equal(best[:, 0], labels[:, 0])


def test_prototypes_of_the_wrong_size_are_refused():
    X, _, forest = grown()
    prototypes, _ = prototypes_of(forest, len(forest.features))
    for field, name in (
        ("prototype_ptr", "prototype_ptr"),
        ("values", "prototypes"),
        ("norms", "norms"),
        ("label_weights", "label_weights"),
    ):
        short = replace(prototypes, **{field: getattr(prototypes, field)[:-1]})
        with pytest.raises(ValueError, match=f"{name} of a forest must have"):
            _native.forest_search(forest, X, k=1, prototypes=short)


@BOTH
def test_wide_slots_and_outputs_give_the_same_result(grow):
    X, _, forest = grow()
    slots, outputs = forest.slots.astype(np.int32), forest.outputs.astype(np.int32)
    wanted = bits(_native.forest_search(forest, X, k=4))
    for wide in ({"slots": slots}, {"outputs": outputs}, {"slots": slots, "outputs": outputs}):
        found = _native.forest_search(replace(forest, **wide), X, k=4, n_threads=2)
        assert bits(found) == wanted


@BOTH
@pytest.mark.parametrize("name", ["entry_ptr", "children", "weights", "bias"])
def test_arrays_of_the_wrong_size_are_refused(grow, name):
    X, _, forest = grow()
    array = getattr(forest, name)
    wrong = np.append(array, array[:1] if len(array) else [0]).astype(array.dtype)
    with pytest.raises(ValueError, match=f"{name} of a forest must have"):
        _native.forest_search(replace(forest, **{name: wrong}), X, k=1)


def test_points_with_equal_labels_are_one_leaf():
    X = sparse.csr_array(np.float32(np.eye(20)))
    Y = sparse.csr_array(np.ones((20, 1), dtype=np.float32))
    assert _core.label_clusters(Y, key=1, n_clusters=3, n_buckets=100, max_rounds=3)[0] == 0
    for train, options in (
        (_native.train_fastxml, FastxmlOptions()),
        (_native.train_craftml, CraftmlOptions(max_leaf_size=2)),
    ):
        forest = train(X, Y, np.ones(1, dtype=np.float32), KEYS, options)
        assert forest.tree_ptr.tolist() == [0, 1, 2, 3]
        assert forest.values.tolist() == [1.0] * 3


# --- CRAFTML: hashed features, clusters of labels.


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_buckets", [7, 1000])
def test_label_clusters_equal_the_oracle(seed, n_buckets):
    _, Y = random_problem(seed, n_rows=60, n_labels=12, per_row=3)
    Y = Y[np.diff(Y.indptr) > 0]
    options = {"n_clusters": 5, "n_buckets": n_buckets, "max_rounds": 3}
    found, cluster = _core.label_clusters(Y, key=seed, **options)
    starts, wanted, _ = oracles.clusters_of_points(label_lists(Y), seed, **options)
    assert found == len(starts)
    # Similarities that are equal but for their rounding may fall either way.
    assert np.mean(cluster == wanted) > 0.9


def test_hash_keeps_its_share_in_all_buckets():
    found = [oracles.hash_item(11, item, 64, FULL_HASH // 4) for item in range(4000)]
    kept = [one for one in found if one is not None]
    assert 800 < len(kept) < 1200
    buckets = np.bincount([bucket for bucket, _ in kept], minlength=64)
    assert len(buckets) == 64
    assert buckets.max() < 40
    assert 0.4 < np.mean([sign > 0 for _, sign in kept]) < 0.6


def test_centroid_is_the_cut_and_scaled_mean():
    X, Y, forest = grown_craftml(seed=2, max_leaf_size=5)
    hashed = forest.hash
    for tree, key in enumerate(KEYS):
        options = {"n_clusters": 4, "n_buckets": 10_000, "max_rounds": 3}
        n_clusters, cluster = _core.label_clusters(Y, key=int(key), **options)
        root = int(forest.tree_ptr[tree])
        # Clusters that no point goes to are no children, which these data have none of.
        assert forest.n_children[root] == n_clusters
        rows = np.array([oracles.hashed_vector(row, key, 50, hashed.n_kept) for row in X.toarray()])
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
    _, _, forest = grown_craftml(seed=3)
    assert len(forest.bias) == len(forest.features) == 0
    key = forest.slots.astype(int) * 256 + forest.children
    for node, (begin, end) in enumerate(pairwise(forest.entry_ptr)):
        assert (np.diff(key[begin:end]) > 0).all()
        assert (forest.children[begin:end] < max(1, forest.n_children[node])).all()


def test_only_a_sample_of_a_node_is_clustered():
    _, _, whole = grown_craftml(seed=2)
    _, _, part = grown_craftml(seed=2, sample=40)
    assert bits(whole) != bits(part)


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
        grown_craftml(**options)
