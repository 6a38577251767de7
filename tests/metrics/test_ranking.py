import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import metrics
from defrag.io.xmc import read_labels
from tests.oracles import metrics as oracle

# Scores are drawn with few entries on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:no point has more than")

check = settings(max_examples=60, derandomize=True, deadline=None)


def random_problem(seed, *, n_rows, n_labels):
    """Truth, training labels, and scores with many ties, stored zeros and negatives.

    Labels are sparse, because a dense matrix of one column is read as one class per point.
    """
    rng = np.random.default_rng(seed)
    Y = (rng.random((n_rows, n_labels)) < 0.3).astype(int)
    train = (rng.random((12, n_labels)) < 0.25).astype(int)
    scores = rng.integers(-2, 3, size=(n_rows, n_labels)).astype(float)
    stored = rng.random((n_rows, n_labels)) < 0.6
    return sparse.csr_array(Y), sparse.csr_array(train), scores, stored


problems = st.builds(
    random_problem, st.integers(0, 10_000), n_rows=st.integers(1, 12), n_labels=st.integers(1, 9)
)


def as_matrix(scores, stored):
    rows, columns = np.nonzero(stored)
    return sparse.csr_array((scores[rows, columns], (rows, columns)), shape=scores.shape)


def as_ids(tops, k):
    return np.array([top + [-1] * (k - len(top)) for top in tops]).reshape(len(tops), k)


def test_too_few_predictions_are_refused_or_warned():
    Y = sparse.csr_array(np.eye(6))
    scores = np.tile(np.arange(6.0), (6, 1))
    top = np.argsort(-scores, axis=1)[:, :3]
    for metric in (metrics.precision, metrics.recall, metrics.ndcg):
        with pytest.raises(ValueError, match="3 labels per point, so k must be at most that, got"):
            metric(Y, top, 5)
    with pytest.raises(ValueError, match="3 labels per point, so k must be at most that, got 5"):
        metrics.evaluate(Y, top)
    assert metrics.evaluate(Y, top, k=(1, 3))["P@3"] == pytest.approx(100 / 6)
    few = as_matrix(scores, scores >= 3)
    with pytest.warns(UserWarning, match="no point has more than 3 predictions: at k=5") as caught:
        metrics.evaluate(Y, few)
    assert caught[0].filename == __file__
    # All labels there are reach any k.
    assert metrics.precision(np.eye(2), np.array([[0, 1], [1, 0]]), 5) == pytest.approx(20.0)
    assert metrics.precision(np.eye(2), as_matrix(np.ones((2, 2)), np.ones((2, 2))), 5) > 0


def test_padding_may_repeat_in_a_row():
    padded = np.array([[0, -1, -1], [-1, -1, -1], [2, 1, -1]])
    assert metrics.precision(np.eye(3), padded, 3) == pytest.approx(100 * 2 / 9)


def test_two_points_computed_by_hand():
    Y = np.array([[1, 0, 1, 0], [0, 1, 0, 0]])
    predictions = np.array([[0, 1, 2], [3, 1, -1]])
    values = metrics.evaluate(Y, predictions, k=(1, 3))
    assert values["P@1"] == pytest.approx(50.0)
    assert values["P@3"] == pytest.approx(100 * (2 / 3 + 1 / 3) / 2)
    assert values["R@1"] == pytest.approx(25.0)
    assert values["R@3"] == pytest.approx(100.0)
    first = (1 + 1 / 2) / (1 + 1 / np.log2(3))
    assert values["nDCG@3"] == pytest.approx(50 * (first + 1 / np.log2(3)))
    assert values["coverage@1"] == pytest.approx(25.0)
    assert values["coverage@3"] == pytest.approx(75.0)
    names = ("P", "nDCG", "R", "coverage")
    assert list(values) == [f"{name}@{k}" for k in (1, 3) for name in names]


