"""SLEEC and AnnexML: their steps are those of the slow twins, and neighbours vote."""

import pickle
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from defrag import Agglomerated, metrics
from defrag.agglomeration import Hybrid
from defrag.baselines import SLEEC, AnnexML
from defrag.baselines._neighbours import HnswIndex, assign_points, route
from defrag.baselines.annexml import _rare_labels, cosine_slopes, positive_pairs, unit_vectors
from defrag.baselines.sleec import centroids, label_neighbours, project
from defrag.classifiers._support import unit_rows
from tests.data import make_data, unit_items
from tests.helpers.bits import bits
from tests.oracles.embeddings import annexml_loss, label_matches

X, Y = make_data()
SMALL = {"cluster_size": 60, "n_components": 12, "random_state": 0}
MODELS = [SLEEC(3, **SMALL), AnnexML(3, **SMALL)]


def learnt(model):
    return [learner.__getstate__() for learner in model.learners_]


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_neighbours_by_labels_equal_oracle(power):
    Y = make_data(n=70, n_labels=15)[1]
    found = label_neighbours(Y, 6, power=power, n_threads=2)
    expected = label_matches(Y.toarray().astype(np.float64), 6, power)
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-6)


def test_vectors_keep_the_known_products():
    """Of a matrix that has this rank, and of which most is known, the rest is found."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((80, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    products = (vectors @ vectors.T).astype(np.float32)
    known = rng.random((80, 80)) < 0.6
    target = sparse.csr_array(np.where(known | known.T, products, 0).astype(np.float32))
    Z = project(target, 3, n_rounds=60, seed=1)
    np.testing.assert_allclose(Z @ Z.T, products, atol=0.02)
    first = project(target, 3, n_rounds=1, seed=1)
    values, directions = np.linalg.eigh(target.toarray().astype(np.float64))
    best = (directions[:, -3:] * values[-3:]) @ directions[:, -3:].T
    np.testing.assert_allclose(first @ first.T, best, atol=0.02)


def test_negative_directions_are_left_out():
    target = sparse.csr_array(np.float32([[0, 1], [1, 0]]))
    Z = project(target, 2, n_rounds=1, seed=0)
    np.testing.assert_allclose(Z @ Z.T, [[0.5, 0.5], [0.5, 0.5]], atol=1e-5)


def test_slopes_equal_gradient_of_loss():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((12, 4))
    anchors = np.int32([0, 3, 4, 11])
    positives = rng.integers(0, 12, (4, 3)).astype(np.int32)
    negatives = rng.integers(0, 12, (4, 5)).astype(np.int32)
    U, lengths = unit_vectors(Z.astype(np.float32))
    slopes = cosine_slopes(U, anchors, positives, negatives, 4.0)
    across = (slopes - (slopes * U).sum(axis=1, keepdims=True) * U) / lengths
    for point in range(12):
        for j in range(4):
            step = np.zeros_like(Z)
            step[point, j] = 1e-5
            ends = [annexml_loss(Z + s * step, anchors, positives, negatives, 4.0) for s in (1, -1)]
            assert across[point, j] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=2e-3)


def test_positives_repeat_and_exclude_the_point():
    Y = sparse.csr_array(np.float32([[1, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1]]))
    anchors, positives = positive_pairs(Y, 5)
    assert anchors.tolist() == [0, 1, 2]
    assert [set(row) for row in positives.tolist()] == [{1, 2}, {0, 2}, {0, 1}]
    assert positives.shape == (3, 5)


def test_frequent_labels_are_left_out_except_rarest(monkeypatch):
    monkeypatch.setattr("defrag.baselines.annexml._PAIRS_PER_POINT", 3)
    Y = sparse.csr_array(np.float32([[1, 1, 0], [1, 0, 0], [1, 0, 1], [1, 0, 1], [0, 1, 1]]))
    expected = [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0]]
    assert _rare_labels(Y).toarray().tolist() == expected


def test_small_clusters_are_removed():
    X = unit_items(0, n=100, n_coords=20)
    router = centroids(X, 6, 3, n_threads=1)
    home = route(X, router, n_threads=2)
    scores = X.toarray() @ router.toarray()
    np.testing.assert_array_equal(home, scores.argmax(axis=1))
    least = int(np.sort(np.bincount(home, minlength=6))[2])
    kept, members = assign_points(X, router, min_size=least, n_threads=1)
    assert 1 <= kept.shape[1] == len(members) < 6
    np.testing.assert_array_equal(np.sort(np.concatenate(members)), np.arange(100))
    for c, points in enumerate(members):
        assert len(points) >= least
        np.testing.assert_array_equal(route(X[points], kept, n_threads=1), c)
    alone, members = assign_points(X, router, min_size=1000, n_threads=1)
    assert alone.shape[1] == len(members) == 1


@pytest.mark.parametrize("votes", ["rank", "count"])
@pytest.mark.parametrize("model", MODELS, ids=["sleec", "annexml"])
def test_neighbours_vote(model, votes):
    model = model.set_params(votes=votes).fit(X, Y)
    labels, scores = model.predict_topk(X[:40], k=5)
    rows = X[:40].toarray()
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    expected = np.zeros((40, Y.shape[1]))
    own = 1 / np.arange(1, 11) if votes == "rank" else np.ones(10)
    for learner in model.learners_:
        home = (rows @ learner.router.toarray()).argmax(axis=1)
        first = np.concatenate([[0], np.cumsum(-(-np.diff(learner.point_ptr) // 16))])
        for i, c in enumerate(home):
            features = slice(*learner.feature_ptr[c : c + 2])
            points = learner.points[slice(*learner.point_ptr[c : c + 2])]
            panels = learner.panels[first[c] : first[c + 1]]
            vectors = panels.transpose(0, 2, 1).reshape(-1, 12)[: len(points)]
            z = rows[i, learner.features[features]] @ learner.weights[features]
            near = vectors @ z if learner.bias is None else -((vectors - z) ** 2).sum(axis=1)
            best = points[np.argsort(-near, kind="stable")[:10]]
            expected[i] += own[: len(best)] @ model.point_labels_.toarray()[best]
    expected /= own.sum() * 3
    wanted = -np.sort(-expected, axis=1)[:, :5]
    assert np.mean(np.abs(scores - wanted) < 1e-5) > 0.98  # but for ties of distances
    np.testing.assert_allclose(
        np.where(labels >= 0, np.take_along_axis(expected, np.maximum(labels, 0), 1), 0),
        scores, atol=0.12,
    )  # fmt: skip


@pytest.mark.parametrize("kind", [SLEEC, AnnexML])
def test_approximate_neighbours_are_nearly_the_exact_ones(kind, monkeypatch):
    pytest.importorskip("usearch", reason="the extra 'ann' is not installed")
    monkeypatch.setattr("defrag.baselines._neighbours.SMALLEST_GRAPH", 20)
    X, Y = make_data(n=600)
    new = kind(2, cluster_size=300, n_components=12, random_state=0)
    model = clone(new).fit(X, Y)
    exact = model.predict_topk(X)
    unit = unit_rows(X, 1)
    distinct = np.flatnonzero(np.diff(X.indptr) > 0)  # the others are equally far from all
    for learner in model.learners_:
        best = learner.neighbours(unit, 10, search="exact", n_threads=1)
        near = learner.neighbours(unit, 10, search="hnsw", n_threads=1)
        assert learner.indexes
        shared = [np.isin(near[i], best[i]).mean() for i in distinct]
        assert np.mean(shared) > 0.95
    fresh = pickle.dumps(learnt(new.fit(X, Y)))
    answers = model.set_params(search="hnsw").predict_topk(X)
    assert (answers[0][distinct, 0] == exact[0][distinct, 0]).mean() > 0.95
    again = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
    assert pickle.dumps(learnt(again)) == fresh  # graphs are no part of the model
    for other in (again, again.set_params(n_jobs=3)):
        assert bits(other.predict_topk(X)) == bits(answers)
    assert bits(model.predict_topk(X[[5]])) == bits((answers[0][[5]], answers[1][[5]]))


def test_graphs_of_few_rows_have_few_neighbours():
    pytest.importorskip("usearch", reason="the extra 'ann' is not installed")
    rows = np.eye(3, dtype=np.float32)
    for euclidean in (True, False):
        index = HnswIndex.build(rows, euclidean=euclidean)
        for queries in (rows, rows[:1]):
            found = index.nearest(queries, n_best=5, n_threads=1)
            assert found[:, 0].tolist() == list(range(len(queries)))
            assert np.sort(found[0]).tolist() == [-1, -1, 0, 1, 2]


def test_without_usearch_an_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch", None)
    monkeypatch.setattr("defrag.baselines._neighbours.SMALLEST_GRAPH", 0)
    with pytest.raises(ImportError, match=r"search='hnsw' needs usearch .*defrag\[ann\]"):
        SLEEC(1, **SMALL, search="hnsw").fit(X, Y)
    model = SLEEC(1, **SMALL).fit(X, Y).set_params(search="hnsw")
    with pytest.raises(ImportError, match="search='exact' does not"):
        model.predict_topk(X)


def test_every_member_has_its_own_groups():
    model = Agglomerated(SLEEC(3, **SMALL), Hybrid(max_cluster_size=2), random_state=0).fit(X, Y)
    assert len(model.members_) == 3
    assert [len(member.learners_) for _, member in model.members_] == [1, 1, 1]
    assert np.isin(model.predict_topk(X)[0][:, 0], Y.indices).any()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SLEEC, AnnexML])
def test_precision_on_separable_data_is_high(kind):
    X, Y = make_data(n=600)
    labelled = np.flatnonzero((np.diff(Y.indptr) > 0) & (np.diff(X.indptr) > 2))
    train, test = labelled[:400], labelled[400:]
    wrong = Y[np.random.default_rng(0).permutation(train)]
    found = [kind(5, **SMALL).fit(X[train], labels).predict_topk(X[test], k=1)[0]
             for labels in (Y[train], wrong)]  # fmt: skip
    assert metrics.precision(Y[test], found[0]) > 50
    assert metrics.precision(Y[test], found[1]) < 30


def test_clusters_of_few_points_have_as_many_components():
    points = np.random.default_rng(0).random((4, 6), dtype=np.float32)
    for n_components in (3, 4, 5, 9):
        model = SLEEC(1, n_components=n_components, random_state=0).fit(points, [[0], [1], [0], []])
        assert model.learners_[0].weights.shape[1] == n_components
