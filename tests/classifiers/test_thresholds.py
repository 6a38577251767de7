"""What decides which labels are predicted, and which are candidates for a new ranking."""

import numpy as np
import pytest
from scipy import sparse

from defrag import LabelTree, Refrag
from defrag.classifiers._base import Classifier
from tests.data import make_data

X, Y = make_data()
HALF = np.float32(0.5)
SCORES = np.array([[1.0, np.nextafter(HALF, np.float32(1)), HALF, 0.25]], dtype=np.float32)


class Fixed(Classifier):
    """Return the same scores for every point."""

    def __init__(self, *, random_state=0, n_jobs=None):
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _train(self, X, Y, seed, shapes=None):
        pass

    def _rank(self, X, k, *, exhaustive):  # noqa: ARG002 - the contract
        labels = np.tile(np.arange(4, dtype=np.int32), (X.shape[0], 1))
        return labels[:, :k], np.tile(SCORES, (X.shape[0], 1))[:, :k]


@pytest.mark.parametrize("dense", [False, True])
def test_label_is_predicted_only_above_one_half(dense):
    Y = np.ones((2, 4)) if dense else sparse.csr_array(np.ones((2, 4), dtype=np.float32))
    found = Fixed().fit(np.eye(2), Y).predict(np.eye(2))
    found = found if dense else found.toarray()
    np.testing.assert_array_equal(found, [[1, 1, 0, 0]] * 2)


def test_point_without_answer_scores_zero(monkeypatch):
    model = Fixed().fit(np.eye(2), sparse.csr_array(np.ones((2, 4), dtype=np.float32)))
    nothing = np.full((2, 1), -1, dtype=np.int32), np.zeros((2, 1), dtype=np.float32)
    monkeypatch.setattr(Fixed, "_rank", lambda *_, **__: nothing)
    assert model.score(np.eye(2), np.ones((2, 4))) == 0.0


@pytest.mark.parametrize(
    ("candidates", "k", "asked"), [(7, 3, 7), (7, 9, 9), (7, 7, 7), (10**6, 3, 40), (2**40, 3, 40)]
)
def test_candidates_are_at_most_labels(candidates, k, asked, monkeypatch):
    fixed = {"gamma": 4.0, "propensity_weight": 1.0, "random_state": 0}
    model = Refrag(LabelTree(), candidates=candidates, **fixed).fit(X, Y)
    seen, rank = [], LabelTree._rank

    def watch(base, rows, n, *, exhaustive):
        seen.append(n)
        return rank(base, rows, n, exhaustive=exhaustive)

    monkeypatch.setattr(LabelTree, "_rank", watch)
    model.predict_topk(X, k=k)
    assert seen == [asked]


def test_labels_without_points_have_no_bonus():
    model = Refrag(LabelTree(), gamma=0.0, propensity_weight=1.0, random_state=0).fit(X, Y)
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    assert (counts[-3:] == 0).all()
    np.testing.assert_array_equal(model.bonus_[counts == 0], 0)
    assert (model.bonus_[counts > 0] > 0).all()
    order = np.argsort(counts[counts > 0], kind="stable")
    assert (np.diff(model.bonus_[counts > 0][order]) <= 0).all()
