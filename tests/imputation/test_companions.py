"""Lists of companions against the dense computation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import _native
from defrag.imputation import Companions
from tests.oracles import imputation as oracles

SETTINGS = {"ridge": 0.01, "common": 5.0}


def random_rows(seed, n=20, d=9, density=0.4):
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    dense[:, d // 2] = 0  # a feature that never occurs
    return sparse.csr_array(np.float32(dense))


def build(X, weights, *, n_best, max_rows, seed=0, n_threads=1):
    columns = sparse.csr_array(X.T.tocsr())
    limits = {"n_best": n_best, "max_rows": max_rows, "seed": seed, "n_threads": n_threads}
    found = _native.companions(columns, X, np.float32(weights), **limits, **SETTINGS)
    parts = found.data, found.indices, found.indptr
    assert sparse.csr_array(parts, shape=found.shape).has_canonical_format
    return found.toarray()


@settings(derandomize=True, max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_best=st.integers(1, 10),
    # Rows that meet all features, and rows that meet few: sums are kept in two ways.
    shape=st.sampled_from([{"d": 9, "density": 0.4}, {"d": 60, "density": 0.08}]),
)
def test_lists_equal_the_dense_computation(seed, n_best, shape):
    X = random_rows(seed, **shape)
    weights = np.random.default_rng(seed).uniform(0.5, 2, shape["d"])
    found = build(X, weights, n_best=n_best, max_rows=20)
    dense = X.toarray()
    for feature, line in enumerate(found):
        rows = np.flatnonzero(dense[:, feature])
        wanted = oracles.companions(X, feature, rows, weights, n_best=n_best, **SETTINGS)
        np.testing.assert_allclose(line, wanted, atol=1e-6)


def test_a_sample_of_rows_is_evenly_spaced():
    X = random_rows(1, n=60)
    dense, weights = X.toarray(), np.ones(9)
    lists = [build(X, weights, n_best=3, max_rows=4, seed=seed) for seed in range(3)]
    assert any((lists[0] != other).any() for other in lists[1:])
    for feature in range(9):
        rows = np.flatnonzero(dense[:, feature])
        n = len(rows)
        spaced = (rows[[(offset + i * n) // 4 for i in range(4)]] for offset in range(n))
        wanted = [
            oracles.companions(X, feature, sample, weights, n_best=3, **SETTINGS)
            for sample in (spaced if n > 4 else [rows])
        ]
        for found in lists:
            assert np.abs(found[feature] - wanted).max(axis=1).min() < 1e-6


def test_slopes_are_those_computed_by_hand():
    """Feature 0 is in both rows, 1 and 2 in one each."""
    X = sparse.csr_array(np.float32([[0.6, 0.8, 0.0], [0.8, 0.0, 0.6]]))
    found = Companions.of_rows(X, 1, seed=0, n_threads=1).lists.toarray()
    # Both products are 0.48; the cosine of feature 2 is larger, which is the shorter one.
    damped = 1 + 2 / 20
    np.testing.assert_allclose(found[0], [1 / 1.01, 0, 0.48 / 1.01 / damped], rtol=1e-5)
    damped = 1 + 1 / 20
    np.testing.assert_allclose(found[1], [0.48 / 0.65 / damped, 0.64 / 0.65, 0], rtol=1e-5)


def test_ties_go_to_the_smaller_feature():
    X = sparse.csr_array(np.float32(np.full((3, 40), 0.5)))
    lists = Companions.of_rows(X, 3, seed=0, n_threads=1).lists
    assert lists[[7]].indices.tolist() == [0, 1, 2, 7]
    assert lists[[1]].indices.tolist() == [0, 1, 2, 3]


def test_cancelled_sums_are_not_companions():
    X = sparse.csr_array(np.float32([[0.6, 0.8], [0.6, -0.8]]))
    lists = Companions.of_rows(X, 5, seed=0, n_threads=1).lists
    assert lists.indices.tolist() == [0, 1]


@pytest.mark.parametrize("max_rows", [3, 10**6])
def test_result_is_equal_for_any_threads(max_rows):
    X = random_rows(5, n=400, d=300)
    weights = np.ones(300)
    wanted = build(X, weights, n_best=7, max_rows=max_rows)
    for n_threads in (2, 3):
        found = build(X, weights, n_best=7, max_rows=max_rows, n_threads=n_threads)
        np.testing.assert_array_equal(found, wanted)


def test_imputed_rows_equal_oracle():
    X = random_rows(6)
    related = Companions.of_rows(X, 2, seed=0, n_threads=1)
    C = related.lists.toarray().astype(np.float64)
    betas = np.linspace(0, 2, 20, dtype=np.float32)
    rows = np.stack([oracles.unit(row) for row in X.toarray().astype(np.float64)])
    X = sparse.csr_array(np.float32(rows))
    for n_threads in (1, 2, 3):
        found = related.impute(X, betas, max_growth=0, n_threads=n_threads).toarray()
        wanted = [oracles.impute(u, C, beta) for u, beta in zip(rows, betas, strict=True)]
        np.testing.assert_allclose(found, wanted, atol=1e-5)
        found = related.impute(X, None, max_growth=0, n_threads=n_threads).toarray()
        np.testing.assert_allclose(found, [oracles.impute(u, C, None) for u in rows], atol=1e-5)
