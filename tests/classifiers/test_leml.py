"""LEML: its factors are those of the objective, and its answers those of its factors."""

import numpy as np
import pytest

from defrag.baselines import LEML
from defrag.baselines._neighbours import conjugate_gradients, gram, multiply, orthonormal_basis
from defrag.baselines.leml import bend
from tests.data import make_data, unit_items
from tests.oracles.embeddings import leml_objective, leml_round


def unit_dense(X):
    rows = X.toarray().astype(np.float64)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def factors(model):
    return model.feature_factors_.astype(np.float64), model.label_factors_.unpack()


@pytest.mark.parametrize("n_components", [1, 5, 200])
def test_rounds_equal_oracle(n_components):
    X, Y = make_data(n=150, d=30, n_labels=20)
    rows, wanted = unit_dense(X), Y.toarray()[:, np.flatnonzero(Y.sum(axis=0))]
    parameters = {"n_components": n_components, "l2": 0.5, "n_steps": 60, "random_state": 0}
    before = LEML(n_rounds=1, **parameters).fit(X, Y)
    for n_rounds in (2, 3):
        after = LEML(n_rounds=n_rounds, **parameters).fit(X, Y)
        # The factors are free to turn together; their product and the objective are not.
        W, H = leml_round(rows, wanted, factors(before)[1], 0.5)
        found = factors(after)
        np.testing.assert_allclose(found[0] @ found[1].T, W @ H.T, atol=2e-4)
        objective = leml_objective(rows, wanted, *found, 0.5)
        assert objective == pytest.approx(leml_objective(rows, wanted, W, H, 0.5), rel=1e-4)
        assert objective <= leml_objective(rows, wanted, *factors(before), 0.5) * (1 + 1e-6)
        before = after


def test_start_equals_singular_vectors_of_labels():
    """With features that name the points and hardly a regulariser, W H' is its best rank."""
    rng = np.random.default_rng(0)
    # Three directions, far stronger than the rest: few rounds of subspace iteration find them.
    Y = (rng.random((60, 3)) < 0.5)[:, [0, 0, 0, 0, 1, 1, 1, 2, 2]]
    Y = (Y ^ (rng.random(Y.shape) < 0.03)).astype(np.float32)
    rank = 3
    model = LEML(rank, l2=1e-4, n_rounds=1, n_steps=40, random_state=3)
    model.fit(np.eye(60, dtype=np.float32), Y)
    U, s, V = np.linalg.svd(Y, full_matrices=False)
    W, H = factors(model)
    np.testing.assert_allclose(W @ H.T, (U[:, :rank] * s[:rank]) @ V[:rank], atol=0.02)


def test_scores_equal_products_of_factors():
    X, Y = make_data()
    model = LEML(10, random_state=0).fit(X, Y)
    W, H = factors(model)
    products = unit_dense(X) @ W @ H.T
    labels, scores = model.predict_topk(X, k=5)
    best = np.argsort(-products, axis=1, kind="stable")[:, :5]
    expected = bend(np.take_along_axis(products, best, 1).astype(np.float32))
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    agree = model.labels_[best] == labels
    assert agree[np.abs(np.diff(scores, axis=1, prepend=2)).min(axis=1) > 1e-4].all()
    assert not np.isin(labels, np.flatnonzero(Y.sum(axis=0) == 0)).any()


def test_bend_is_smooth_and_keeps_order():
    products = np.linspace(-3, 4, 2001).astype(np.float32)
    scores = bend(products)
    assert (np.diff(scores) > 0).all()
    middle = (products > 0.125) & (products < 0.875)
    np.testing.assert_array_equal(scores[middle], products[middle])
    np.testing.assert_allclose(np.diff(scores) / np.diff(products), 1, atol=1, rtol=0)
    ends = bend(np.float32([-np.inf, -1e30, 1e30, np.inf]))
    assert ((ends > 0) & (ends < 1)).all()


def test_conjugate_gradients_solve_each_column():
    X = unit_items(3, n=80, n_coords=30)
    right = np.random.default_rng(0).standard_normal((30, 7)).astype(np.float32)
    weights = np.float32([0, 1, 2, 0.5, 10, 3, 1])
    right[:, 6] = 0  # a column that is solved before it begins
    start = np.random.default_rng(1).standard_normal((30, 7)).astype(np.float32)
    dense = X.toarray().astype(np.float64)
    for beginning in (None, start):
        options = {"ridge": 0.7, "n_steps": 40, "n_threads": 1, "start": beginning}
        found = conjugate_gradients(X, X.T.tocsr(), right, weights=weights, **options)
        for j, weight in enumerate(weights):
            system = weight * dense.T @ dense + 0.7 * np.eye(30)
            np.testing.assert_allclose(found[:, j], np.linalg.solve(system, right[:, j]), atol=2e-4)


def test_dense_products_in_blocks_equal_whole_ones(monkeypatch):
    monkeypatch.setattr("defrag.baselines._neighbours._BLOCK_ROWS", 7)
    A = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32)
    np.testing.assert_allclose(gram(A, A[:, :2], n_threads=2), A.T @ A[:, :2], atol=1e-4)
    np.testing.assert_allclose(multiply(A, A[:6], n_threads=2), A @ A[:6], atol=1e-5)
    A[:, 5] = A[:, 0] + A[:, 1]  # a direction that is not there
    basis = orthonormal_basis(A, n_threads=2)
    np.testing.assert_allclose(basis.T @ basis, np.diag([1, 1, 1, 1, 1, 0]), atol=1e-4)
    np.testing.assert_allclose(basis @ (basis.T @ A), A, atol=1e-4)