@pytest.mark.slow
@check
@given(problems, st.integers(1, 6))
def test_metrics_equal_oracles(problem, k):
    Y, train, scores, stored = problem
    tops = [oracle.ranking(*row, k) for row in zip(scores, stored, strict=True)]
    q = oracle.inverse_propensity(train.toarray(), 0.55, 1.5)
    expected = oracle.ranking_metrics(Y.toarray(), tops, q, k)
    weights = metrics.inverse_propensity(train)
    np.testing.assert_allclose(weights, q)
    for predictions in (as_matrix(scores, stored), as_ids(tops, k)):
        values = metrics.evaluate(Y, predictions, train, k=(k,))
        for name in ("P", "R", "nDCG", "PSP", "PSnDCG"):
            assert values[f"{name}@{k}"] == pytest.approx(100 * expected[name])
        assert metrics.precision(Y, predictions, k) == pytest.approx(100 * expected["P"])
        assert metrics.recall(Y, predictions, k) == pytest.approx(100 * expected["R"])
        assert metrics.ndcg(Y, predictions, k) == pytest.approx(100 * expected["nDCG"])
        assert metrics.psp(Y, predictions, weights, k) == pytest.approx(100 * expected["PSP"])
        value = metrics.psndcg(Y, predictions, weights, k, normalisation="pyxclib")
        assert value == pytest.approx(100 * expected["PSnDCG pyxclib"])
        assert metrics.psndcg(Y, predictions, weights, k) == pytest.approx(100 * expected["PSnDCG"])
        for denominator in ("all", "test", "ideal"):
            how = {"denominator": denominator, "inverse_propensity": weights}
            value = metrics.coverage(Y, predictions, k, **how)
            assert value == pytest.approx(100 * expected[f"coverage {denominator}"])


@check
@given(problems, st.integers(1, 6))
def test_depths_are_independent(problem, k):
    Y, train, scores, stored = problem
    predictions = as_matrix(scores, stored)
    alone = metrics.evaluate(Y, predictions, train, k=(k,))
    among = metrics.evaluate(Y, predictions, train, k=(1, k, 7))
    assert alone == pytest.approx({name: among[name] for name in alone})
    assert all(0 <= value <= 100 + 1e-9 for value in among.values())


@check
@given(problems, st.integers(1, 6))
def test_truth_is_best_ranking(problem, k):
    Y, train, _, _ = problem
    weights = metrics.inverse_propensity(train)
    perfect = sparse.csr_array(Y.multiply(weights))
    labelled = (Y.sum(axis=1) > 0).mean()
    assert metrics.precision(Y, perfect, 1) == pytest.approx(100 * labelled)
    assert metrics.ndcg(Y, perfect, k) == pytest.approx(100 * labelled)
    if not labelled:
        return
    assert metrics.ndcg(Y, perfect, k, drop_unlabelled=True) == pytest.approx(100.0)
    assert metrics.precision(Y, perfect, 1, drop_unlabelled=True) == pytest.approx(100.0)
    assert metrics.psp(Y, perfect, weights, k) == pytest.approx(100.0)
    for normalisation in ("xmc", "pyxclib"):
        value = metrics.psndcg(Y, perfect, weights, k, normalisation=normalisation)
        assert value == pytest.approx(100.0)
    value = metrics.coverage(Y, perfect, k, denominator="ideal", inverse_propensity=weights)
    assert value == pytest.approx(100.0)


@check
@given(problems, st.integers(1, 6))
def test_psp_with_equal_weights_is_share_of_best_precision(problem, k):
    Y, _, scores, stored = problem
    predictions = as_matrix(scores, stored)
    ceiling = np.minimum(Y.sum(axis=1), k).mean() / k
    if ceiling:
        psp = metrics.psp(Y, predictions, np.ones(Y.shape[1]), k)
        assert psp == pytest.approx(metrics.precision(Y, predictions, k) / ceiling)


