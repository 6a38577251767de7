from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from defrag import _native
from defrag._native import Loss, SolverOptions
from defrag._validation import canonical_csr
from tests.data import random_problem
from tests.helpers.bits import bits
from tests.oracles.label_trees import dense_classifiers, flat_tree, node_problem, random_tree
from tests.oracles.solver import minimum

TIGHT = SolverOptions(max_passes=3000, tolerance=1e-4, skip=0.0, threshold=0.0)


def train(X, Y, tree, options=TIGHT, **more):
    positives = sparse.csr_array(Y.T)
    return _native.train_label_tree(X, positives, tree, options, **{"n_threads": 1, **more})


def check_node(weights, node, rows, targets, loss="squared_hinge"):
    """Compare the classifiers of a node with the minimum of each output."""
    found, bias = dense_classifiers(weights, node, rows.shape[1])
    for output, positive in enumerate(targets.T):
        _, expected, intercept = minimum(rows, positive, loss=loss, bias=0.3, offset=True)
        np.testing.assert_allclose(found[:, output], expected, atol=3e-3)
        assert bias[output] == pytest.approx(intercept, abs=3e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "run_entries"), [("squared_hinge", 1 << 25), ("logistic", 1 << 25), ("logistic", 200)]
)
@pytest.mark.parametrize("seed", range(3))
def test_node_is_solved_on_its_own_points(seed, loss, run_entries):
    X, Y = random_problem(seed)
    tree = flat_tree(random_tree(range(Y.shape[1]), np.random.default_rng(seed)))
    weights = train(X, Y, tree, TIGHT.replace(loss=Loss[loss], run_entries=run_entries))
    for node in range(len(tree.n_children)):
        check_node(weights, node, *node_problem(tree, node, X.toarray(), Y.toarray() > 0), loss)


def test_runs_have_the_same_bits_in_files_and_for_any_number_of_threads(tmp_path):
    X, Y = random_problem(0)
    tree = flat_tree(random_tree(range(Y.shape[1]), np.random.default_rng(0)))
    in_runs = SolverOptions(run_entries=200, settle=3)
    expected = train(X, Y, tree, in_runs)
    assert bits(expected) != bits(train(X, Y, tree, SolverOptions(settle=3)))
    for n_threads in (1, 3):
        storage = _native.FileStorage(str(tmp_path), 1)
        found = train(X, Y, tree, in_runs, storage=storage, n_threads=n_threads)
        assert bits(found) == bits(expected)


@pytest.mark.parametrize("run_entries", [1 << 25, 200, 0])
def test_weights_of_points_count_in_every_node(run_entries):
    X, Y = random_problem(0, n_labels=6)
    tree = flat_tree([[0, 1], [2, 3], [4, 5]])
    times = np.random.default_rng(0).integers(1, 4, X.shape[0])
    in_runs = TIGHT.replace(run_entries=run_entries)
    weighted = train(X, Y, tree, in_runs, weights=times.astype(np.float32))
    rows = np.repeat(np.arange(X.shape[0]), times)
    repeated = train(canonical_csr(X[rows], name="X"), canonical_csr(Y[rows], name="Y"), tree)
    # Shares of positives do not count weights twice: both have the same offsets.
    np.testing.assert_allclose(weighted.bias, repeated.bias, atol=3e-3)
    for node in range(4):
        found, wanted = (dense_classifiers(one, node, 30)[0] for one in (weighted, repeated))
        np.testing.assert_allclose(found, wanted, atol=3e-3)


def test_root_leaf_equals_one_vs_rest():
    X, Y = random_problem(5, n_labels=40)
    weights = train(X, Y, flat_tree(list(range(40))), SolverOptions())
    labelled = np.flatnonzero(np.diff(Y.indptr))
    positives = sparse.csr_array(Y[labelled].T)
    flat = _native.solve_blocks(X[labelled], positives, SolverOptions(), n_threads=1)
    found, bias = dense_classifiers(weights, 0, X.shape[1])
    np.testing.assert_array_equal(found, flat.weights.toarray())
    np.testing.assert_array_equal(bias, flat.bias)


