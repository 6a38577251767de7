"""Hard negatives of LabelTree: the same as training and searching slowly, step by step."""

from pathlib import Path

import numpy as np
import pytest

from defrag import LabelTree, _native, load
from defrag._native import Loss
from defrag.classifiers.label_tree import leaves_per_point
from tests.data import random_problem
from tests.helpers.bits import bits
from tests.oracles.label_trees import dense_classifiers, last_beam, search

SHAPE = {"max_leaf_size": 4, "arity": 3, "root_arity": 3, "random_state": 0}
RULE = {"loss": "squared_hinge", "discount": np.float32(1.0), "power": 3}


def assert_node_is_equal(node, one, other, n_features):
    mine, yours = (dense_classifiers(weights, node, n_features) for weights in (one, other))
    assert bits(mine) == bits(yours)


@pytest.mark.parametrize("n_trees", [1, 2])
def test_leaves_are_trained_on_the_points_that_the_slow_search_leads_to_them(n_trees):
    X, Y = random_problem(4, n_rows=150, n_labels=60)
    model = LabelTree(n_trees, **SHAPE).fit(X, Y)
    plain = LabelTree(n_trees, hard_negatives=False, **SHAPE).fit(X, Y)
    rows = _native.scale_rows(X, n_threads=1)
    n_leaves = leaves_per_point(Y)
    for number, (trained, other) in enumerate(zip(model.trees_, plain.trees_, strict=True)):
        tree = trained.tree
        inner, leaves = np.flatnonzero(tree.n_children), np.flatnonzero(tree.n_children == 0)
        assert len(inner) > 1
        for node in inner:  # the leaves are different only
            assert_node_is_equal(node, trained.weights, other.weights, X.shape[1])
        reached = [[] for _ in tree.begin]
        for row in range(X.shape[0]):
            x = rows[[row]].toarray()[0]
            for _, leaf in last_beam(tree, other.weights, x, beam_size=n_leaves, **RULE):
                reached[leaf].append(row)
        assert sum(map(len, reached)) <= 4 * Y.nnz + X.shape[0]
        begin = np.cumsum([0, *map(len, reached)]).astype(np.int64)
        negatives = begin, np.concatenate(reached).astype(np.int32)
        seed = 0 if number == 0 else 0x9E3779B97F4A7C15 % 2**63
        slow = _native.train_label_tree(
            rows, Y.T.tocsr(), tree, model._leaf_solver(seed), negatives=negatives, n_threads=1
        )
        for leaf in leaves:
            assert_node_is_equal(leaf, trained.weights, slow, X.shape[1])


def test_scores_of_leaves_are_weakened():
    X, Y = random_problem(5, n_rows=150, n_labels=60)
    model = LabelTree(**SHAPE).fit(X, Y)
    assert model.leaf_discount_ == 0.4
    labels, scores = model.predict_topk(X[:20], k=3)
    for row in range(20):
        x = _native.scale_rows(X[[row]], n_threads=1).toarray()[0]
        found = search(model.trees_[0].tree, model.trees_[0].weights, x, beam_size=10, k=3,
                       leaf_discount=np.float32(0.4), **RULE)  # fmt: skip
        np.testing.assert_allclose(scores[row], np.exp([score for score, _ in found]), rtol=1e-5)
        assert labels[row].tolist() == [label for _, label in found]


def test_pruning_of_leaves_loses_nothing():
    X, Y = random_problem(6, n_rows=300, n_labels=80)
    model = LabelTree(**SHAPE).fit(X, Y)
    tree = model.trees_[0]
    rows = _native.scale_rows(X, n_threads=1)
    options = {"loss": Loss.squared_hinge, "beam_size": 10, "power": 3, "leaf_discount": 0.4}
    all_labels, all_scores = _native.beam_search(tree.tree, tree.weights, rows, k=80, **options)
    for k in (1, 2, 5):
        found = _native.beam_search(tree.tree, tree.weights, rows, k=k, **options)
        assert bits(found) == bits((all_labels[:, :k], all_scores[:, :k]))


def test_a_single_leaf_has_no_hard_negatives():
    X, Y = random_problem(8, n_labels=20)
    one, other = LabelTree(random_state=0), LabelTree(hard_negatives=False, random_state=0)
    found, wanted = one.fit(X, Y).trees_[0].weights, other.fit(X, Y).trees_[0].weights
    assert_node_is_equal(0, found, wanted, X.shape[1])
    assert bits(one.predict_topk(X)[1]) == bits(other.predict_topk(X)[1])


def test_the_discount_is_that_of_the_training_and_of_the_file(tmp_path):
    X, Y = random_problem(9, n_rows=150, n_labels=60)
    for hard, discount in ((True, 0.4), (False, 1.0)):
        model = LabelTree(hard_negatives=hard, **SHAPE).fit(X, Y)
        scores = model.predict_topk(X)[1]
        model.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert (loaded.hard_negatives, loaded.leaf_discount_) == (hard, discount)
        model.set_params(hard_negatives=not hard)  # for the next fit
        for one in (model, loaded):
            assert bits(one.predict_topk(X)[1]) == bits(scores)


def test_files_from_before_hard_negatives_have_none():
    stored = Path(__file__).parents[1] / "compat" / "0.1.0" / "label_tree.safetensors"
    model = load(stored)
    assert (model.hard_negatives, model.leaf_discount_) == (False, 1.0)
