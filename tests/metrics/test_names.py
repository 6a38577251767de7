"""Metrics of labels that have names."""

import numpy as np
import pytest
from scipy import sparse

from defrag import LabelTree, TextClassifier, metrics
from tests.data import make_data
from tests.text.data import make_texts

TRUTH = [["ant", "bee"], ["cat"], [], ["bee"]]
TRAIN = [["ant"], ["ant", "bee"], ["cat", "dog"], ["ant"]]
RANKED = [["bee", "cat", "ant"], ["dog", "cat", "eel"], ["ant", "bee", "cat"], ["ant", "", ""]]
IDS = np.array([[1, 2, 0], [3, 2, 4], [0, 1, 2], [0, -1, -1]])


def with_ids(rows):
    return [[["ant", "bee", "cat", "dog", "eel"].index(name) for name in row] for row in rows]


def by_id(k):
    truth = np.zeros((4, 5), dtype=int)
    train = np.zeros((4, 5), dtype=int)
    for matrix, rows in ((truth, TRUTH), (train, TRAIN)):
        for i, row in enumerate(with_ids(rows)):
            matrix[i, row] = 1
    return metrics.evaluate(truth, IDS, train, k=k)


@pytest.mark.parametrize("kind", ["objects", "strings", "with scores"])
def test_arrays_of_names_equal_ids(kind):
    names = np.array(RANKED, dtype=None if kind == "strings" else object)
    scores = np.tile(np.float32([0.9, 0.5, 0.1]), (4, 1))
    given = (names, scores) if kind == "with scores" else names
    assert metrics.evaluate(TRUTH, given, TRAIN, k=(1, 2, 3)) == by_id((1, 2, 3))
    assert metrics.precision(TRUTH, given, 2) == by_id((2,))["P@2"]
    assert metrics.recall(TRUTH, given, 2) == by_id((2,))["R@2"]
    assert metrics.ndcg(TRUTH, given, 2) == by_id((2,))["nDCG@2"]
    found = metrics.macro_precision(TRUTH, given, TRAIN, edges=(0, 100))
    # "ant" is right in none of two points, "bee" in one of one, "dog" in none of one, of five.
    assert found.precision[0] == pytest.approx(100 / 5)


def test_lists_of_names_keep_order():
    lists = [[name for name in row if name] for row in RANKED]
    assert metrics.evaluate(TRUTH, lists, TRAIN, k=(1, 2, 3)) == by_id((1, 2, 3))
    backwards = [row[::-1] for row in lists]
    assert metrics.precision(TRUTH, backwards) == 25.0
    with pytest.warns(UserWarning, match="no point has more than 1 predictions: at k=2"):
        assert metrics.precision(TRUTH, [["ant"], ["cat"], [], []], k=2) == 25.0


def test_pairs_with_scores_equal_ids():
    truth, scores = np.eye(5, dtype=int)[:4], np.ones((4, 3), dtype=np.float32)
    assert metrics.recall(truth, (IDS, scores), 3) == metrics.recall(truth, IDS, 3) == 50.0


def test_one_name_per_point_is_truth():
    ranked = np.array([["ant", "bee"], ["bee", "ant"]])
    assert metrics.precision(["ant", "ant"], ranked) == 50.0
    assert metrics.recall(np.array(["ant", "ant"]), ranked, 2) == 100.0


def test_predictions_of_named_models_are_taken():
    texts, labels = make_texts()
    model = TextClassifier(random_state=0).fit(texts, labels)
    found = metrics.evaluate(labels, model.predict_topk(texts, k=3), k=(1, 3))
    assert found["P@1"] == pytest.approx(100 * model.score(texts, labels))
    with pytest.warns(UserWarning, match="no point has more than"):
        predicted = metrics.recall(labels, model.predict(texts, 0.3), k=4)
    assert predicted > 90
    X, Y = make_data(n=60, d=20, n_labels=6)
    names = [[f"label {j}" for j in np.flatnonzero(row)] for row in Y.toarray()]
    trees = LabelTree(random_state=0).fit(X, names)
    ranked = trees.predict_topk(X, k=2, names=True)
    by_id = LabelTree(random_state=0).fit(X, Y).predict_topk(X, k=2)
    assert metrics.precision(names, ranked) == pytest.approx(metrics.precision(Y, by_id))


BAD = {
    "ids as truth": (IDS[:, :2], RANKED, "Y_true must be label names, like predictions"),
    "ids in a list": (with_ids(TRUTH), RANKED, "Y_true must be label names"),
    "ids as predictions": (TRUTH, IDS, "Y must contain label ids here, got label names"),
    "another length": (TRUTH[:2], RANKED, "inconsistent numbers of samples"),
    "name twice": (TRUTH[:1], [["ant", "ant"]], "must be distinct label names, got 'ant'"),
    "empty name": (TRUTH[:1], [["ant", ""]], "must be distinct label names, got ''"),
    "twice in an array": (TRUTH[:1], np.array([["ant", "ant"]]), "must not repeat a label"),
    "mixed": (
        TRUTH[:1],
        [["ant", 3]],
        "all label names or all label ids, got 3 in row 0 among nam",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_names_are_refused(case):
    truth, predictions, message = BAD[case]
    given = np.array(RANKED, dtype=object) if predictions is RANKED else predictions
    with pytest.raises(ValueError, match=message):
        metrics.precision(truth, given, 1)


def test_propensities_by_id_need_ids():
    names = np.array(RANKED, dtype=object)
    for metric in (metrics.psp, metrics.psndcg):
        with pytest.raises(ValueError, match="inverse_propensity is by label id"):
            metric(TRUTH, names, np.ones(5))
    with pytest.raises(ValueError, match="inverse_propensity is by label id"):
        metrics.coverage(TRUTH, names, inverse_propensity=np.ones(5))
    assert metrics.coverage(TRUTH, names, 3, denominator="test") == 100.0


def test_names_of_columns_must_differ():
    found = metrics.Predictions("p", [["a"], ["b"]], [[1.0], [0.5]])
    truth = metrics.Truth("t", sparse.csr_array(np.eye(2, 3)))
    assert metrics.align(found, truth, names=["a", "b", "c"]).scores.toarray()[1, 1] == 0.5
    with pytest.raises(ValueError, match="the names of --label-names must differ"):
        metrics.align(found, truth, names=["a", "b", "a"])
