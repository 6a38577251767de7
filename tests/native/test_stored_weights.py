"""Weights as a model file has them: the same bits as those that are widened beforehand."""

from dataclasses import replace

import numpy as np
import pytest

from defrag import _native
from defrag._native import StoredTreeWeights
from defrag.classifiers.label_tree import TrainedTree
from defrag.persistence.kinds import kind_of
from defrag.persistence.trees import widened
from tests.data import trained_tree
from tests.helpers.bits import bits
from tests.oracles.label_trees import inspect_entries, pack_bits


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
    one = StoredTreeWeights(
        feature_ptr=np.int64([0, n]),
        features=np.arange(n, dtype=np.int32),
        sizes=np.ones(n, np.uint16),
        starts=np.arange(0, n + 1, 8),
        outputs=np.zeros(n, np.uint8),
        weights=halves,
        scales=None,
        bias_ptr=weights.bias_ptr,
        bias=weights.bias,
    )
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
