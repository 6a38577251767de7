import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import metrics
from defrag._validation import check_matrix
from defrag.io import read_groups, read_xmc
from defrag.metrics import clustering
from tests.oracles import metrics as oracle

MARGINALS = {"joint": "MI", "paper": "MI_paper"}


def informations(X, Y, labels, marginals="joint"):
    """Return the mutual information of features and of groups, also if all are dropped."""
    X, Y = check_matrix(X, name="X"), check_matrix(Y, name="Y")
    labels = np.asarray(labels, dtype=np.int32)
    return clustering.informations(X, Y, labels, int(labels.max()) + 1)[MARGINALS[marginals]]


def lost(X, Y, labels, marginals="joint"):
    return clustering.lost_share(*informations(X, Y, labels, marginals))


check = settings(max_examples=60, derandomize=True, deadline=None)


def random_problem(seed, *, n_rows, n_features, n_labels, n_clusters, dropped):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.4)
    X = X.astype(np.float32).astype(np.float64)
    Y = (rng.random((n_rows, n_labels)) < 0.3).astype(np.float64)
    labels = rng.integers(-1 if dropped else 0, n_clusters, size=n_features)
    return X, Y, labels


def problems(dropped):
    return st.builds(
        random_problem,
        st.integers(0, 10_000),
        n_rows=st.integers(1, 20),
        n_features=st.integers(1, 15),
        n_labels=st.integers(2, 6),
        n_clusters=st.integers(1, 6),
        dropped=st.just(dropped),
    )


@check
@given(problems(dropped=True), st.sampled_from([*MARGINALS]), st.sampled_from([1, 7, 2**22]))
def test_information_equals_oracle_for_any_block_size(problem, marginals, products):
    X, Y, labels = problem
    n_clusters = max(0, labels.max() + 1)
    before = oracle.information(X, Y, marginals)
    after = oracle.information(oracle.pool(X, labels, n_clusters), Y, marginals)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering, "_MAX_PRODUCTS", products)
        assert informations(X, Y, labels, marginals)[0] == pytest.approx(before, abs=1e-9)
        loss = lost(sparse.csr_array(X), Y, labels, marginals)
    expected = (before - after) / before if before > 1e-9 else None
    if expected is not None:
        assert loss == pytest.approx(expected, abs=1e-5)


@check
@given(problems(dropped=False), st.sampled_from([*MARGINALS]))
def test_merging_groups_never_lowers_loss(problem, marginals):
    X, Y, labels = problem
    if oracle.information(X, Y, marginals) < 1e-6:
        return
    merged = np.where(labels == labels.max(), 0, labels)
    fine = lost(X, Y, labels, marginals)
    coarse = lost(X, Y, merged, marginals)
    assert -1e-6 <= fine <= coarse + 1e-6
    assert coarse <= 1 + 1e-6


@check
@given(problems(dropped=False))
def test_loss_is_zero_for_single_features_and_one_for_one_group(problem):
    X, Y, labels = problem
    for marginals in MARGINALS:
        alone = np.arange(len(labels))
        loss = lost(X, Y, alone, marginals)
        assert loss == pytest.approx(0.0, abs=1e-12)
    if oracle.information(X, Y, "joint") > 1e-3:
        together = np.zeros(len(labels), dtype=int)
        assert lost(X, Y, together) == pytest.approx(1.0, abs=1e-9)


def test_no_information_is_no_loss():
    assert lost(np.zeros((3, 2)), np.eye(3), [0, 0]) == 0.0
    assert informations(np.zeros((3, 2)), np.eye(3), [0, 0]) == (0.0, 0.0)


def test_negative_features_are_refused():
    with pytest.raises(ValueError, match="X must be non-negative for mutual information, got -1"):
        metrics.evaluate_clustering([[-1.0, 1.0]], [[0]], [0, 0])


def test_balance_is_largest_over_smallest_group():
    assert metrics.balance([0, 0, 0, 1, 1, -1]) == pytest.approx(1.5)
    assert metrics.balance([0, 0, 2]) == math.inf
    assert metrics.balance([0, 1], n_clusters=3) == math.inf
    with pytest.raises(ValueError, match="groups must have at least one group, got 0"):
        metrics.balance([-1, -1])


def test_entropy_of_equal_groups_is_one():
    assert metrics.normalised_entropy(np.arange(24) % 6) == pytest.approx(1.0)
    assert metrics.normalised_entropy([0, 0, 0, 0]) == 1.0
    assert metrics.normalised_entropy([0, 0, 1, 1], n_clusters=4) == pytest.approx(0.5)
    # The paper's EURLex figures: 5,000 features in 512 groups of 9 or 10.
    labels = np.arange(5000) % 512
    assert metrics.normalised_entropy(labels) == pytest.approx(0.99985, abs=1e-5)
    assert metrics.normalised_entropy(labels, normaliser="d") == pytest.approx(0.732, abs=1e-3)
    assert metrics.balance(labels) == pytest.approx(10 / 9)
    with pytest.raises(ValueError, match="normaliser must be 'K' or 'd', got 'n'"):
        metrics.normalised_entropy(labels, normaliser="n")


@check
@given(problems(dropped=True))
def test_clustering_error_equals_oracle(problem):
    X, _, labels = problem
    found = clustering.group_errors(sparse.csr_array(X), labels.astype(np.int32), 6)
    np.testing.assert_allclose(found, oracle.clustering_errors(X, labels, 6), atol=1e-7)


@pytest.fixture(scope="module")
def bibtex(data_folder):
    folder = data_folder / "fixtures"
    X, Y = read_xmc(folder / "bibtex_trainX.txt", labels_path=folder / "bibtex_trainY.txt")
    return X, Y, read_groups(folder / "bibtex_group_official.txt", X.shape[1])


def test_official_groups_of_bibtex_have_published_values(bibtex):
    X, Y, labels = bibtex
    values = metrics.evaluate_clustering(X, Y, labels)
    assert values["n_clusters"] == 256
    assert values["n_dropped"] == 0
    assert values["balance"] == pytest.approx(8 / 7)
    # The reference figures come from a copy of the data with a few other rows.
    assert values["MI"] == pytest.approx(0.4372, abs=0.001)
    assert values["MI_paper"] == pytest.approx(0.4765, abs=0.001)
    assert values["LMI"] == pytest.approx(0.5355, abs=0.015)
    assert values["LMI_paper"] == pytest.approx(0.4972, abs=0.015)
    assert values["error"] == pytest.approx(7104, rel=0.01)
    lmi = lost(X, Y, labels)
    assert lmi == pytest.approx(values["LMI"])


def test_random_groups_of_bibtex_lose_more(bibtex):
    X, Y, labels = bibtex
    shuffled = np.random.default_rng(0).permutation(labels)
    assert lost(X, Y, shuffled) == pytest.approx(0.79, abs=0.015)
    loss = lost(X, Y, shuffled, "paper")
    assert loss == pytest.approx(0.74, abs=0.015)
    error = metrics.evaluate_clustering(X, Y, shuffled)["error"]
    assert error == pytest.approx(7998, rel=0.01)
