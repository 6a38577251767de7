"""Scores as probabilities."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

from defrag import Agglomerated, DiSMEC, LabelTree, Refrag, load
from defrag.baselines import Parabel
from defrag.exceptions import ModelFormatError
from tests.data import make_data
from tests.helpers.bits import bits

MODELS = [
    LabelTree(random_state=0),
    Parabel(2, random_state=0),
    DiSMEC(random_state=0),
    Agglomerated(LabelTree(2), random_state=0),
    Refrag(LabelTree(), gamma=1.0, propensity_weight=0.3, random_state=0),
]


POINTS, LABELS = make_data(n=900, seed=3)
X, X_held, X_test = POINTS[:400], POINTS[400:650], POINTS[650:]
Y, Y_held, Y_test = LABELS[:400], LABELS[400:650], LABELS[650:]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_probabilities_are_those_of_isotonic_regression(model, tmp_path):
    model = clone(model).fit(X, Y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match=r"held-out points first: call calibrate with them$"):
        model.predict_proba(X_test)
    before = bits(model.predict_topk(X_test))
    assert model.calibrate(X_held, Y_held, k=20) is model
    assert bits(model.predict_topk(X_test)) == before
    labels, scores = model.predict_topk(X_held, k=20)
    found = labels >= 0
    rows = np.nonzero(found)[0]
    hits = np.asarray(Y_held[rows, labels[found]]).ravel()
    slow = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    slow.fit(scores[found].astype(np.float64), hits)
    raw, given = model.decision_function(X_test), model.predict_proba(X_test)
    np.testing.assert_array_equal(raw.indices, given.indices)
    np.testing.assert_allclose(given.data, slow.predict(raw.data.astype(np.float64)), atol=1e-6)
    model.save(tmp_path / "m.safetensors")
    assert bits(load(tmp_path / "m.safetensors").predict_proba(X_test)) == bits(given)
    assert not hasattr(model.fit(X, Y), "predict_proba")


def test_probabilities_are_closer_to_truth_than_scores():
    model = DiSMEC(random_state=0).fit(X, Y).calibrate(X_held, Y_held)
    truth = Y_test.toarray()
    scores, given = (one.toarray() for one in (model.decision_function(X_test),
                                               model.predict_proba(X_test)))  # fmt: skip
    assert np.mean((given - truth) ** 2) < np.mean((scores - truth) ** 2)
    gap = abs(given.mean() - truth.mean())
    assert gap < 0.5 * abs(scores.mean() - truth.mean())


def test_dense_labels_and_classes_get_dense_probabilities():
    dense = LabelTree(random_state=0).fit(X, Y.toarray()).calibrate(X_held, Y_held.toarray())
    given = dense.predict_proba(X_test)
    assert given.shape == (250, 40)
    assert given.min() >= 0
    assert given.max() <= 1
    y = np.array(["a", "b", "c", "d"])[np.arange(650) % 4]
    model = LabelTree(random_state=0).fit(X, y[:400])
    # The held-out points lack the first class.
    model.calibrate(X_held[:2], ["d", "b"])
    np.testing.assert_allclose(model.predict_proba(X_test).sum(axis=1), 1.0, rtol=1e-5)
    with pytest.raises(ValueError, match="Y must contain labels of the model, got 'e'"):
        model.calibrate(X_held[:2], ["e", "b"])
    with pytest.raises(ValueError, match="X has 250 points, Y has 3"):
        dense.calibrate(X_held, Y_held[:3])


def test_a_model_without_calibration_has_no_such_arrays(tmp_path):
    model = LabelTree(random_state=0).fit(X, Y)
    model.save(tmp_path / "plain")
    plain = (tmp_path / "plain").read_bytes()
    assert b"calibration" not in plain
    model.calibrate(X_held, Y_held).save(tmp_path / "more")
    assert b"calibration" in (tmp_path / "more").read_bytes()
    model.fit(X, Y).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == plain


def test_decreasing_knots_in_file_raise(tmp_path):
    path = tmp_path / "m.safetensors"
    model = LabelTree(random_state=0).fit(X, Y).calibrate(X_held, Y_held)
    for name, values in (("scores", [0.5, 0.2]), ("probabilities", [0.1, 1.5]),
                         ("scores", [0.1, np.nan]), ("probabilities", [0.1])):  # fmt: skip
        knots = {"scores": np.array([0.1, 0.2]), "probabilities": np.array([0.1, 0.2])}
        model.calibration_ = replace(model.calibration_, **(knots | {name: np.array(values)}))
        with pytest.raises(ModelFormatError, match="calibration/"):  # save reads what it wrote
            model.save(path)
