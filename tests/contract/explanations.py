"""Checks: explanations add up to the scores of predictions."""

import numpy as np
import pytest
from scipy import sparse

from defrag import load
from tests.contract.inputs import read_only, unsorted, wide_indices
from tests.contract.subject import small_data
from tests.helpers.bits import bits

ROWS = (1, 2, 5, 11, 30)


def explanations_add_up_to_predicted_scores(subject, _folder):
    model = subject.fitted()
    n_explained = 0
    for number, row in enumerate(rows()):
        labels, scores = model.predict_topk(row, k=4)
        found = model.explain(row, k=4)
        assert [one.label_id for one in found] == labels[0][labels[0] >= 0].tolist()
        for one, score in zip(found, scores[0], strict=False):
            n_explained += 1
            check_explanation(one, row)
            assert one.score == pytest.approx(score, abs=1e-6)
        for form in (wide_indices, unsorted, read_only)[: 3 * (number < len(ROWS))]:
            other = model.explain(form(row), k=4)  # whatever the row is made of
            assert bits([one.as_dict() for one in other]) == bits([one.as_dict() for one in found])
        best = model.explain(row)
        assert bits(best.contributions) == bits(found[0].contributions)
        again = model.explain(row.toarray()[0], label=found[-1].label)
        assert again.score == pytest.approx(found[-1].score, abs=1e-12)
    assert n_explained > 2 * len(ROWS)


def rows():
    """Yield points, and rows of the features of two points with values of any size."""
    X = small_data()[0]
    yield from (X[[number]] for number in ROWS)
    draw = np.random.default_rng(0)
    for pair in draw.choice(X.shape[0], (6, 2)):
        features = np.unique(X[pair].indices)
        row = np.zeros((1, X.shape[1]), dtype=np.float32)
        row[0, features] = draw.lognormal(0.0, 2.0, len(features))
        yield sparse.csr_array(row)


def check_explanation(one, row):
    """Check what holds for every explanation."""
    assert sorted(one.features.tolist()) == row.indices.tolist()
    assert one.base + one.contributions.sum() == pytest.approx(one.score, abs=1e-6)
    assert (np.diff(np.abs(one.contributions)) <= 0).all()
    assert ((one.without >= 0) & (one.without <= 1)).all()
    assert [row[0, j] for j in one.features] == one.values.tolist()
    assert one.how
    kinds = [step.contributions.shape for step in one.path]
    assert kinds == [one.contributions.shape] * len(kinds)


def every_label_can_be_explained(subject, _folder):
    X = small_data()[0]
    model = subject.fitted()
    for label in range(model.n_labels_):  # labels without points, and labels no search finds
        check_explanation(model.explain(X[[2]], label=label), X[[2]])
    nothing = sparse.csr_array((1, X.shape[1]), dtype=np.float32)
    one = model.explain(nothing, label=0)
    assert one.score == one.base
    assert len(one.features) == 0
    for label in (-1, model.n_labels_, 1.5, "a", [0]):
        with pytest.raises(ValueError, match=r"^label must be an id"):
            model.explain(X[[2]], label=label)
    with pytest.raises(ValueError, match=r"^X must be one point, got 2$"):
        model.explain(X[:2])


def a_loaded_model_explains_the_same(subject, folder):
    X = small_data()[0]
    model = subject.fitted()
    model.save(folder / "explained.safetensors")
    loaded = load(folder / "explained.safetensors")
    first, second = (one.explain(X[[2]], k=2) for one in (model, loaded))
    assert [bits(one.as_dict()) for one in first] == [bits(one.as_dict()) for one in second]
    assert bits(model.label_features(1).as_dict()) == bits(loaded.label_features(1).as_dict())


def label_features_score_as_points_of_one_feature(subject, _folder):
    model = subject.fitted()
    found = model.label_features(1, n=3)
    assert len(found.features) <= 3
    assert (np.diff(found.scores) <= 0).all()
    assert (found.scores > found.base).all()
    for feature, score in zip(found.features.tolist(), found.scores, strict=True):
        row = np.zeros(model.n_features_in_, dtype=np.float32)
        row[feature] = 2.0
        others = model.explain(row, label=1)
        # The search for this row may find the label in some members only.
        if not others.notes:
            assert others.score == pytest.approx(score, abs=1e-9)
