from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from defrag import _native
from tests.data import trained_tree, zero_weights
from tests.oracles.explain import path_to
from tests.oracles.label_trees import dense_classifiers, flat_tree


@settings(max_examples=20, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), n_labels=st.integers(1, 40), n_features=st.integers(0, 30))
def test_collects_what_the_slow_walk_finds(seed, n_labels, n_features):
    tree, weights, X = trained_tree(seed, n_labels=n_labels, n_rows=40)
    draw = np.random.default_rng(seed)
    features = np.sort(draw.choice(30, n_features, replace=False)).astype(np.int32)
    places = draw.permutation(n_labels)[:5].astype(np.int32)
    paths = _native.label_paths(tree, weights, places, features)
    assert len(paths.step_ptr) == len(places) + 1
    for i, place in enumerate(places):
        steps = range(paths.step_ptr[i], paths.step_ptr[i + 1])
        found = [(int(paths.nodes[s]), int(paths.outputs[s])) for s in steps]
        assert found == path_to(tree, tree.order[place])
        for s in steps:
            dense, bias = dense_classifiers(weights, paths.nodes[s], X.shape[1])
            assert paths.bias[s] == bias[paths.outputs[s]]
            np.testing.assert_array_equal(paths.weights[s], dense[features, paths.outputs[s]])


@pytest.mark.sanitize
def test_refuses_places_and_arrays_that_lead_nowhere():
    tree = flat_tree([[0, 1], [2, 3]])
    weights = zero_weights(tree, 0.0)
    features = np.array([0], dtype=np.int32)

    def at(place, tree=tree, weights=weights):
        return _native.label_paths(tree, weights, np.array([place], dtype=np.int32), features)

    assert at(3).nodes.tolist() == [0, 2]
    message = "a label must be in the tree, at the end of a path"
    for place in (-1, 4, 2**31 - 1):
        with pytest.raises(ValueError, match=message):
            at(place)
    for name, value in (("first_child", 0), ("n_children", 7), ("begin", 3), ("n_children", -1)):
        broken = {one: getattr(tree, one).copy() for one in vars(tree)}
        broken[name][0 if name != "begin" else 1] = value
        with pytest.raises(ValueError, match=message):
            at(1, tree=type(tree)(**broken))
    pointers = {one: getattr(weights, one) for one in vars(weights)}
    pointers["feature_ptr"] = np.array([0, 9, 0, 0], dtype=np.int64)
    with pytest.raises(ValueError, match="the pointers of a tree's weights must not decrease"):
        at(0, weights=type(weights)(**pointers))
