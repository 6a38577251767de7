import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import load_dataset
from defrag.baselines import PLT, Bonsai
from defrag.baselines.label_trees import build_kary_tree, co_occurrences, resolve_singletons
from defrag.metrics import evaluate
from tests.data import random_problem, unit_items
from tests.helpers.bits import bits
from tests.oracles.label_trees import children_of, dense_classifiers


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 120),
    arity=st.integers(2, 12),
    max_depth=st.integers(1, 5),
    density=st.sampled_from([0.0, 0.05, 0.4]),
)
def test_a_kary_tree_is_a_tree(*, seed, n, arity, max_depth, density):
    ids = np.arange(n, dtype=np.int32) * 3
    items = unit_items(seed, n=n, density=density)
    tree = build_kary_tree(items, ids, arity=arity, max_depth=max_depth, seed=seed, n_threads=1)
    assert sorted(tree.order) == ids.tolist()
    depth = np.ones(len(tree.begin), dtype=int)
    for node, (first, count) in enumerate(zip(tree.first_child, tree.n_children, strict=True)):
        members = tree.order[tree.begin[node] : tree.end[node]]
        if count == 0:
            assert len(members) <= arity or depth[node] == max_depth or density < 0.4
            assert np.all(np.diff(members) > 0)
            continue
        assert 2 <= count <= arity < len(members)
        parts = children_of(tree, node)
        np.testing.assert_array_equal(np.concatenate(parts), members)
        assert min(len(part) for part in parts) >= 2
        depth[first : first + count] = depth[node] + 1
    assert depth.max() <= max_depth


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(-1, 6), st.integers(-1, 6)), min_size=1, max_size=30))
def test_resolve_singletons_have_two_items_and_no_gap(pairs):
    first, second = (np.array(part, dtype=np.int32) for part in zip(*pairs, strict=True))
    second[(second == first) | (first < 0)] = -1
    clusters = resolve_singletons(first, second)
    sizes = np.bincount(clusters)
    assert len(clusters) == len(pairs)
    assert np.all(sizes >= min(2, len(pairs)))
    # Clusters that had company keep it.
    before = np.bincount(first[first >= 0], minlength=7)
    for c in np.flatnonzero(before >= 2):
        assert len(set(clusters[first == c])) == 1


def test_items_without_centre_join_smallest_clusters():
    first = np.array([0, 0, 0, 0, 1, 1, 2, 2, 2, -1, -1, -1, -1])
    clusters = resolve_singletons(first, np.full(13, -1))
    # Sizes 4, 2 and 3: the second, then second and third, then the first.
    assert clusters[9:].tolist() == [1, 1, 2, 0]


def test_single_item_moves_to_second_best_cluster():
    # 2 is alone and likes 0; 3 is alone and likes 2, which is gone: where that one went.
    clusters = resolve_singletons(np.array([0, 0, 1, 1, 2, 3]), np.array([1, 1, 0, 0, 0, 2]))
    assert clusters.tolist() == [0, 0, 1, 1, 0, 0]
    # Two that like each other stay together.
    clusters = resolve_singletons(np.array([0, 0, 1, 2]), np.array([-1, -1, 2, 1]))
    assert clusters.tolist() == [0, 0, 1, 1]


def test_unrelated_labels_make_even_tree():
    items = sparse.csr_array(np.eye(60, dtype=np.float32))
    tree = build_kary_tree(items, np.arange(60), arity=10, max_depth=2, seed=0, n_threads=1)
    assert (tree.end - tree.begin)[1:].tolist() == [6] * 10


def test_the_depth_counts_the_root():
    items, options = unit_items(0, n=200), {"arity": 5, "seed": 0, "n_threads": 1}
    one, two, three = (
        build_kary_tree(items, np.arange(200), max_depth=depth, **options).n_children
        for depth in (1, 2, 3)
    )
    assert one.tolist() == [0]
    assert two.tolist() == [5, 0, 0, 0, 0, 0]
    assert three[1:].max() >= 2


