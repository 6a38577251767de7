"""Imputation: the formulas, the rule that finds beta, and the classifier around it."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from defrag import Agglomerated, Defrag, Fiat, Imputed, Refrag, load_dataset, metrics
from defrag.agglomeration import Hybrid
from defrag.baselines import Parabel
from defrag.imputation import MissingRule
from tests.data import make_data
from tests.helpers.bits import bits
from tests.oracles import imputation as oracles
from tests.oracles.agglomeration import co_occurrence

X, Y = make_data()
BASE = Parabel(2, max_leaf_size=5)
SCALES = {"cosine": "cosine", "blend": "slope"}
GROUPS = Defrag(max_cluster_size=4, sample_points=1.0)


@pytest.mark.parametrize(("mode", "beta"), [("cosine", 0.3), ("blend", 0.3), ("blend", 0.0)])
def test_imputed_rows_follow_the_formula(mode, beta):
    fiat = Fiat(mode, beta=beta, agglomeration=GROUPS, max_growth=None, random_state=0).fit(X)
    rows = np.stack([oracles.unit(row) for row in X.toarray().astype(np.float64)])
    blocks = [co_occurrence(sparse.csr_array(rows), layout.groups, scale=SCALES[mode])
              for layout, _ in fiat.co_occurrence_.blocks]  # fmt: skip
    C = np.mean(blocks, axis=0)
    wanted = [oracles.impute(u, C, beta if mode == "blend" else None) for u in rows]
    np.testing.assert_allclose(fiat.transform(X).toarray(), wanted, atol=1e-5)
    assert len(blocks) == 3
    assert fiat.rule_ is None


def test_empty_rows_and_unseen_features_are_imputed():
    X = np.float32([[1, 1, 0, 0], [2, 2, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]] * 3)
    for mode in ("cosine", "blend"):
        fiat = Fiat(mode, beta=1.0, random_state=0).fit(X)
        found = fiat.transform(np.float32([[0, 0, 0, 0], [0, 0, 0, 5], [3, 0, 0, 0]]))
        assert np.isfinite(found).all()
        assert not found[0].any()
        # Nothing is known about the last feature: a blend keeps it, a product has nothing.
        assert found[1].tolist() == ([0, 0, 0, 1] if mode == "blend" else [0, 0, 0, 0])
        np.testing.assert_allclose(np.linalg.norm(found[2]), 1, rtol=1e-6)
        assert found[2, 1] > 0
    long = Fiat(beta=1.0, row_norm=False, random_state=0).fit(X).transform(X)
    np.testing.assert_allclose(np.linalg.norm(long, axis=1), np.linalg.norm(X, axis=1), rtol=1e-6)


def test_rows_do_not_grow_beyond_the_cap():
    settings = {"beta": 1.0, "random_state": 0}
    for groups in ({}, {"agglomeration": GROUPS}):
        free = Fiat(max_growth=None, **settings, **groups).fit_transform(X)
        capped = Fiat(max_growth=2, **settings, **groups).fit(X)
        roomy = Fiat(max_growth=2**62, **settings, **groups).fit_transform(X)
        assert (roomy != free).nnz == 0
        assert capped.usual_size_ == math.ceil(X.nnz / X.shape[0])
        # A row may become twice as long, a short one as long as rows usually are.
        room = np.maximum(2 * np.diff(X.indptr), capped.usual_size_)
        assert (np.diff(free.indptr) > room).any()
        assert (np.diff(capped.transform(X).indptr) <= room).all()


def companions(n=600, seed=0):
    """Make rows of five blocks of six features out of thirty, values and absences at random."""
    rng = np.random.default_rng(seed)
    chosen = np.zeros((n, 30))
    for row in chosen:
        row[rng.permutation(30)[:5]] = 1
    there = (rng.random((n, 180)) < 0.7) * rng.uniform(0.2, 1.8, (n, 180))
    rows = np.kron(chosen, np.ones(6)) * there
    return sparse.csr_array(np.float32(rows / np.linalg.norm(rows, axis=1, keepdims=True)))


def test_rule_weights_incomplete_rows_more():
    rule = MissingRule.learn(companions(), seed=0)
    fresh = companions(seed=1)
    shares = (0.0, 0.5, 0.8)
    found = [rule.betas(metrics.erase_features(fresh, share, random_state=0)) for share in shares]
    assert (found[0] == 0).mean() > 0.9
    assert np.median(found[0]) < np.median(found[1]) < np.median(found[2])
    assert 0.3 < np.median(found[1]) < 1  # half is missing, but most rows are complete
    assert max(one.max() for one in found) <= 3
    np.testing.assert_array_equal(rule.betas(fresh), rule.betas(fresh * np.float32(7)))


def test_rule_ignores_naturally_short_rows():
    """Rows of features 0 to 4 have 4 features, others 40: a row of 4 others is erased."""
    rng = np.random.default_rng(0)
    dense = np.zeros((400, 105), dtype=np.float32)
    for i, row in enumerate(dense):
        chosen = rng.permutation(5)[:4] if i % 2 else 5 + rng.permutation(100)[:40]
        row[chosen] = 1
    rule = MissingRule.learn(sparse.csr_array(dense), seed=0)
    short, erased = np.zeros((2, 1, 105), dtype=np.float32)
    short[0, :4] = 1
    erased[0, 5:9] = 1
    assert rule.betas(sparse.csr_array(short))[0] < 0.25
    assert rule.betas(sparse.csr_array(erased))[0] > 1
    np.testing.assert_allclose(rule.log_sizes[:5], np.log(4), atol=0.02)


@pytest.mark.parametrize("rows", [np.zeros((6, 3)), np.eye(6), np.ones((2, 1))])
def test_rule_of_empty_rows_is_finite(rows):
    rows = sparse.csr_array(np.float32(rows))
    rule = MissingRule.learn(rows, seed=0)
    assert np.isfinite([*rule.coefficients, *rule.betas(rows)]).all()


@pytest.mark.parametrize("grouped", [True, False])
def test_auto_moves_row_towards_complete_row(grouped):
    rows, fresh = companions(), companions(seed=1)
    settings = {"max_growth": None, "random_state": 0}
    if grouped:
        groups = Defrag(max_cluster_size=6, sample_points=1.0, random_state=0)
        settings |= {"agglomeration": groups.fit(rows), "prefit": True}
    auto = Fiat(**settings).fit(rows)
    assert auto.rule_.coefficients.shape == (3,)

    def nearness(fiat, share):
        found = fiat.transform(metrics.erase_features(fresh, share, random_state=3))
        return found.multiply(fresh).sum(axis=1).mean()

    plain, some = (Fiat(beta=beta, **settings).fit(rows) for beta in (0.0, 0.5))
    assert nearness(auto, 0.8) > nearness(plain, 0.8) + 0.05
    assert nearness(auto, 0.0) > nearness(some, 0.0)
    assert nearness(auto, 0.0) > 0.99


def test_fitted_clusterings_are_used_as_they_are():
    fitted = [Defrag(max_cluster_size=3, random_state=seed).fit(X) for seed in (4, 5)]
    fiat = Fiat(beta=0.3, agglomeration=fitted, prefit=True).fit(X)
    for (layout, _), one in zip(fiat.co_occurrence_.blocks, fitted, strict=True):
        np.testing.assert_array_equal(layout.groups, one.labels_)
    model = Imputed(BASE, Fiat(beta=0.3, agglomeration=fitted[0], prefit=True)).fit(X, Y)
    layout, _ = model.imputation_.co_occurrence_.blocks[0]
    np.testing.assert_array_equal(layout.groups, fitted[0].labels_)
    with pytest.raises(NotFittedError, match="not fitted"):
        Fiat(agglomeration=Defrag(), prefit=True).fit(X)


def test_base_is_trained_on_unchanged_rows():
    model = Imputed(BASE, Fiat(beta=0.5, agglomeration=GROUPS), random_state=0).fit(X, Y)
    base = clone(BASE).set_params(random_state=0).fit(X, Y)
    rows = model.imputation_.transform(X)
    assert bits(model.predict_topk(X)) == bits(base.predict_topk(rows))


def test_composites_nest():
    inner = Refrag(Agglomerated(BASE, Hybrid(max_cluster_size=2)), gamma=4.0, propensity_weight=0.2)
    labels, scores = Imputed(inner, random_state=0).fit(X, Y).predict_topk(X, 3)
    assert np.isfinite(scores).all()
    assert labels.max() < 37
    outer = Refrag(Imputed(BASE), gamma=4.0, propensity_weight=0.2, random_state=0).fit(X, Y)
    assert outer.predict_topk(X, 3)[0].shape == (240, 3)
    pipeline = make_pipeline(Fiat(random_state=0), Defrag(max_cluster_size=2), clone(BASE))
    assert pipeline.fit(X, Y).predict(X).shape == Y.shape


@pytest.mark.slow
def test_precision_on_erased_rows():
    """What imputation is for: words that are missing, and none that are."""
    data = load_dataset("debian")
    X, Y = data.train.X[::3], data.train.Y[::3]
    model = Parabel(1, random_state=0).fit(X, Y)
    fiat = Fiat(random_state=0).fit(X)
    rows, labels = data.train.X[1::18], data.train.Y[1::18]

    def precision(X):
        return metrics.evaluate(labels, model.predict_topk(X, 1)[0], k=[1])["P@1"]

    erased = metrics.erase_features(rows, 0.8, random_state=0)
    assert precision(fiat.transform(erased)) > precision(erased) + 1.5
    assert precision(fiat.transform(rows)) > precision(rows) - 0.5
    assert np.mean(fiat.rule_.betas(rows) > 0) < 0.2


def test_one_point_is_refused():
    with pytest.raises(ValueError, match="at least 2 points to learn beta, got n_samples = 1"):
        Fiat().fit(X[[1]])


def test_erasure_by_count_and_seed():
    X = sparse.csr_array(np.float32(np.arange(1, 31).reshape(3, 10)))
    found = metrics.erase_features(X, 0.75, random_state=1)
    assert np.diff(found.indptr).tolist() == [2, 2, 2]  # round(7.5) is 8
    dense = found.toarray()
    np.testing.assert_array_equal(dense[dense > 0], X.toarray()[dense > 0])
    np.testing.assert_array_equal(metrics.erase_features(X, 0.0).toarray(), X.toarray())
    assert metrics.erase_features(X, 1.0).nnz == 0
    again = metrics.erase_features(X.toarray(), 0.75, random_state=1)
    np.testing.assert_array_equal(again.toarray(), dense)
    assert (metrics.erase_features(X, 0.75, random_state=2) != found).nnz
    counts = sum(metrics.erase_features(X[[0]], 0.5, seed).toarray() > 0 for seed in range(400))
    assert counts.sum() == 2000
    assert 150 < counts.min() < counts.max() < 250
    with pytest.raises(ValueError, match=r"share must be a finite number in \[0.0, 1.0\], got 2"):
        metrics.erase_features(X, 2)


def test_erasure_curve_falls_with_the_share():
    model = clone(BASE).set_params(random_state=0).fit(X, Y)
    curve = metrics.erasure_curve(model, X, Y, shares=(0.0, 0.5, 1.0), seeds=(0, 1))
    assert curve.shares == (0.0, 0.5, 1.0)
    assert curve.values["P@1"].shape == (3, 2)
    none, half, every = curve.mean("P@1")
    assert none == metrics.evaluate(Y, model.predict_topk(X)[0])["P@1"]
    assert none > half > every
