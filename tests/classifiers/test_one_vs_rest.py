"""One classifier per label: what it learns, and that batches cannot be seen."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from defrag import DiSMEC, load_dataset, metrics
from defrag.baselines import PPDSparse, ProXML
from defrag.classifiers.one_vs_rest import join_weights
from tests.data import make_data
from tests.helpers.bits import bits

X, Y = make_data(n=300, d=60, n_labels=70)  # the last three labels have no points


def test_two_labels_are_those_computed_by_hand():
    """Two words, one for each label, and a point without labels that has neither."""
    X = np.float32([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    model = DiSMEC("exact", C=100.0, weight_threshold=0.0, random_state=0).fit(X, [[0], [2], []])
    assert model.weights_.labels.tolist() == [0, 2]
    labels, scores = model.predict_topk(X, k=3)
    assert labels[:2].tolist() == [[0, 2, -1], [2, 0, -1]]
    assert sorted(labels[2]) == [-1, 0, 2]
    # Almost separable: margins close to 1 and -1, and of the point without labels to -1.
    margins = np.log(scores[:, :2] / (1 - scores[:, :2]))
    np.testing.assert_allclose(margins, [[1, -1], [1, -1], [-1, -1]], atol=0.15)
    np.testing.assert_array_equal(model.predict(X).toarray(), [[1, 0, 0], [0, 0, 1], [0, 0, 0]])


def test_the_objective_is_that_of_scikit_learn():
    """At convergence the problem is LIBLINEAR's, but for the bias, which is conditioned."""
    model = DiSMEC("exact", weight_threshold=0.0, random_state=0).fit(X, Y)
    rows = X.toarray()
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    flat = model.weights_
    W = sparse.csr_array((flat.weights, flat.outputs, flat.feature_ptr), (60, len(flat.labels)))
    margins = rows @ W.toarray() + flat.bias
    for output in range(0, len(flat.labels), 9):
        y = Y[:, [flat.labels[output]]].toarray().ravel()
        theirs = LinearSVC(tol=1e-6, max_iter=10_000).fit(rows, y)
        agreed = np.corrcoef(theirs.decision_function(rows), margins[:, output])[0, 1]
        assert agreed > 0.99


def test_labels_without_points_are_never_ranked():
    model = DiSMEC(random_state=0).fit(X, Y)
    labels, scores = model.predict_topk(X, k=70)
    assert labels[:, :67].max() == 66
    np.testing.assert_array_equal(labels[:, 67:], -1)
    np.testing.assert_array_equal(scores[:, 67:], 0)
    assert model.decision_function(X).nnz == 300 * 67


def test_points_without_labels_are_negatives():
    more = sparse.vstack([X, np.float32(np.eye(60)[:30])], format="csr")
    none = sparse.csr_array((30, 70), dtype=np.float32)
    model = DiSMEC(random_state=0)
    before = model.fit(X, Y).predict_topk(more[300:], k=1)[1].mean()
    after = model.fit(more, sparse.vstack([Y, none], format="csr")).predict_topk(more[300:], k=1)
    assert after[1].mean() < before


@pytest.mark.parametrize("kind", [DiSMEC, PPDSparse, ProXML])
@pytest.mark.parametrize("batch_size", [1, 16, 17, 48, 1000])
def test_the_size_of_batches_changes_nothing(batch_size, kind):
    found, wanted = kind(random_state=3, batch_size=batch_size), kind(random_state=3)
    assert bits(found.fit(X, Y).weights_) == bits(wanted.fit(X, Y).weights_)


def test_batches_join_as_by_hand():
    batches = [
        sparse.csr_array(np.float32([[0, 3], [2, 0], [-1, 0]])),
        sparse.csr_array(np.float32([[4], [5], [-2]])),
    ]
    joined = join_weights(np.int32([1, 4, 9]), batches)
    assert joined.feature_ptr.tolist() == [0, 2, 4]
    assert joined.outputs.tolist() == [1, 2, 0, 2]
    assert joined.weights.tolist() == [3, 4, 2, 5]
    assert joined.bias.tolist() == [-1, 0, -2]
    assert joined.outputs.dtype == np.uint16


def test_many_labels_have_wide_outputs():
    n = 2**16 + 1
    batch = sparse.csr_array((np.ones(2, np.float32), ([0, 1], [0, n - 1])), shape=(2, n))
    joined = join_weights(np.arange(n, dtype=np.int32), [batch])
    assert joined.outputs.dtype == np.int32
    assert joined.bias[-1] == 1


@pytest.mark.slow
@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize(
    ("kind", "floors"),
    [
        # Published: 82.4 to 83.2, 69.5 to 70.4, 57.9 to 58.7.
        (DiSMEC, (82.8, 69.9, 58.2)),
        # Published: 83.8, 70.7, 59.2.
        (PPDSparse, (83.2, 70.1, 58.6)),
        # Published: 83.4, 70.9, 59.1.
        (ProXML, (82.8, 70.3, 58.5)),
    ],
)
def test_precision_on_eurlex(kind, floors):
    """As published, over the test points that have labels: all but six."""
    data = load_dataset("eurlex-4k")
    model = kind(random_state=0, n_jobs=-1).fit(data.train.X, data.train.Y)
    labels, _ = model.predict_topk(data.test.X)
    for k, floor in zip((1, 3, 5), floors, strict=True):
        assert metrics.precision(data.test.Y, labels, k, drop_unlabelled=True) > floor
