"""Groups of equal features change no score; groups of like ones have the cosine they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from defrag import Agglomerated, DiSMEC
from defrag.agglomeration import Tight
from tests.data import make_data


@pytest.mark.parametrize("scale", ["energy", None])
def test_equal_columns_are_lossless(scale):
    X, Y = make_data()
    X = sparse.csr_array(X)
    n = X.shape[1]
    copied = np.arange(0, n, 3)
    twice = sparse.csr_array(sparse.hstack([X, X[:, copied], X[:, copied[::2]]]))
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


def test_unlike_columns_stay_as_they_are():
    X = sparse.csr_array(np.eye(50, dtype=np.float32))
    tight = Tight(random_state=0).fit(X)
    assert tight.saving_ == 0.0
    np.testing.assert_array_equal(tight.labels_, np.arange(50))
