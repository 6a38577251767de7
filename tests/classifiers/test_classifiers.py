"""What holds of some classifiers and ensembles; the contract of all is in tests/contract."""

import numpy as np
import pytest
from scipy import sparse

from defrag import Agglomerated, LabelTree
from defrag.agglomeration import Hybrid
from defrag.baselines import PfastreXML
from tests.data import make_data
from tests.helpers.bits import bits

X, Y = make_data()


def test_beam_memory_is_capped_by_tree():
    X, Y = np.kron(np.eye(3), np.ones((4, 2))), [[i // 4] for i in range(12)]
    model = LabelTree(max_leaf_size=1, random_state=0).fit(X, Y)
    wide, widest = (model.set_params(beam_size=n).predict_topk(X) for n in (100, 2**62))
    assert bits(widest) == bits(wide)


def test_a_wide_beam_is_exact():
    model = LabelTree(max_leaf_size=2, arity=2, root_arity=2, beam_size=1000, random_state=0)
    labels, scores = model.fit(X, Y).predict_topk(X, k=5)
    # Dense answers are less one half, which costs small scores their last digits.
    full = model.fit(X, Y.toarray()).decision_function(X) + np.float32(0.5)
    best = np.lexsort((np.broadcast_to(np.arange(40), full.shape), -full), axis=1)[:, :5]
    np.testing.assert_allclose(np.take_along_axis(full, best, axis=1), scores, atol=6e-8)
    np.testing.assert_array_equal(np.where(scores > 0, best, -1), np.where(scores > 0, labels, -1))


def test_equal_trees_average_to_one_tree():
    one = LabelTree(random_state=0).fit(X, Y)
    copies = LabelTree(3, random_state=0).fit(X, Y)
    copies.trees_ = [one.trees_[0]] * 3
    np.testing.assert_array_equal(copies.predict_topk(X)[0], one.predict_topk(X)[0])
    np.testing.assert_allclose(copies.predict_topk(X)[1], one.predict_topk(X)[1], rtol=1e-6)


def test_members_have_clusterings_of_their_own():
    model = Agglomerated(LabelTree(3), Hybrid(max_cluster_size=4), random_state=0).fit(X, Y)
    labels = [groups.labels_ for groups, _ in model.members_]
    assert len(labels) == 3
    assert not np.array_equal(labels[0], labels[1])
    shared = Agglomerated(LabelTree(3), Hybrid(), per_member=False, random_state=0).fit(X, Y)
    assert len(shared.members_) == 1
    assert len(shared.members_[0][1].trees_) == 3


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Agglomerated(agglomeration="x"), "agglomeration of Agglomerated must be a FeatureClus"),
        (Agglomerated(LabelTree(0)), "n_trees of LabelTree must be an int >= 1, got 0"),
    ],
)
def test_bad_parameters_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")


def test_bad_data_are_refused():
    with pytest.raises(ValueError, match="at least one label, got none"):
        LabelTree().fit(X, sparse.csr_array(Y.shape))
    with pytest.raises(ValueError, match="X has 240 points, Y has 3"):
        LabelTree().fit(X, Y[:3])
    model = LabelTree(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="k must be an int >= 1 or None, got -2"):
        model.decision_function(X, k=-2)


def test_best_labels_are_prefix_of_all_where_prototypes_tie():
    """A search that stops early must not miss a label of the same score and a lower id."""
    X, Y = make_data(n=200, d=40, n_labels=30)
    model = PfastreXML(3, alpha=0.5, gamma=1000, max_leaf_size=40, random_state=0).fit(X, Y)
    X = X[np.diff(X.indptr) > 0]
    labels, scores = model.predict_topk(X, k=30)
    assert np.mean(scores[:, 0] == scores[:, 5]) > 0.5
    for k in (1, 2, 5):
        np.testing.assert_array_equal(model.predict_topk(X, k=k)[0], labels[:, :k])
