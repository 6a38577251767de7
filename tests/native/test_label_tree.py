"""Label trees: their training, and weights as a model file has them."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import sparse

from defrag import _native
from defrag._native import Loss, SolverOptions
from defrag._validation import canonical_csr
from defrag.classifiers.label_tree import TrainedTree
from defrag.persistence.kinds import kind_of
from defrag.persistence.trees import widened
from tests.data import random_problem, trained_tree
from tests.helpers.bits import bits
from tests.oracles.label_trees import (
    dense_classifiers,
    flat_tree,
    inspect_entries,
    node_problem,
    pack_bits,
    random_tree,
)
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


@pytest.mark.sanitize
def test_runs_have_the_same_bits_in_files_and_for_any_number_of_threads(tmp_path):
    X, Y = random_problem(0)
    tree = flat_tree(random_tree(range(Y.shape[1]), np.random.default_rng(0)))
    in_runs = SolverOptions(run_entries=200, settle=3)
    expected = train(X, Y, tree, in_runs)
    assert bits(expected) != bits(train(X, Y, tree, SolverOptions(settle=3)))
    for n_threads, budget in product((1, 3), (0, 1 << 40)):  # of 0: runs are dropped
        storage = _native.FileStorage(str(tmp_path), 1, budget)
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


NO_LISTS = "negatives must be lists of points, one per node"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"blocks": np.int64([[-1, 0, 1]])}, "of 1 nodes has no node -1"),
        ({"blocks": np.int64([[1, 0, 1]])}, "of 1 nodes has no node 1"),
        ({"blocks": np.int64([[0, -1, 1]])}, "node 0 does not have blocks -1 to 1"),
        ({"blocks": np.int64([[0, 2, 1]])}, "node 0 does not have blocks 2 to 1"),
        ({"blocks": np.int64([[0, 0, 4]])}, "node 0 does not have blocks 0 to 4"),
        ({"negatives": (np.int64([0, 0]), np.int32([0]))}, NO_LISTS),
        ({"negatives": (np.int64([1, 1]), np.int32([0]))}, NO_LISTS),
        ({"negatives": (np.int64([0, 1, 1]), np.int32([0]))}, NO_LISTS),
        ({"negatives": (np.int64([0, 1]), np.int32([-1]))}, NO_LISTS),
        ({"negatives": (np.int64([0, 1]), np.int32([10**6]))}, NO_LISTS),
    ],
)
def test_blocks_and_negatives_outside_the_data_are_refused(arrays, message):
    X, Y = random_problem(5, n_labels=40)
    with pytest.raises(ValueError, match=message):
        train(X, Y, flat_tree(list(range(40))), SolverOptions(), **arrays)


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


# --- Weights of model files: the same bits as those that are widened beforehand.


def stored(tree, weights, weight_type, sizes=np.uint16, outputs=np.uint8):
    kind = kind_of(TrainedTree)
    part = kind.write(TrainedTree(tree, weights), weight_type)
    part.arrays["sizes"] = part.arrays["sizes"].astype(sizes)
    part.arrays["outputs"] = part.arrays["outputs"].astype(outputs)
    return kind.read(part).weights


@pytest.mark.parametrize("weight_type", ["float32", "float16", "int8"])
@pytest.mark.parametrize("sizes", [np.uint16, np.uint32])
@pytest.mark.parametrize("outputs", [np.uint8, np.uint16])
def test_stored_weights_give_the_bits_of_widened_ones(weight_type, sizes, outputs):
    tree, weights, X = trained_tree(1, n_labels=60, n_rows=300)
    small = stored(tree, weights, weight_type, sizes, outputs)
    wide = widened(small)
    assert small.outputs.dtype == outputs
    assert small.sizes.dtype == sizes
    for rows, index in ((X, None), (X[:7], None), (X[:7], _native.FeatureIndex(small))):
        for search in (_native.beam_search, _native.best_first_search):
            assert bits(search(tree, small, rows, index=index)) == bits(search(tree, wide, rows))
    places, features = (np.arange(n, dtype=np.int32) for n in (len(tree.order), X.shape[1]))
    found, expected = (
        _native.label_paths(tree, one, places, features).weights for one in (small, wide)
    )
    assert bits(found) == bits(expected)
    assert np.count_nonzero(found)


def test_every_float16_is_read_as_by_numpy():
    halves = np.arange(2**16, dtype=np.uint16)
    halves = halves[np.isfinite(halves.view(np.float16))]
    tree, weights, _ = trained_tree(0, n_labels=2)
    assert len(tree.begin) == 1
    n = len(halves)
    one = replace(
        stored(tree, weights, "float16"), feature_ptr=np.int64([0, n]),
        features=np.arange(n, dtype=np.int32), sizes=np.ones(n, np.uint16),
        starts=np.arange(0, n + 1, 8), outputs=np.zeros(n, np.uint8), weights=halves,
    )  # fmt: skip
    paths = _native.label_paths(tree, one, np.int32([0]), np.arange(n, dtype=np.int32))
    expected = halves.view(np.float16).astype(np.float32)
    assert (paths.weights[0] + np.float32(0)).tobytes() == (expected + np.float32(0)).tobytes()


@pytest.mark.parametrize("seed", range(4))
def test_inspection_equals_the_oracle(seed):
    _, weights, _ = trained_tree(seed, n_labels=60, n_rows=200)
    draw = np.random.default_rng(seed)
    widths = np.diff(weights.bias_ptr)
    sizes = np.diff(weights.entry_ptr).astype(np.uint16)
    for n_changes in (0, 1, 1, 1, 3):
        outputs = weights.outputs.copy()
        places = draw.integers(0, len(outputs), n_changes)
        outputs[places] = draw.integers(0, 60, n_changes)
        found = _native.inspect_entries(weights.feature_ptr, widths, sizes, outputs)
        wanted = inspect_entries(weights.feature_ptr, widths, sizes, outputs)
        assert found[0].tolist() == wanted[0]
        assert found[1:] == wanted[1:]
        assert n_changes or found[1:] == (-1, -1)


@pytest.mark.parametrize("seed", range(6))
def test_packed_bits_equal_the_oracle(seed):
    draw = np.random.default_rng(seed)
    n_runs = int(draw.integers(0, 8))
    ends = np.cumsum(draw.integers(0, 30, n_runs))
    widths = draw.integers(0, 33, n_runs).astype(np.uint8)
    values = draw.integers(0, 2**32, ends[-1] if n_runs else 0, dtype=np.uint32)
    packed = _native.pack_bits(values, ends, widths)
    assert packed.tobytes() == pack_bits(values, ends, widths)
    each = np.repeat(widths, np.diff(ends, prepend=0)).astype(np.uint64)
    found = _native.unpack_bits(packed, ends, widths)
    assert found.tolist() == (values & ((np.uint64(1) << each) - np.uint64(1))).tolist()
    with pytest.raises(ValueError, match="runs of bits must fill the bytes"):
        _native.unpack_bits(np.append(packed, np.uint8(0)), ends, widths)


def test_runs_of_bits_that_do_not_fit_are_refused():
    values, two = np.zeros(4, np.uint32), np.uint8([1, 1])
    for ends, widths, message in (
        ([4, 3], two, "must hold the values"),
        ([5, 4], two, "runs of bits must fit"),
        ([-1, 4], two, "runs of bits must fit"),
        ([0, 4], np.uint8([1, 33]), "runs of bits must fit"),
        ([4], two, "one item per run"),
    ):
        with pytest.raises(ValueError, match=message):
            _native.pack_bits(values, np.int64(ends), widths)


def test_mismatched_arrays_are_refused():
    tree, weights, X = trained_tree(1)
    small = stored(tree, weights, "int8")
    for name, value in {
        "starts": small.starts[:-1],
        "sizes": small.sizes[:-1],
        "scales": None,
        "outputs": small.outputs[:-1],
        "weights": small.weights.astype(np.float64),
        "feature_ptr": small.feature_ptr[:-1],
    }.items():
        with pytest.raises(ValueError, match="must"):
            _native.beam_search(tree, replace(small, **{name: value}), X)
    sizes = small.sizes.copy()
    sizes[-1] += 1
    with pytest.raises(ValueError, match="sizes and feature_ptr must fit the outputs"):
        _native.inspect_entries(small.feature_ptr, np.diff(small.bias_ptr), sizes, small.outputs)
    other, others, _ = trained_tree(2)
    with pytest.raises(ValueError, match="index must be that of the weights"):
        _native.beam_search(other, others, X[:1], index=_native.FeatureIndex(small))
    with pytest.raises(ValueError, match="features of a node must increase"):
        _native.FeatureIndex(replace(small, features=small.features[::-1].copy()))
