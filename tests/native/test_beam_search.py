"""Searches of label trees: by a beam, best first, of several trees at once."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import _native
from defrag._native import Loss, SolverOptions
from tests.data import random_csr, random_problem, trained_tree, zero_weights
from tests.helpers.bits import bits
from tests.oracles.label_trees import flat_tree, last_beam, search, search_trees


def trained_on_parts(X, Y, n_parts, threshold=0.05):
    """Train a tree whose root has some children, each with an equal part of the labels."""
    labels = np.arange(Y.shape[1])
    tree = flat_tree([part.tolist() for part in np.array_split(labels, n_parts)])
    options, positives = SolverOptions(threshold=threshold), sparse.csr_array(Y.T)
    return tree, _native.train_label_tree(X, positives, tree, options, n_threads=1)


def check_against_oracle(tree, weights, X, found, options):
    """Check some rows; labels whose scores are equal may come in another order."""
    for labels, scores, x in zip(*found, X.toarray(), strict=True):
        expected = search(tree, weights, x, **options)
        n_found = len(expected)
        assert (labels[n_found:] == -1).all()
        exact = np.exp([score for score, _ in expected])
        np.testing.assert_allclose(scores[:n_found], exact, rtol=1e-5)
        if len(set(exact.astype(np.float32))) == n_found:
            assert labels[:n_found].tolist() == [label for _, label in expected]


def check_single_rows(tree, weights, X, found, *, step, **options):
    """Check that some rows have the same bits when they are searched one by one."""
    labels, scores = found
    for row in range(0, X.shape[0], step):
        alone = _native.beam_search(tree, weights, X[[row]], **options)
        assert bits(alone) == bits((labels[[row]], scores[[row]]))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_labels=st.integers(1, 40),
    beam_size=st.integers(1, 12),
    k=st.integers(1, 9),
    loss=st.sampled_from(["squared_hinge", "logistic"]),
    discounts=st.sampled_from([(1.0, 1.0), (0.98, 0.98), (1.0, 0.4), (0.9, 0.3)]),
    power=st.sampled_from([2, 3]),
)
def test_search_equals_the_oracle(*, seed, n_labels, beam_size, k, loss, discounts, power):
    tree, weights, X = trained_tree(seed, n_labels=n_labels, loss=loss, n_rows=40)
    names = "discount", "leaf_discount"
    options = {"beam_size": beam_size, "k": k, "power": power}
    options |= dict(zip(names, map(np.float32, discounts), strict=True))
    found = _native.beam_search(tree, weights, X, loss=Loss[loss], **options)
    check_against_oracle(tree, weights, X, found, {"loss": loss, **options})


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_labels=st.integers(1, 40),
    k=st.integers(1, 9),
    loss=st.sampled_from(["squared_hinge", "logistic"]),
)
def test_best_first_search_equals_exhaustive_scoring(*, seed, n_labels, k, loss):
    tree, weights, X = trained_tree(seed, n_labels=n_labels, loss=loss, n_rows=40)
    found = _native.best_first_search(tree, weights, X, loss=Loss[loss], k=k)
    everything = {"loss": loss, "k": k, "beam_size": len(tree.begin), "discount": np.float32(1.0)}
    check_against_oracle(tree, weights, X, found, everything)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("seed", range(6))
def test_unbounded_beam_gives_the_same_bits(seed, loss):
    tree, weights, X = trained_tree(seed, n_labels=80, loss=loss, n_rows=200)
    for k in (1, 5, 80):
        exact = _native.best_first_search(tree, weights, X, loss=Loss[loss], k=k)
        everywhere = len(tree.begin)
        beam = _native.beam_search(tree, weights, X, loss=Loss[loss], k=k, beam_size=everywhere)
        assert bits(exact) == bits(beam)


def test_path_with_low_first_score_can_win():
    # Left: 0.6 * 0.5 for both labels. Right: 0.4 * 0.9. A beam of one goes left.
    tree = flat_tree([[0, 1], [2]])
    shares = np.array([0.6, 0.4, 0.5, 0.5, 0.9])
    weights = zero_weights(tree, 0.0)
    weights.bias[:] = np.log(shares / (1 - shares))
    row = sparse.csr_array((1, 7), dtype=np.float32)
    labels, scores = _native.best_first_search(tree, weights, row, k=1)
    assert labels.tolist() == [[2]]
    assert scores[0, 0] == pytest.approx(0.36)
    narrow, _ = _native.beam_search(tree, weights, row, loss=Loss.logistic, k=1, beam_size=1)
    assert narrow.tolist() == [[0]]


def test_discounted_label_may_score_above_its_leaf():
    tree, weights, X = trained_tree(3, n_labels=60, n_rows=60)
    options = {"beam_size": 12, "k": 1, "power": 2, "discount": np.float32(0.3)}
    labels, _ = _native.beam_search(tree, weights, X, loss=Loss.squared_hinge, **options)
    for row, (label,) in enumerate(labels.tolist()):
        x = X[[row]].toarray()[0]
        expected = search(tree, weights, x, loss="squared_hinge", **options)
        assert [label] == [one for _, one in expected]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_reached_leaves_are_those_of_the_last_beam(n_threads):
    tree, weights, X = trained_tree(5, n_labels=60, n_rows=300)
    options = {"beam_size": 4, "discount": np.float32(0.9), "power": 3}
    begin, rows = _native.reached_leaves(
        tree, weights, X, loss=Loss.squared_hinge, n_threads=n_threads, **options
    )
    reached = [[] for _ in tree.begin]
    for row in range(X.shape[0]):
        x = X[[row]].toarray()[0]
        for _, leaf in last_beam(tree, weights, x, loss="squared_hinge", **options):
            reached[leaf].append(row)
    assert [rows[a:b].tolist() for a, b in pairwise(begin)] == reached
    assert not any(len(reached[node]) for node in np.flatnonzero(tree.n_children))


@pytest.mark.parametrize("n_rows", [1, 700])
def test_smaller_k_gives_the_first_labels(n_rows):
    X, Y = random_problem(7, n_labels=400, per_row=3, n_rows=n_rows)
    tree, weights = trained_on_parts(X, Y, 8)
    labels, scores = _native.beam_search(tree, weights, X, beam_size=8, k=400)
    assert np.all(np.sort(labels, axis=1) == np.arange(400))
    for k in (1, 5, 16, 17, 50, 100, 127, 128, 150, 300):
        for n_threads in (1, 3):
            found = _native.beam_search(tree, weights, X, beam_size=8, k=k, n_threads=n_threads)
            assert bits(found) == bits((labels[:, :k], scores[:, :k]))


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("wide_leaves", [False, True])
def test_division_of_wide_nodes_and_rows_gives_the_same_bits(n_threads, wide_leaves):
    # 90 outputs are more than four panels, of which the last is not full.
    X, Y = random_problem(6, n_labels=180, per_row=3, n_rows=700)
    tree, weights = trained_on_parts(X, Y, 2 if wide_leaves else 90)
    labels, scores = _native.beam_search(tree, weights, X, power=3, n_threads=n_threads)
    check_single_rows(tree, weights, X, (labels, scores), step=50, power=3)
    x = X[[1]].toarray()[0]
    expected = search(
        tree, weights, x, loss="squared_hinge", beam_size=10, k=5, discount=1.0, power=3
    )
    np.testing.assert_allclose(scores[1], np.exp([score for score, _ in expected]), rtol=1e-5)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_features", [30, 3000, 60000])
def test_panels_are_empty_for_the_next_node(n_features, n_threads):
    # Few features are all unpacked; of many, those of the rows, which are few at small nodes.
    _, Y = random_problem(8, n_labels=180, n_rows=600)
    X = random_csr(600, n_features, density=15 / n_features)
    tree, weights = trained_on_parts(X, Y, 30, threshold=0.01)
    found = _native.beam_search(tree, weights, X, n_threads=n_threads)
    check_single_rows(tree, weights, X, found, step=20)  # these are searched, not unpacked


def test_wider_beam_never_lowers_the_best_score():
    tree, weights, X = trained_tree(4)
    best = [
        _native.beam_search(tree, weights, X, beam_size=beam)[1][:, 0] for beam in (1, 2, 4, 8, 16)
    ]
    for narrow, wide in pairwise(best):
        assert np.all(wide >= narrow)


def test_hand_computed_scores_and_missing_labels():
    # Two levels with margin 0: log score -1 - 1.
    tree = flat_tree([[0], [1]])
    row = sparse.csr_array((1, 7), dtype=np.float32)
    labels, scores = _native.beam_search(tree, zero_weights(tree, 0.0), row, k=4)
    assert labels.tolist() == [[0, 1, -1, -1]]
    np.testing.assert_allclose(scores[0], [np.exp(-2), np.exp(-2), 0, 0], rtol=1e-6)


def test_average_counts_absent_labels_as_zero():
    first = (np.array([[3, 1]], np.int32), np.array([[0.75, 0.5]], np.float32))
    second = (np.array([[1, -1]], np.int32), np.array([[0.5, 0.0]], np.float32))
    labels, scores = _native.average_trees([first, second], k=3)
    assert labels.tolist() == [[1, 3, -1]]
    assert scores.tolist() == [[0.5, 0.375, 0.0]]


def test_average_of_a_tree_with_itself_is_the_tree():
    tree, weights, X = trained_tree(6)
    answer = _native.beam_search(tree, weights, X, k=5)
    assert bits(_native.average_trees([answer, answer], k=5, n_threads=2)) == bits(answer)


def members_of(seed, n_trees, **shape):
    """Make trees over the same labels, in the form of the kernel."""
    trees = [trained_tree(seed + number, **shape) for number in range(n_trees)]
    return [member_of(tree, weights) for tree, weights, _ in trees], trees[0][2]


def member_of(tree, weights, n_labels=None):
    """Return a tree, its weights and the place of each label in it."""
    places = np.full(n_labels or tree.order.max() + 1, -1, dtype=np.int32)
    places[tree.order] = np.arange(len(tree.order))
    return tree, weights, places


def search_all(members, X, *, k, beam_size=3, leaf_discount=0.4, n_threads=1, index=False):
    trees = [
        (_native.TreeSearch(*pair, _native.FeatureIndex(pair[1]) if index else None), places)
        for *pair, places in members
    ]
    options = {"discount": 1.0, "power": 3, "loss": Loss.squared_hinge}
    options |= {"k": k, "beam_size": beam_size, "leaf_discount": leaf_discount}
    return _native.search_trees(trees, X, **options, n_threads=n_threads)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_trees=st.integers(1, 4),
    n_labels=st.integers(1, 60),
    beam_size=st.integers(1, 8),
    k=st.integers(1, 9),
    leaf_discount=st.sampled_from([1.0, 0.4]),
)
def test_search_of_several_trees_equals_the_oracle(
    *, seed, n_trees, n_labels, beam_size, k, leaf_discount
):
    members, X = members_of(seed, n_trees, n_labels=n_labels, n_rows=40)
    labels, scores = search_all(members, X, k=k, beam_size=beam_size, leaf_discount=leaf_discount)
    trees = [member[:2] for member in members]
    for row in range(0, 40, 4):
        expected = search_trees(
            trees, X[[row]].toarray()[0], k=k, beam_size=beam_size, power=3,
            loss="squared_hinge", discount=np.float32(1.0), leaf_discount=np.float32(leaf_discount),
        )  # fmt: skip
        means = np.array([mean for mean, _ in expected], dtype=np.float32)
        np.testing.assert_allclose(scores[row, : len(means)], means, rtol=1e-5)
        assert (labels[row, len(means) :] == -1).all()
        if len(means) < 2 or np.diff(-means).min() > 1e-6:
            assert labels[row, : len(means)].tolist() == [label for _, label in expected]


@pytest.mark.parametrize(
    ("first", "labels", "second", "score"),
    [
        ([1, 0], [*range(8)], [0, 0, 0, 0, 0, -9, 0, 1], (1 + np.exp(-1)) / 2),  # as good as 7
        ([1, 0.5], [[*range(8)], [8]], [0, 0, *[0.5] * 5, -9, 0.5, 1, 0], (1 + np.exp(-0.525)) / 2),
    ],
)
def test_best_label_may_be_one_that_a_tree_does_not_list(first, labels, second, score):
    """The second tree lists six labels: 7, and of those that are equally good, 0 to 4; not 6."""
    members = []
    for tree, bias in ((flat_tree([6, 7]), first), (flat_tree(labels), second)):
        weights = replace(zero_weights(tree, 0.0), bias=np.array(bias, dtype=np.float32))
        members.append(member_of(tree, weights, n_labels=9))
    found, scores = search_all(members, sparse.csr_array((1, 3), dtype=np.float32), k=1)
    assert found.tolist() == [[6]]
    np.testing.assert_allclose(scores, score, rtol=1e-6)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_several_trees_give_the_same_bits_to_single_rows_and_threads(n_threads):
    members, X = members_of(4, 3, n_labels=60, n_rows=700)
    labels, scores = search_all(members, X, k=4, n_threads=n_threads)
    for row in range(0, 700, 50):
        for index in (False, True):
            alone = search_all(members, X[[row]], k=4, index=index)
            assert bits(alone) == bits((labels[[row]], scores[[row]]))


def test_index_finds_features_that_lie_close_together():
    """A bit of the index stands for the first hundred features, as the last one is far."""
    tree = flat_tree([0, 1])
    features = np.array([*range(100), 10**6], dtype=np.int32)
    weights = replace(
        zero_weights(tree, 0.0), feature_ptr=np.array([0, 101]), features=features,
        entry_ptr=np.arange(102), outputs=np.zeros(101, np.uint16),
        weights=np.linspace(0.1, 0.9, 101, dtype=np.float32),
    )  # fmt: skip
    known = dict(zip(features.tolist(), weights.weights.tolist(), strict=True))
    for feature in (*range(0, 100, 9), 100, 5000, 10**6, 10**6 + 1, 64 * 10**6):  # or of no node
        row = sparse.csr_array(([1.0], ([0], [feature])), (1, 10**8), dtype=np.float32)
        found = search_all([member_of(tree, weights)], row, k=1, index=True)
        slack = 1.0 - known.get(feature, 0.0)
        np.testing.assert_allclose(found[1], np.exp(-(slack**3)), rtol=1e-5)


def test_labels_that_all_trees_list_have_their_average():
    members, X = members_of(9, 3, n_labels=60, n_rows=300)
    found = [
        _native.beam_search(
            *member[:2], X, k=60, beam_size=3, discount=1.0, leaf_discount=0.4, power=3
        )
        for member in members
    ]
    assert bits(search_all(members, X, k=60)) == bits(_native.average_trees(found, k=60))
