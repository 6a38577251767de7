"""What people pass and ask for: data frames, text, thresholds, points without features."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from defrag import Agglomerated, DiSMEC, LabelTree, load, metrics
from defrag.baselines import Parabel
from defrag.exceptions import DataWarning
from tests.data import make_data
from tests.helpers.bits import bits

X, Y = make_data()


@pytest.fixture(scope="module")
def model():
    return LabelTree(random_state=0).fit(X, Y)


def lists_of(Y):
    return [Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist() for i in range(Y.shape[0])]


def test_labels_of_data_frames_and_series_are_labels():
    new, dense, lists = LabelTree(random_state=0), Y.toarray(), lists_of(Y)
    plain = new.fit(X, dense).predict(X)
    for frame in (dense.astype(int), dense > 0, pd.DataFrame(dense).astype({0: object})):
        np.testing.assert_array_equal(new.fit(X, pd.DataFrame(frame)).predict(X), plain)
    of_lists = new.fit(X, lists).predict_topk(X)
    for series in (pd.Series(lists), pd.Series([np.array(one, dtype=int) for one in lists])):
        found = new.fit(X, series).predict_topk(X)
        assert new.n_labels_ == 37
        assert bits(found) == bits(of_lists)
        assert metrics.precision(series, found[0]) > 50
    thin = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(Y))
    assert sparse.issparse(new.fit(X, thin).predict(X))
    classes = pd.Series(["a", "b", "c"] * 80)
    assert set(new.fit(X, classes).predict(X)) <= {"a", "b", "c"}


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([[1.0, np.nan], [2.0, 3.0]], [0, 1], r"finite numbers, got NaN in row 0, column 1$"),
        ([[1.0, 2.0], [-np.inf, 3.0]], [0, 1], r"got infinity \(-inf\) in row 1, column 0$"),
        (sparse.csr_array([[0, 1.0], [0, np.nan]]), [0, 1], r"got NaN in row 1, column 1$"),
        (["a text", "another"], [0, 1], "X must contain numbers, got 'a text': turn text into"),
        ([["a", "b"], ["c", "d"]], [0, 1], "X must contain numbers, got 'a': turn text into"),
        ([[0, 1, 2], [4]], np.eye(2), "rows of different lengths: are X and Y swapped"),
        (np.full((2, 3), 1j), [0, 1], "^X is refused: Complex data not supported$"),
        (sparse.csr_array([[1j, 0], [0, 1]]), [0, 1], "^X is refused: Complex data not supp"),
        (np.eye(2), [None, None], "^Y must contain classes or lists of labels, got None in row 0$"),
        (np.eye(2), [{1: 2}, {}], "lists of labels, got {1: 2} in row 0$"),
        ([1.0, 2.0], [0, 1], r"X must be a 2-D matrix, got 1-D of shape \(2,\)"),
        (np.eye(2), [[0.5, 0.0], [0.1, 0.2]], "label ids, got 0.5 in row 0"),
        (np.eye(2), np.array([[0.5, 0.0], [0.1, 0.2]]), "only 0 and 1, got 0.5: are X and Y swap"),
        (np.eye(2) * 3, np.array([[0.5, 0.0], [0.1, 0.2]]), "only 0 and 1, got 0.5$"),
        (np.eye(2), pd.DataFrame({"a": ["x", 0], "b": [1, 0]}), "only 0 and 1, got 'x'"),
    ],
    ids=str,
)
def test_invalid_data_raise_one_line(X, Y, message):
    with pytest.raises(ValueError, match=message) as caught:
        LabelTree().fit(X, Y)
    assert "\n" not in str(caught.value)


def test_a_path_of_bytes_is_a_path(model, tmp_path):
    path = tmp_path / "model.safetensors"
    model.save(bytes(path))
    assert load(bytes(path)).n_labels_ == model.n_labels_


def test_invalid_arguments_of_predict_raise_one_line(model):
    with pytest.raises(ValueError, match=r"got NaN in row 0, column 3$"):
        model.predict_topk(np.where(np.arange(90) == 3, np.nan, 1.0)[None])
    with pytest.raises(ValueError, match="X has 3 features, but LabelTree is expecting 90"):
        model.predict_topk(np.ones((1, 3)))


def test_points_without_features_are_named_and_may_get_nothing(model):
    empty = np.diff(X.indptr) == 0
    with pytest.warns(DataWarning, match=rf"^{empty.sum()} of 240 points have no features"):
        labels, scores = model.predict_topk(X, k=3)
    assert (labels[empty] >= 0).all()
    labels[empty], scores[empty] = -1, 0
    assert bits(model.predict_topk(X, k=3, empty="nothing")) == bits((labels, scores))
    with pytest.raises(ValueError, match="empty must be one of 'bias', 'nothing', got 'all'"):
        model.predict_topk(X, empty="all")


@pytest.mark.filterwarnings("error")
def test_points_with_features_do_not_warn(model):
    model.predict_topk(X[np.diff(X.indptr) > 0])


def test_data_without_information_warn():
    with pytest.warns(DataWarning, match="X has no features"):
        LabelTree().fit(sparse.csr_array(X.shape, dtype=np.float32), Y)
    with pytest.warns(DataWarning, match="Y has a single label") as caught:
        LabelTree().fit(X, [[4]] * 240)
    assert caught[0].filename == __file__  # the code that called fit
    with pytest.warns(DataWarning, match="Y has a single class"):
        LabelTree().fit(X, ["a"] * 240)


def test_repeated_names_warn(model, tmp_path):
    names = [f"label {i}" for i in range(40)]
    names[7] = names[3]
    with pytest.warns(DataWarning, match="label_names has 'label 3' more than once"):
        model.save(tmp_path / "m.safetensors", label_names=names)
    assert list(load(tmp_path / "m.safetensors").label_names_) == names


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_the_threshold_of_predict(model, threshold):
    scores = model.decision_function(X).toarray()
    predicted = model.predict(X, threshold=threshold)
    np.testing.assert_array_equal(predicted.toarray() == 1, scores > threshold)
    assert (model.predict(X) != model.predict(X, threshold=0.5)).nnz == 0


def test_a_bad_threshold_is_refused(model):
    with pytest.raises(ValueError, match=r"threshold must be a finite number in \[0.0, 1.0\]"):
        model.predict(X, threshold=2)
    classes = LabelTree(random_state=0).fit(X, ["a", "b"] * 120)
    with pytest.raises(ValueError, match=r"threshold cannot be used with classes, got 0.3"):
        classes.predict(X, threshold=0.3)


@pytest.mark.parametrize("estimator", [LabelTree(), DiSMEC(), Agglomerated(LabelTree(2))], ids=str)
def test_score_is_precision_at_one(estimator):
    model = clone(estimator).set_params(random_state=0).fit(X, Y)
    expected = metrics.precision(Y, model.predict_topk(X, k=1)[0]) / 100
    for form in (Y, Y.toarray(), lists_of(Y)):
        assert model.score(X, form) == pytest.approx(expected)
    weights = np.arange(240.0)
    hits = [metrics.precision(Y[[i]], model.predict_topk(X[[i]], k=1)[0]) for i in range(240)]
    weighted = np.average(hits, weights=weights) / 100
    assert model.score(X, Y, sample_weight=weights) == pytest.approx(weighted)
    few = [[0] if i % 2 else [] for i in range(240)]  # fewer labels than the model has
    best = model.predict_topk(X, k=1)[0][:, 0]
    assert model.score(X, few) == pytest.approx(np.mean((best == 0) & (np.arange(240) % 2 == 1)))


def test_score_of_classes_is_accuracy():
    y = np.array(["a", "b", "c"] * 80)
    model = Parabel(1, random_state=0).fit(X, y)
    assert model.score(X, y) == (model.predict(X) == y).mean()
