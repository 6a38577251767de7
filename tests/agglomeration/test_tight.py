"""Groups of equal features change no score; groups of like ones have the cosine they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from defrag import Agglomerated, DiSMEC, LabelTree
from defrag.agglomeration import Tight
from tests.data import make_data


@pytest.mark.parametrize("scale", ["energy", None])
def test_equal_columns_are_lossless(scale):
    X, Y = make_data()
    n = X.shape[1]
    twice = sparse.csr_array(sparse.hstack([X, X[:, ::3], X[:, ::6]]))
    exact = DiSMEC("exact", weight_threshold=0.0, random_state=0)
    plain = exact.fit(twice, Y).decision_function(twice).toarray()
    model = Agglomerated(exact, Tight(1 - 1e-6, scale=scale), random_state=0).fit(twice, Y)
    assert model.members_[0][0].n_clusters_ == n
    change = np.abs(model.decision_function(twice).toarray() - plain).max()
    assert (change < 2e-4) == (scale == "energy"), change


def test_members_are_like_the_strongest_and_others_are_alone():
    draw = np.random.default_rng(0)
    base = draw.random((300, 40)) * (draw.random((300, 40)) < 0.2)
    noisy = base[:, draw.integers(0, 40, 60)] * draw.uniform(0.7, 1.3, (300, 60))
    X = sparse.csr_array(np.hstack([base, noisy, np.zeros((300, 2))]).astype(np.float32))
    tight = Tight(0.9, random_state=0).fit(X)
    unit = X.toarray() / np.maximum(np.linalg.norm(X.toarray(), axis=0), 1e-30)
    assert 40 <= tight.n_clusters_ <= 50
    for group in range(tight.n_clusters_):
        members = np.flatnonzero(tight.labels_ == group)
        strongest = members[np.argmax(tight.energy_[members])]
        assert (unit[:, members].T @ unit[:, strongest] > 0.9 - 1e-6).all() or len(members) == 1
    saved = 1 - tight.transform(X).nnz / X.nnz
    assert tight.saving_ == pytest.approx(saved)
    assert saved > 0.5


def test_automatic_groups_need_a_saving():
    unlike = Tight(random_state=0).fit(np.eye(50))
    assert (unlike.saving_, unlike.labels_.tolist()) == (0.0, list(range(50)))
    few = sparse.csr_array(np.hstack([np.eye(60), np.eye(60)[:, :2]]).astype(np.float32))
    auto, given = Tight(random_state=0).fit(few), Tight(0.7, random_state=0).fit(few)
    assert (auto.n_clusters_, given.n_clusters_) == (62, 60)
    assert auto.saving_ == given.saving_ == pytest.approx(2 / 62)
    assert (auto.transform(few) != few).nnz == 0
    many = sparse.csr_array(np.hstack([np.eye(60), np.eye(60)]).astype(np.float32))
    assert Tight(random_state=0).fit(many).n_clusters_ == 60


@pytest.mark.parametrize("min_cosine", [0.5, 0.8, 0.99])
def test_bounds_hold_for_scores_and_for_products_of_points(min_cosine):
    draw = np.random.default_rng(1)
    base = draw.random((60, 12)) * (draw.random((60, 12)) < 0.4)
    noisy = base[:, draw.integers(0, 12, 30)] * draw.uniform(0.6, 1.4, (60, 30))
    X = sparse.csr_array(np.hstack([base, noisy]).astype(np.float32))
    X = sparse.csr_array(sparse.diags_array(1 / sparse.linalg.norm(X, axis=1)) @ X)
    tight = Tight(min_cosine, random_state=0).fit(X)
    for level in ("residual", "spectral", "frobenius"):
        change = tight.certificate(X, draw.normal(size=(42, 3)), level=level)
        assert (change.change <= change.bound * (1 + 1e-9)).all()
        assert (change.bound > 0).all()
    before, after = X.toarray(), tight.transform(X).toarray()
    moved = np.linalg.norm(after @ after.T - before @ before.T, 2)
    grouped = np.bincount(tight.labels_)[tight.labels_] > 1
    assert 0 < moved <= 2 * np.sqrt(1 - min_cosine**2) * tight.energy_[grouped].sum()


def test_an_ensemble_shares_one_grouping():
    X, Y = make_data()
    model = Agglomerated(LabelTree(2), Tight(0.9), random_state=0).fit(X, Y)
    assert len(model.members_) == 1
    assert model.members_[0][1].n_trees == 2
