"""Scorers and pipelines in scikit-learn's model selection."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import Pipeline

from defrag import LabelTree, metrics
from defrag.baselines import Parabel
from defrag.classifiers.pipeline import TopKPipeline
from defrag.metrics.scorers import label_lists, scorer, scorers
from tests.data import make_data


def folds(X, Y, name, train_labels=None):
    """Cross-validate by hand."""
    for train, test in KFold(3).split(X):
        model = LabelTree(random_state=0).fit(X[train], Y[train])
        ranked = model.predict_topk(X[test], int(name[-1]))[0]
        yield metrics.evaluate(Y[test], ranked, train_labels, k=[int(name[-1])])[name]


@pytest.mark.parametrize("name", ["P@1", "P@3", "nDCG@5", "R@3", "coverage@1"])
def test_cross_validation_ranks_labels(name):
    X, Y = make_data()
    found = cross_val_score(LabelTree(random_state=0), X, label_lists(Y), cv=3,
                            scoring=scorer(name), error_score="raise")  # fmt: skip
    if name.startswith("coverage"):  # lists do not say that there are labels without points
        found = found * 37 / 40
    assert found.tolist() == pytest.approx(list(folds(X, Y, name)))


def test_names_of_metrics_differ_from_scikit_learn():
    # The day it lets others register names, the manual should say so.
    X, Y = make_data()
    with pytest.raises(ValueError, match="'P@3'"):
        cross_val_score(LabelTree(), X, label_lists(Y), cv=3, scoring="P@3")


def test_many_metrics_at_once_equal_evaluate():
    X, Y = make_data()
    lists = label_lists(Y)
    found = cross_validate(LabelTree(random_state=0), X, lists, cv=3, error_score="raise",
                           scoring=scorers("P@1", "PSP@3", train_labels=Y))  # fmt: skip
    assert found["test_PSP@3"].tolist() == pytest.approx(list(folds(X, Y, "PSP@3", Y)))
    assert found["test_P@1"].tolist() == pytest.approx(list(folds(X, Y, "P@1")))
    default = cross_val_score(LabelTree(random_state=0), X, lists, cv=3, error_score="raise")
    np.testing.assert_allclose(100 * default, found["test_P@1"])


def test_curves_and_searches_accept_scorers():
    X, Y = make_data()
    lists = label_lists(Y)
    sizes, _, tested = learning_curve(LabelTree(random_state=0), X, lists, cv=3,
                                      train_sizes=[40, 160], scoring=scorer("P@1"),
                                      error_score="raise")  # fmt: skip
    assert sizes.tolist() == [40, 160]
    assert tested.mean(axis=1)[1] > tested.mean(axis=1)[0]
    search = GridSearchCV(Parabel(1, random_state=0), {"C": [1e-6, 1.0]}, cv=3,
                          scoring=scorer("P@3"), error_score="raise").fit(X, lists)  # fmt: skip
    assert search.best_params_ == {"C": 1.0}
    assert search.predict(X).shape == (240, 37)


def test_label_lists_accept_every_form():
    Y = make_data()[1]
    expected = [Y.indices[a:b].tolist() for a, b in zip(Y.indptr, Y.indptr[1:], strict=False)]
    for form in (Y, Y.toarray(), sparse.coo_matrix(Y), expected, label_lists(Y)):
        assert [ids.tolist() for ids in label_lists(form)] == expected


def test_pipeline_ranks_labels():
    texts = ["red apple", "green apple", "red car", "green car"] * 5
    labels = [[0, 2], [0, 3], [1, 2], [1, 3]] * 5
    steps = [("words", TfidfVectorizer()), ("same", "passthrough"),
             ("labels", LabelTree(random_state=0))]  # fmt: skip
    model = TopKPipeline(steps).fit(texts, labels)
    best, scores = model.predict_topk(["blue car", "unknown words"], k=2, empty="nothing")
    assert best[0, 0] == 1
    assert best[1].tolist() == [-1, -1]
    assert scores[1].tolist() == [0, 0]
    assert clone(model).get_params()["labels__random_state"] == 0
    again = pickle.loads(pickle.dumps(model)).predict_topk(["blue car"], k=2)  # noqa: S301 - our own bytes
    np.testing.assert_array_equal(again[0], best[:1])
    # Scorers take any pipeline.
    plain = Pipeline(steps).fit(texts, labels)
    assert scorer("P@2")(plain, texts, labels) == scorer("P@2")(model, texts, labels) == 100.0


@pytest.mark.parametrize("name", ["P", "P@0", "accuracy@1", "P@1x", 3])
def test_unknown_metrics_are_refused(name):
    with pytest.raises(ValueError, match="name must be one of P, nDCG, R, coverage, PSP, PSnDCG"):
        scorer(name)
    with pytest.raises(ValueError, match="PSP@1 requires train_labels, got None"):
        scorer("PSP@1")