def test_too_large_leaf_error_names_max_depth():
    items = sparse.csr_array((70_000, 1), dtype=np.float32)
    with pytest.raises(ValueError, match=r"max_depth must be large enough .* one of 70000"):
        build_kary_tree(items, np.arange(70_000), arity=5, max_depth=1, seed=0, n_threads=1)


def test_co_occurrences_by_hand():
    Y = sparse.csr_array(np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 1]], dtype=np.float32))
    found = co_occurrences(Y, max_entries=0, n_threads=1).toarray()
    counts = np.array([[0, 2, 1, 0], [2, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
    lengths = np.sqrt([5, 5, 2, 1])
    np.testing.assert_allclose(found, counts / lengths[:, None], rtol=1e-6)


def penalty(margins):
    return np.maximum(0, 1 - margins) ** 2


def share(margins):
    return 1 / (1 + np.exp(-margins))


@pytest.mark.parametrize(
    ("model", "n_labels", "score"),
    [
        (Bonsai(1, arity=4, beam_size=30, random_state=0), 30,
         lambda parent, own: np.exp(-0.98 * penalty(parent) - penalty(own))),
        (PLT(max_leaf_size=6, random_state=0), 12, lambda parent, own: share(parent) * share(own)),
    ],
    ids=["bonsai", "plt"],
)  # fmt: skip
def test_scores_are_those_of_the_path(model, n_labels, score):
    X, Y = random_problem(5, n_rows=100, n_labels=n_labels)
    (member,) = model.fit(X, Y).trees_
    x = X[[3]].toarray()[0] / np.linalg.norm(X[[3]].toarray()[0])
    labels, scores = model.predict_topk(X[[3]], k=n_labels)
    found = dict(zip(labels[0].tolist(), scores[0].tolist(), strict=True))

    def margins(node):
        weights, bias = dense_classifiers(member.weights, node, len(x))
        return x @ weights + bias

    children = zip(margins(0), children_of(member.tree, 0), strict=True)
    for node, (parent, members) in enumerate(children, member.tree.first_child[0]):
        own = [found[label] for label in members]
        np.testing.assert_allclose(own, score(parent, margins(node)), rtol=1e-4, atol=1e-7)


def test_points_without_labels_do_not_change_a_plt():
    X, Y = random_problem(6, n_rows=120, n_labels=12)
    labelled = np.flatnonzero(np.diff(Y.indptr))
    assert len(labelled) < 120
    whole = PLT(max_leaf_size=3, random_state=0).fit(X, Y)
    part = PLT(max_leaf_size=3, random_state=0).fit(X[labelled], Y[labelled])
    np.testing.assert_array_equal(whole.predict_topk(X)[1], part.predict_topk(X)[1])


def test_a_wide_beam_finds_what_the_exact_search_finds():
    X, Y = random_problem(7, n_rows=200, n_labels=60)
    exact = PLT(max_leaf_size=4, random_state=0).fit(X, Y)
    beam = PLT(max_leaf_size=4, search="beam", beam_size=60, random_state=0).fit(X, Y)
    assert bits(exact.predict_topk(X)) == bits(beam.predict_topk(X))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "lowest"),
    [
        (Bonsai(n_trees=1, random_state=0), (81.5, 68.1, 56.7)),
        (PLT(random_state=0), (79.6, 66.7, 55.4)),
    ],
    ids=["Bonsai", "PLT"],
)
def test_accuracy_on_eurlex(data_folder, model, lowest):
    if not (data_folder / "eurlex-4k").is_dir():
        pytest.skip("no eurlex-4k in the data folder")
    data = load_dataset("eurlex-4k")
    labels, _ = model.fit(data.train.X, data.train.Y).predict_topk(data.test.X)
    report = evaluate(data.test.Y, labels)
    for name, low in zip(("P@1", "P@3", "P@5"), lowest, strict=True):
        assert low < report[name] < low + 2.5