@check
@given(problems)
def test_macro_precision_equals_oracle(problem):
    Y, train, scores, stored = problem
    tops = [oracle.ranking(*row, 2) for row in zip(scores, stored, strict=True)]
    edges = (0, 20, 50, 100)
    expected = oracle.macro_precision(Y.toarray(), tops, train.toarray(), edges)
    result = metrics.macro_precision(Y, as_matrix(scores, stored), train, k=2, edges=edges)
    assert result.n_labels.sum() == Y.shape[1]
    for b, pair in enumerate(expected):
        found = [result.precision[b], result.predicted[b]]
        wanted = [np.nan] * 2 if pair is None else 100 * np.array(pair)
        np.testing.assert_allclose(found, wanted)


def test_ties_go_to_smaller_id_and_zeros_are_scores():
    Y = np.array([[0, 0, 1, 0]])
    scores = sparse.csr_array(([0.0, 0.0, -1.0], [3, 2, 0], [0, 3]), shape=(1, 4))
    assert metrics.precision(Y, scores, 1) == 100.0
    assert metrics.precision(np.array([[0, 0, 0, 1]]), scores, 1) == 0.0
    # Label 1 has no score: it is not among the first four.
    assert metrics.recall(np.array([[0, 1, 0, 0]]), scores, 4) == 0.0


def test_label_lists_and_classes_are_truths():
    predictions = sparse.csr_array([[0.5, 0.2, 0.0], [0.0, 0.9, 0.1]])
    assert metrics.precision([[0, 2], [1]], predictions, 1) == 100.0
    assert metrics.precision(["a", "b"], np.array([[0], [0]]), 1) == 50.0


def test_unlabelled_points_count_unless_dropped():
    Y, predictions = np.array([[1, 0], [0, 0]]), np.array([[0], [0]])
    assert metrics.precision(Y, predictions) == 50.0
    assert metrics.precision(Y, predictions, drop_unlabelled=True) == 100.0
    assert metrics.evaluate(Y, predictions, k=(1,), drop_unlabelled=True)["P@1"] == 100.0
    with pytest.raises(ValueError, match="Y_true must have at least one labelled point, got 0"):
        metrics.precision(Y[1:], predictions[1:], drop_unlabelled=True)
    with pytest.raises(ValueError, match="Y_true must have at least one point, got 0"):
        metrics.precision(Y[:0], predictions[:0])


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (np.array([[0, 0], [1, 2]]), "not repeat a label in a row, got label 0 twice in row 0"),
        (np.array([[0, 3], [1, 2]]), r"label ids in \[-1, 3\), got 3"),
        (np.array([[0, -2], [1, 2]]), r"label ids in \[-1, 3\), got -2"),
        (np.array([[0.5, 1.0], [1, 2]]), "a sparse matrix of scores or a 2-D array of label ids"),
        (np.array([0, 1]), "got 1-D of int64"),
        (np.array([[0]]), "X has 1 points, Y has 2"),
        (sparse.csr_array([[1.0, np.nan, 0.0], [1.0, 0.0, 0.0]]), "finite scores, got nan"),
        (sparse.csr_array([[1.0, 0.0], [1.0, 0.0]]), "must have the 3 labels of Y_true, got 2"),
    ],
)
def test_bad_predictions_are_refused(predictions, message):
    with pytest.raises(ValueError, match=message):
        metrics.precision(np.array([[1, 0, 1], [0, 1, 0]]), predictions, 2)


