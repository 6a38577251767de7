"""Parameters that prediction reads, set after ``fit``; classes; scores of all labels."""

import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from defrag import Agglomerated, Defrag, Fiat, Imputed, LabelTree, Refrag, _native
from defrag.baselines import Bonsai, Parabel
from tests.data import make_data
from tests.helpers.bits import bits


def test_parameters_of_parts_are_checked_where_they_are_read():
    X, Y = make_data()
    imputed = Imputed(LabelTree(), Fiat(beta=0.5), random_state=0).fit(X, Y)
    for name, value in (("beta", -1.0), ("beta", "auto"), ("max_growth", 0)):
        before = imputed.imputation_.get_params()[name]
        imputed.imputation_.set_params(**{name: value})
        with pytest.raises(ValueError, match=f"{name} of Fiat must be"):
            imputed.predict_topk(X)
        imputed.imputation_.set_params(**{name: before})
    model = Agglomerated(LabelTree(), Defrag(), random_state=0).fit(X, Y)
    model.members_[0][0].set_params(pooling="median")
    with pytest.raises(ValueError, match="pooling of Defrag must be one of"):
        model.predict_topk(X)
    ranked = Refrag(LabelTree(), gamma=2.0, propensity_weight=0.5, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="candidates of Refrag must be"):
        ranked.set_params(candidates=0).predict_topk(X)


def _classes(n_classes, n_features=400, seed=0):
    """Make a point per class; with many classes a search of all takes long."""
    draw = np.random.default_rng(seed)
    X = sparse.random_array((n_classes, n_features), density=0.02, format="csr", rng=draw)
    return X.astype(np.float32), np.arange(n_classes) + 7


@pytest.mark.parametrize("model", [LabelTree(), Parabel(2), Bonsai(1)], ids=str)
def test_predict_of_classes_is_the_first_of_the_search(model):
    X, classes = _classes(700)
    X, y = sparse.csr_array(sparse.vstack([X, X, X])), np.tile(classes, 3)
    model = clone(model).set_params(random_state=0, beam_size=2).fit(X, y)
    best, _ = model.predict_topk(X[:700], k=1)
    np.testing.assert_array_equal(model.predict(X[:700]), classes[best[:, 0]])
    assert (model.predict(X[:700]) == classes).mean() > 0.5


@pytest.mark.parametrize("n_classes", [300, 3000])
def test_predict_searches_a_beam_however_many_classes_there_are(n_classes, monkeypatch):
    X, classes = _classes(n_classes)
    X = sparse.csr_array(sparse.vstack([X] * 3))
    model = Parabel(2, max_leaf_size=4, random_state=0).fit(X, np.tile(classes, 3))
    asked, search = [], _native.search_trees

    def watch(members, *arguments, **options):
        asked.append((len(members), options["k"], options["beam_size"]))
        return search(members, *arguments, **options)

    monkeypatch.setattr(_native, "search_trees", watch)
    assert len(model.predict(X[:50])) == 50
    assert asked == [(2, 1, model.beam_size)]


def test_scores_of_all_labels_take_time_in_proportion():
    seconds = {}
    for n_labels in (4000, 16000):
        X, y = _classes(n_labels, n_features=50)
        Y = sparse.csr_array((np.ones(n_labels, np.float32), (np.arange(n_labels), y - 7)))
        model = LabelTree(random_state=0, preset="fast").fit(X, Y)
        model._rank(X[:1], n_labels, exhaustive=True)
        begin = time.process_time()
        model._rank(X[:20], n_labels, exhaustive=True)
        seconds[n_labels] = time.process_time() - begin
    assert seconds[16000] < 9 * seconds[4000]


def test_scores_of_more_labels_than_are_kept_in_order_agree():
    X, y = _classes(900)
    model = LabelTree(random_state=0).fit(X, [[one - 7] for one in y])
    whole, scores = model._rank(X[:30], 900, exhaustive=True)
    few = model._rank(X[:30], 100, exhaustive=True)
    assert bits((whole[:, :100], scores[:, :100])) == bits(few)
    np.testing.assert_array_equal(np.sort(whole, axis=1), np.tile(np.arange(900), (30, 1)))
    order = np.lexsort((whole, -scores))
    np.testing.assert_array_equal(order, np.tile(np.arange(900), (30, 1)))
