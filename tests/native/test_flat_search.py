"""The search through flat weights against scoring every label."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag._native import FlatWeights, flat_search
from defrag.persistence._weights import pack_values, unpack_values
from tests.data import random_csr
from tests.helpers.bits import bits
from tests.oracles.rankings import dense_weights, rank_all_labels


def make_model(n_features, n_outputs, density, seed, outputs=np.uint16):
    rng = np.random.default_rng(seed)
    W = random_csr(n_features, n_outputs, density=density, seed=rng)
    W.data = np.float32(rng.integers(-4, 5, len(W.data)) / 2)  # halves, so that ties are common
    labels = np.sort(rng.permutation(3 * n_outputs)[:n_outputs]).astype(np.int32)
    bias = np.float32(rng.integers(-4, 1, n_outputs) / 2)
    return FlatWeights(labels, W.indptr.astype(np.int64), W.indices.astype(outputs), W.data, bias)


def test_scores_are_those_computed_by_hand():
    model = FlatWeights(
        labels=np.int32([2, 5, 7]),
        feature_ptr=np.int64([0, 2, 3]),
        outputs=np.uint16([0, 2, 1]),
        weights=np.float32([1, 2, 3]),
        bias=np.float32([-1, -1, 0]),
    )
    X = sparse.csr_array(np.float32([[1, 0], [0, 1], [0, 0], [1, 1]]))
    labels, scores = flat_search(model, X, k=4)
    # Margins of labels 2, 5, 7: (0, -1, 2), (-1, 2, 0), (-1, -1, 0), (0, 2, 2).
    np.testing.assert_array_equal(
        labels, [[7, 2, 5, -1], [5, 7, 2, -1], [7, 2, 5, -1], [5, 7, 2, -1]]
    )
    chance = 1 / (1 + np.exp(-np.array([2.0, 0.0, -1.0])))
    np.testing.assert_allclose(scores[0, :3], chance, rtol=1e-6)
    np.testing.assert_array_equal(scores[:, 3], 0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    # Nine rows are ranked one by one; sixty, where weights are many, together.
    sizes=st.tuples(st.sampled_from([9, 60]), st.integers(1, 40), st.integers(1, 300)),
    density=st.sampled_from([0.0, 0.01, 0.1, 0.7]),
    row_density=st.sampled_from([0.0, 0.05, 0.5]),
    k=st.sampled_from([1, 3, 130, 400]),
    outputs=st.sampled_from([np.uint16, np.int32]),
)
def test_search_is_exact_for_any_threads(sizes, density, row_density, k, outputs):
    n_rows, n_features, n_outputs = sizes
    model = make_model(n_features, n_outputs, density, sum(sizes), outputs)
    X = random_csr(n_rows, n_features, density=row_density, seed=n_outputs)
    expected = rank_all_labels(model, X, k)
    for threads in (1, 2, 3):
        found = flat_search(model, X, k=k, n_threads=threads)
        np.testing.assert_array_equal(found[0], expected[0])
        # The exponential of numpy may differ from that of C in the last place.
        np.testing.assert_allclose(found[1], expected[1], rtol=2e-7)


@pytest.mark.parametrize("k", [1, 5, 128])
@pytest.mark.parametrize("outputs", [np.uint16, np.int32])
@pytest.mark.parametrize("n_outputs", [64, 150, 301])
def test_single_rows_and_batch_give_the_same_bits(n_outputs, outputs, k):
    model = make_model(20, n_outputs, 0.8, n_outputs, outputs)
    rng = np.random.default_rng(k)
    values = rng.normal(size=(100, 20)) * (rng.random((100, 20)) < 0.5)
    X = sparse.csr_array(values.astype(np.float32))  # no halves: every rounding counts
    alone = zip(*(flat_search(model, X[[row]], k=k) for row in range(100)), strict=True)
    together = flat_search(model, X, k=k, n_threads=2)
    assert bits(together) == bits(tuple(map(np.concatenate, alone)))


def test_rows_beyond_one_block_are_ranked():
    model = make_model(6, 40, 0.9, 0)
    X = random_csr(50, 6, density=0.6, seed=0)
    many = sparse.vstack([X] * 700, format="csr")
    once = flat_search(model, X, k=3)
    assert bits(flat_search(model, many, k=3)) == bits(tuple(np.tile(p, (700, 1)) for p in once))


@pytest.mark.parametrize("k", [5, 200])
def test_few_and_many_weights_give_the_same_bits(k):
    """Rows that touch few outputs stay the same when most other outputs get a zero weight."""
    model = make_model(30, 600, 0.01, 0)
    X = random_csr(200, 30, density=0.1, seed=1)
    full = replace(
        model,
        feature_ptr=np.arange(31, dtype=np.int64) * 600,
        outputs=np.tile(np.arange(600, dtype=np.uint16), 30),
        weights=dense_weights(model, 30).ravel(),
    )
    assert bits(flat_search(model, X, k=k)) == bits(flat_search(full, X, k=k))


@pytest.mark.parametrize("k", [2, 150])
@pytest.mark.parametrize("density", [0.01, 0.9])
def test_sums_that_overflow_are_ranked_last(k, density):
    model = make_model(6, 150, density, 3)
    largest = np.finfo(np.float32).max
    huge = replace(model, weights=np.sign(model.weights) * largest)
    X = sparse.csr_array(np.full((3, 6), largest, np.float32))
    labels, scores = flat_search(huge, X, k=k)
    assert np.isfinite(scores).all()
    assert np.isin(labels, model.labels).all()


def test_ranking_by_bias_is_not_pickled():
    model = make_model(4, 9, 0.5, 0)
    fresh = pickle.dumps(model)
    flat_search(model, random_csr(2, 4, density=0.5, seed=0), k=2)
    assert "by_bias" in vars(model)
    assert pickle.dumps(model) == fresh
    assert "by_bias" not in vars(pickle.loads(fresh))  # noqa: S301 - our own bytes


def stored(model, weight_type):
    """Return a model as a file has it, and the same with its weights widened beforehand."""
    arrays = pack_values(model.weights, model.feature_ptr, weight_type)
    wide = unpack_values(arrays, model.feature_ptr)
    weights = arrays["weights"]
    if weight_type == "float16":
        weights = weights.view(np.uint16)
    small = replace(model, weights=weights, scales=arrays.get("scales"))
    return small, replace(model, weights=wide)


@pytest.mark.parametrize("weight_type", ["float32", "float16", "int8"])
@pytest.mark.parametrize("outputs", [np.uint16, np.int32])
@pytest.mark.parametrize(("n_rows", "density"), [(60, 0.7), (9, 0.7), (9, 0.02)])
def test_stored_weights_give_the_bits_of_widened_ones(weight_type, outputs, n_rows, density):
    model = make_model(40, 300, density, 5, outputs)
    rng = np.random.default_rng(0)
    uneven = rng.normal(size=len(model.weights)).astype(np.float32)  # every rounding counts
    model = replace(model, weights=uneven)
    small, wide = stored(model, weight_type)
    X = random_csr(n_rows, 40, density=0.5, seed=1)
    assert small.widened().tobytes() == wide.weights.tobytes()
    assert (small.by_output != wide.by_output).nnz == 0
    expected = rank_all_labels(wide, X, 5)
    for threads in (1, 2):
        found = flat_search(small, X, k=5, n_threads=threads)
        assert bits(found) == bits(flat_search(wide, X, k=5, n_threads=threads))
        np.testing.assert_array_equal(found[0], expected[0])
    features = np.repeat(np.arange(40), np.diff(model.feature_ptr))
    places = np.arange(len(uneven))
    assert small.weights_at(places, features).tobytes() == wide.weights.tobytes()


def test_mismatched_stored_weights_are_refused():
    model = make_model(6, 9, 0.8, 0)
    small, _ = stored(model, "int8")
    X = random_csr(2, 6, density=0.5, seed=0)
    flat_search(small, X, k=1)
    for change, message in (
        ({"scales": None}, "weights of int8 must have a scale per feature"),
        ({"scales": small.scales[:-1]}, "weights of int8 must have a scale per feature"),
        ({"weights": small.weights.astype(np.float64)}, "weights must be of float32, int8 or"),
        ({"weights": small.weights[:-1]}, "outputs and weights must fit"),
    ):
        with pytest.raises(ValueError, match=message):
            flat_search(replace(small, **change), X, k=1)