PAIR, TOP = np.eye(2), np.array([[0], [1]])


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (lambda: metrics.precision(PAIR, TOP, 0), "k must be an int >= 1, got 0"),
        (lambda: metrics.evaluate(PAIR, TOP, k=(True,)), "k must be an int >= 1, got True"),
        (lambda: metrics.evaluate(PAIR, TOP, k=()), "k must have at least one number"),
        (lambda: metrics.evaluate(PAIR, TOP, normalisation="x"),
         "normalisation must be one of 'xmc', 'pyxclib', got 'x'"),
        (lambda: metrics.evaluate(PAIR, TOP, denominator="ideal"),
         "denominator 'ideal' requires train_labels, got None"),
        (lambda: metrics.coverage(PAIR, TOP, denominator="ideal"),
         "denominator 'ideal' requires inverse_propensity"),
        (lambda: metrics.evaluate(PAIR, TOP, np.eye(3), k=(1,)),
         "train_labels must have the 2 labels of Y_true, got 3"),
        (lambda: metrics.psp(PAIR, TOP, np.ones(3)), r"for each of 2 labels, got shape \(3,\)"),
        (lambda: metrics.psp(PAIR, TOP, np.zeros(2)), "finite and > 0, got 0"),
        (lambda: metrics.macro_precision(PAIR, TOP, PAIR, edges=(0, 50, 50)),
         "edges must be increasing ints"),
        (lambda: metrics.macro_precision(PAIR, TOP, PAIR, edges=(0, 150)),
         "at least two percentages"),
        (lambda: metrics.inverse_propensity(PAIR, A=-1), "A must be a finite number >= 0, got -1"),
        (lambda: metrics.inverse_propensity(PAIR, B=np.nan),
         "B must be a finite number >= 0, got nan"),
        (lambda: metrics.inverse_propensity(np.array([[1, 0]]), B=0),
         "B must be > 0 if a label has no training points"),
        (lambda: metrics.inverse_propensity(sparse.csr_array((0, 3))),
         "Y_train must have at least one point, got 0"),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(compute, message):
    with pytest.raises(ValueError, match=message):
        compute()


@pytest.fixture(scope="module")
def eurlex(data_folder):
    folder = data_folder / "fixtures"
    train, test = (read_labels(folder / f"eurlex_{part}_X_Y.txt") for part in ("trn", "tst"))
    return train, test, folder / "eurlex_inv_prop.txt"


def test_propensities_of_eurlex_are_published(eurlex):
    train, _, path = eurlex
    weights = metrics.inverse_propensity(train)
    assert train.shape[0] == 15539
    assert weights.min() == pytest.approx(1.319267, abs=1e-6)
    assert weights.max() == pytest.approx(12.457466, abs=1e-6)
    shipped = np.array(path.read_text().split(), dtype=float)
    np.testing.assert_allclose(weights, shipped, atol=6e-4)


def test_metrics_of_frequent_labels_of_eurlex(eurlex):
    train, test, _ = eurlex
    frequency = np.bincount(train.indices, minlength=train.shape[1])
    most = np.argsort(-frequency, kind="stable")[:5]
    assert most.tolist() == [3, 342, 272, 499, 617]
    predictions = np.tile(most, (test.shape[0], 1))
    values = metrics.evaluate(test, predictions, train)
    expected = {
        "P@1": 6.4846, "R@1": 1.2597, "nDCG@1": 6.4846, "PSP@1": 1.7419, "PSnDCG@1": 1.7419,
        "P@3": 5.7408, "R@3": 3.0861, "nDCG@3": 5.9471, "PSP@3": 2.1589, "PSnDCG@3": 2.0536,
        "P@5": 5.3767, "R@5": 4.9661, "nDCG@5": 5.8143, "PSP@5": 2.5917, "PSnDCG@5": 2.3256,
    }  # fmt: skip
    found = {name: values[name] for name in expected}
    assert found == pytest.approx(expected, abs=6e-5)
    other = metrics.evaluate(test, predictions, train, normalisation="pyxclib")
    assert other["PSnDCG@3"] == pytest.approx(2.0453, abs=6e-5)
    assert other["PSnDCG@5"] == pytest.approx(2.2867, abs=6e-5)


def test_best_possible_metrics_of_eurlex(eurlex):
    _, test, _ = eurlex
    values = metrics.evaluate(test, test)
    ceiling = [values[f"P@{k}"] for k in (1, 3, 5)]
    assert ceiling == pytest.approx([99.842, 99.081, 92.728], abs=6e-4)
