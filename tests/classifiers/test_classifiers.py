"""The contract that every classifier keeps."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from defrag import Agglomerated, Defrag, DiSMEC, LabelTree
from defrag.agglomeration import Hybrid
from defrag.baselines import (
    CRAFTML,
    LEML,
    SLEEC,
    AnnexML,
    FastXML,
    Parabel,
    PfastreXML,
    PPDSparse,
    ProXML,
)
from tests.contract.copies import check_threads
from tests.data import make_data

CLASSIFIERS = [
    LabelTree(random_state=0),
    LabelTree(2, preset="exact", max_leaf_size=4, arity=2, root_arity=3, random_state=0),
    Parabel(2, max_leaf_size=5, random_state=0),
    Agglomerated(LabelTree(2), Hybrid(max_cluster_size=2), random_state=0),
    Agglomerated(Parabel(2), Defrag("xy", max_cluster_size=2), per_member=False, random_state=0),
    DiSMEC(random_state=0),
    PPDSparse(random_state=0),
    ProXML(solution="minimum"),
    LEML(10, random_state=0),
    SLEEC(2, cluster_size=80, n_components=10, random_state=0),
    AnnexML(2, cluster_size=80, n_components=10, random_state=0),
    FastXML(5, C=4.0, random_state=0),
    PfastreXML(5, C=4.0, random_state=0),
    CRAFTML(5, random_state=0),
    Agglomerated(DiSMEC(), Hybrid(max_cluster_size=2, pooling="mean"), random_state=0),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_answers_agree_with_each_other(model):
    X, Y = make_data()
    model = clone(model).fit(X, Y)
    labels, scores = model.predict_topk(X, k=4)
    assert labels.shape == scores.shape == (240, 4)
    assert labels.dtype == np.int32
    assert scores.dtype == np.float32
    assert np.all(np.diff(scores, axis=1) <= 0)
    assert np.all((scores >= 0) & (scores <= 1))
    assert not np.isin(labels, [37, 38, 39]).any()  # labels without points
    matrix = model.decision_function(X, k=4)
    assert matrix.shape == (240, 40)
    rows = np.repeat(np.arange(240), 4)
    found = labels.ravel() >= 0
    np.testing.assert_array_equal(
        np.asarray(matrix[rows[found], labels.ravel()[found]]).ravel(), scores.ravel()[found]
    )
    whole = model.decision_function(X)
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted.toarray() == 1, whole.toarray() > 0.5)
    hits = np.asarray(Y[np.arange(240), np.maximum(labels[:, 0], 0)]).ravel()
    labelled = np.diff(Y.indptr) > 0
    assert hits[labelled].mean() > 0.5


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_rows_are_ranked_independently(model):
    X, Y = make_data()
    model = clone(model).fit(X, Y)
    labels, scores = model.predict_topk(X, k=5)
    for row in (0, 1, 23, 77, 239):
        alone = model.predict_topk(X[[row]], k=5)
        np.testing.assert_array_equal(alone[0][0], labels[row])
        np.testing.assert_array_equal(alone[1][0], scores[row])
    order = np.random.default_rng(0).permutation(240)
    np.testing.assert_array_equal(model.predict_topk(X[order], k=5)[0], labels[order])


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_result_is_equal_for_any_threads(model, tmp_path):
    check_threads(model, *make_data(), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_labels_in_every_form(model):
    X, Y = make_data()
    expected = clone(model).fit(X, Y).predict_topk(X)[0]
    lists = [Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist() for i in range(240)]
    for form in (Y.toarray(), Y.tocsc(), sparse.csr_matrix(Y).astype(np.int64), lists):
        fitted = clone(model).fit(X, form)
        np.testing.assert_array_equal(fitted.predict_topk(X)[0], expected)
    dense = clone(model).fit(X, Y.toarray())
    assert isinstance(dense.predict(X), np.ndarray)
    assert isinstance(dense.decision_function(X), np.ndarray)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_pickled_and_refitted_models_answer_the_same(model):
    X, Y = make_data()
    fitted = clone(model).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301 - our own bytes
    np.testing.assert_array_equal(again.predict_topk(X)[0], fitted.predict_topk(X)[0])
    other_X, other_Y = make_data(n=80, d=30, n_labels=12, seed=5)
    fitted.fit(other_X, other_Y)
    np.testing.assert_array_equal(
        fitted.predict_topk(other_X)[0], clone(model).fit(other_X, other_Y).predict_topk(other_X)[0]
    )


def test_k_is_capped_by_labels():
    X, Y = make_data(n_labels=6)
    labels, scores = LabelTree(random_state=0).fit(X, Y).predict_topk(X, k=20)
    assert labels.shape == scores.shape == (240, 6)


def test_beam_memory_is_capped_by_tree():
    X, Y = np.kron(np.eye(3), np.ones((4, 2))), [[i // 4] for i in range(12)]
    wide, widest = (
        LabelTree(beam_size=size, max_leaf_size=1, random_state=0).fit(X, Y).predict_topk(X)
        for size in (100, 2**62)
    )
    np.testing.assert_array_equal(widest[0], wide[0])
    np.testing.assert_array_equal(widest[1], wide[1])


def test_a_wide_beam_is_exact():
    X, Y = make_data()
    model = LabelTree(max_leaf_size=2, arity=2, root_arity=2, beam_size=1000, random_state=0)
    labels, scores = model.fit(X, Y).predict_topk(X, k=5)
    # Dense answers are less one half, which costs small scores their last digits.
    full = model.fit(X, Y.toarray()).decision_function(X) + np.float32(0.5)
    best = np.lexsort((np.broadcast_to(np.arange(40), full.shape), -full), axis=1)[:, :5]
    np.testing.assert_allclose(np.take_along_axis(full, best, axis=1), scores, atol=6e-8)
    np.testing.assert_array_equal(np.where(scores > 0, best, -1), np.where(scores > 0, labels, -1))


def test_equal_trees_average_to_one_tree():
    X, Y = make_data()
    one = LabelTree(random_state=0).fit(X, Y)
    copies = LabelTree(3, random_state=0).fit(X, Y)
    copies.trees_ = [one.trees_[0]] * 3
    np.testing.assert_array_equal(copies.predict_topk(X)[0], one.predict_topk(X)[0])
    np.testing.assert_allclose(copies.predict_topk(X)[1], one.predict_topk(X)[1], rtol=1e-6)


def test_members_have_clusterings_of_their_own():
    X, Y = make_data()
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
        (LabelTree(0), "n_trees of LabelTree must be an int >= 1, got 0"),
        (LabelTree(C=0.0), r"C of LabelTree must be a finite number > 0\.0, got 0\.0"),
        (LabelTree(C=float("nan")), "C of LabelTree"),
        (LabelTree(preset="slow"), "preset of LabelTree must be one of 'fast'"),
        (Parabel(beam_size=0), "beam_size of Parabel must be an int >= 1, got 0"),
        (Parabel(max_leaf_size=1.5), "max_leaf_size of Parabel must be an int"),
        (Agglomerated(base=Hybrid()), "base of Agglomerated must be a Classifier"),
        (Agglomerated(agglomeration="x"), "agglomeration of Agglomerated must be a FeatureClus"),
        (Agglomerated(LabelTree(0)), "n_trees of LabelTree must be an int >= 1, got 0"),
        (Agglomerated(per_member=1), "per_member of Agglomerated must be one of True, False"),
    ],
)
def test_bad_parameters_are_refused(model, message):
    X, Y = make_data()
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")


def test_bad_data_are_refused():
    X, Y = make_data()
    with pytest.raises(ValueError, match="at least one label, got none"):
        LabelTree().fit(X, sparse.csr_array(Y.shape))
    with pytest.raises(ValueError, match="X has 240 points, Y has 3"):
        LabelTree().fit(X, Y[:3])
    model = LabelTree(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="X has 5 features, but LabelTree is expecting 90"):
        model.predict_topk(X[:, :5])
    with pytest.raises(ValueError, match="k must be an int >= 1, got 0"):
        model.predict_topk(X, k=0)
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