@pytest.mark.parametrize("seed", range(2))
def test_negatives_of_a_node_are_points_without_its_labels(seed):
    X, Y = random_problem(seed)
    draw = np.random.default_rng(seed)
    tree = flat_tree(random_tree(range(Y.shape[1]), draw))
    lists = [
        np.sort(draw.choice(X.shape[0], 8, replace=False)) if n == 0 else np.zeros(0, dtype=int)
        for n in tree.n_children
    ]
    begin = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    negatives = begin, np.concatenate(lists).astype(np.int32)
    weights = train(X, Y, tree, negatives=negatives)
    assert bits(weights) == bits(train(X, Y, tree, negatives=negatives, n_threads=3))
    assert bits(weights) != bits(train(X, Y, tree))
    for node, own in enumerate(lists[:6]):
        check_node(weights, node, *node_problem(tree, node, X.toarray(), Y.toarray() > 0, own))


@pytest.mark.parametrize(
    ("begin", "points"),
    [([0, 0], [0]), ([1, 1], [0]), ([0, 1, 1], [0]), ([0, 1], [-1]), ([0, 1], [10**6])],
)
def test_negatives_that_are_not_lists_of_points_are_refused(begin, points):
    X, Y = random_problem(5, n_labels=40)
    negatives = np.array(begin, dtype=np.int64), np.array(points, dtype=np.int32)
    with pytest.raises(ValueError, match="negatives must be lists of points, one per node"):
        train(X, Y, flat_tree(list(range(40))), SolverOptions(), negatives=negatives)


def test_weights_are_sorted():
    X, Y = random_problem(7)
    tree = flat_tree(random_tree(range(Y.shape[1]), np.random.default_rng(7)))
    weights = train(X, Y, tree, SolverOptions(threshold=0.05))
    for node in range(len(tree.n_children)):
        features = weights.features[weights.feature_ptr[node] : weights.feature_ptr[node + 1]]
        assert np.all(np.diff(features) > 0)
    sizes = np.diff(weights.entry_ptr)
    assert np.all(sizes > 0)
    for first, last in pairwise(weights.entry_ptr):
        assert np.all(np.diff(weights.outputs[first:last].astype(int)) > 0)
    assert np.all(np.abs(weights.weights) > 0.05)


def test_labels_and_nodes_without_points_have_no_weights():
    X, Y = random_problem(8)
    Y = Y.toarray()
    Y[:, :4] = 0.0
    weights = train(X, canonical_csr(Y, name="Y"), flat_tree([[0, 1], [2, 3], [4, 5, 6]]))
    for node in (1, 2):  # both nodes have no point at all
        found, bias = dense_classifiers(weights, node, X.shape[1])
        assert not found.any()
        assert bias.tolist() == [-1.0, -1.0]


def test_too_wide_node_is_refused():
    n_labels = 65537
    tree = flat_tree(list(range(n_labels)))
    X = sparse.csr_array((2, 3), dtype=np.float32)
    Y = sparse.csr_array((2, n_labels), dtype=np.float32)
    with pytest.raises(ValueError, match="at most 65536 children or labels, got 65537"):
        train(X, Y, tree)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ((-1, 0, 1), "of 1 nodes has no node -1"),
        ((1, 0, 1), "of 1 nodes has no node 1"),
        ((0, -1, 1), "node 0 does not have blocks -1 to 1"),
        ((0, 2, 1), "node 0 does not have blocks 2 to 1"),
        ((0, 0, 4), "node 0 does not have blocks 0 to 4"),
    ],
)
def test_blocks_outside_the_tree_are_refused(block, message):
    X, Y = random_problem(5, n_labels=40)
    blocks = np.array([block], dtype=np.int64)
    with pytest.raises(ValueError, match=message):
        train(X, Y, flat_tree(list(range(40))), SolverOptions(), blocks=blocks)


def test_blocks_join_to_the_whole_node():
    X, Y = random_problem(5, n_labels=40)
    tree = flat_tree(list(range(40)))
    whole, whole_bias = dense_classifiers(train(X, Y, tree, SolverOptions()), 0, X.shape[1])
    blocks = np.array([[0, 2, 3], [0, 0, 2]], dtype=np.int64)
    found = train(X, Y, tree, SolverOptions(), blocks=blocks)
    assert found.bias_ptr.tolist() == [0, 8, 40]
    np.testing.assert_array_equal(found.bias, np.append(whole_bias[32:], whole_bias[:32]))
    dense = np.zeros_like(whole)
    sizes = np.diff(found.entry_ptr)
    dense[np.repeat(found.features, sizes), found.outputs] = found.weights
    np.testing.assert_array_equal(dense, whole)
