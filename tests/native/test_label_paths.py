"""Paths from labels to the root, and the parts of their scores."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from defrag import _native
from defrag._native import Loss
from tests.data import trained_tree, zero_weights
from tests.oracles.explain import path_to, step_parts, tree_score
from tests.oracles.label_trees import dense_classifiers, flat_tree


@settings(max_examples=20, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), n_labels=st.integers(1, 40), n_features=st.integers(0, 30))
def test_paths_equal_the_oracle(seed, n_labels, n_features):
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
def test_invalid_places_and_arrays_are_refused():
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
        broken = getattr(tree, name).copy()
        broken[0 if name != "begin" else 1] = value
        with pytest.raises(ValueError, match=message):
            at(1, tree=replace(tree, **{name: broken}))
    with pytest.raises(ValueError, match="the pointers of a tree's weights must not decrease"):
        at(0, weights=replace(weights, feature_ptr=np.int64([0, 9, 0, 0])))


RULES = [
    {"loss": "squared_hinge", "discount": 1.0, "leaf_discount": 1.0, "power": 3},
    {"loss": "squared_hinge", "discount": 0.98, "leaf_discount": 0.98, "power": 2},
    {"loss": "squared_hinge", "discount": 0.9, "leaf_discount": 0.4, "power": 3},
    {"loss": "logistic", "discount": 1.0, "leaf_discount": 1.0, "power": 2},
]


def take_apart(tree, weights, places, row, rule):
    features = np.flatnonzero(row).astype(np.int32)
    unit = row / max(np.linalg.norm(row), 1e-30)
    entries = features, row[features].astype(np.float32), unit[features].astype(np.float32)
    return _native.path_parts(tree, weights, np.asarray(places, np.int32), *entries,
                              **rule | {"loss": Loss[rule["loss"]]})  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule['loss']}-{rule['leaf_discount']}")
@settings(max_examples=12, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), n_labels=st.integers(1, 40), n_features=st.integers(0, 8))
def test_path_parts_equal_the_oracle(rule, seed, n_labels, n_features):
    tree, weights, X = trained_tree(seed, n_labels=n_labels, n_rows=40, loss=rule["loss"])
    draw = np.random.default_rng(seed)
    row = np.zeros(X.shape[1])
    row[draw.choice(X.shape[1], n_features, replace=False)] = draw.uniform(0.5, 2.0, n_features)
    row = row.astype(np.float32).astype(np.float64)
    places = draw.permutation(n_labels)[:4]
    found = take_apart(tree, weights, places, row, rule)
    unit = row / max(np.linalg.norm(row), 1e-30)
    for i, place in enumerate(places):
        label = tree.order[place]
        steps = range(found.step_ptr[i], found.step_ptr[i + 1])
        assert [(found.nodes[s], found.outputs[s]) for s in steps] == path_to(tree, label)
        slow = step_parts(tree, weights, label, unit, **rule)
        for s, (score, base, parts) in zip(steps, slow, strict=True):
            assert found.step_scores[s] == pytest.approx(score, abs=1e-6)
            assert found.step_bases[s] == pytest.approx(base, abs=1e-12)
            np.testing.assert_allclose(found.contributions[s], parts[row != 0], atol=1e-6)
        gap = found.contributions[steps.start : steps.stop].sum() + found.bases[i]
        assert gap == pytest.approx(found.scores[i], abs=1e-12)
        score = tree_score(tree, weights, label, len(unit), **rule)
        assert found.scores[i] == pytest.approx(score(unit), abs=1e-6)
        for place_of, feature in enumerate(np.flatnonzero(row)):
            rest = row.copy()
            rest[feature] = 0.0
            rest /= max(np.linalg.norm(rest), 1e-30)
            assert found.without[i, place_of] == pytest.approx(score(rest), abs=1e-12)


def test_unmoved_margin_contributes_nothing():
    tree, weights, X = trained_tree(3, n_labels=6, n_rows=40)
    row = np.zeros(X.shape[1])
    row[:2] = 1.0, 1e-12
    found = take_apart(tree, weights, [0, 1], row.astype(np.float32), RULES[0])
    alone = np.zeros(X.shape[1])
    alone[1] = 1.0
    for i in range(2):
        score = tree_score(tree, weights, tree.order[i], len(alone), **RULES[0])
        assert found.without[i, 0] == pytest.approx(score(alone), abs=1e-6)
    flat = flat_tree([[0, 1], [2, 3]])
    still = take_apart(flat, zero_weights(flat, 0.5), [2], row, RULES[0])
    assert still.scores[0] == still.bases[0] == still.without[0, 0]
    assert still.contributions.shape == (2, 2)
    assert not still.contributions.any()


def test_contributions_may_cancel():
    tree = flat_tree([0, 1])
    weights = replace(
        zero_weights(tree, 0.5), feature_ptr=np.array([0, 2]), features=np.int32([0, 1]),
        entry_ptr=np.arange(3), outputs=np.uint16([0, 0]), weights=np.float32([1, -1]),
    )  # fmt: skip
    found = take_apart(tree, weights, [0], np.ones(2, dtype=np.float32), RULES[0])
    assert found.scores[0] == found.bases[0]
    expected = found.scores[0] * 3 * 0.5**2 * np.sqrt(0.5)  # by the slope of the cubed hinge
    np.testing.assert_allclose(found.contributions, [[expected, -expected]], rtol=1e-5)


@pytest.mark.sanitize
def test_mismatched_arrays_are_refused():
    tree = flat_tree([[0, 1], [2, 3]])
    weights = zero_weights(tree, 0.0)
    features, values = np.arange(2, dtype=np.int32), np.ones(2, dtype=np.float32)
    rule = RULES[0] | {"loss": Loss.squared_hinge}
    places = np.int32([0])
    for row in ((features, values[:1], values), (features, values, values[:1])):
        with pytest.raises(ValueError, match="values and units must have one entry per feature"):
            _native.path_parts(tree, weights, places, *row, **rule)
    with pytest.raises(ValueError, match="a label must be in the tree"):
        _native.path_parts(tree, weights, places + 4, features, values, values, **rule)
