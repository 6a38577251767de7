from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from defrag.agglomeration import certificate as _tied
from defrag.agglomeration.certificate import (
    Certificate,
    certificate,
    label_certificate,
    lipschitz,
    tie_weights,
    untie,
)
from tests.oracles import certificate as oracle

LEVELS = ("residual", "spectral", "frobenius")


def random_problem(seed, *, n_rows=25, n_features=13, n_clusters=4, n_labels=3, dropped=True):
    """Signed sparse points with a few empty rows and columns, and groups of any size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.4)
    X = X.astype(np.float32).astype(np.float64)
    labels = rng.integers(-1 if dropped else 0, n_clusters, size=n_features)
    W = rng.normal(size=(n_features, n_labels)) * (rng.random((n_features, n_labels)) < 0.7)
    return X, labels, W, n_clusters


problems = st.builds(
    random_problem,
    st.integers(0, 10_000),
    n_rows=st.integers(1, 30),
    n_features=st.integers(1, 20),
    n_clusters=st.integers(1, 6),
    n_labels=st.integers(1, 4),
    dropped=st.booleans(),
)
check = settings(max_examples=60, derandomize=True, deadline=None)


def certificates(X, labels, W, tied):
    """Return the certificates of all levels, after checking that each bound holds the next."""
    results = [certificate(X, labels, W, tied=tied, level=level) for level in LEVELS]
    chain = [results[0].change, *(result.bound for result in results)]
    for smaller, larger in pairwise(chain):
        assert np.all(smaller <= larger + 1e-6)
    return results


def test_two_features_by_hand():
    # Columns (1, 0) and (1, 2), weights 1 and 3: scores 4 and 6. The sum is (2, 2), the
    # tied weight (4 * 2 + 6 * 2) / 8 = 2.5, the new scores 5 and 5: off by -1 and 1.
    X, labels, w = [[1.0, 1.0], [0.0, 2.0]], [0, 0], [1.0, 3.0]
    np.testing.assert_allclose(tie_weights(X, labels, w), [2.5])
    np.testing.assert_allclose(tie_weights(X, labels, w, "mean"), [2.0])
    result = certificate(X, labels, w)
    np.testing.assert_allclose([result.change[0], result.worst[0]], [np.sqrt(2), 1.0])
    np.testing.assert_allclose(result.bound, [np.sqrt(2)])
    # The columns less their mean (1, 1) are (0, -1) and (0, 1), the weights -1 and 1.
    for level in ("spectral", "frobenius"):
        np.testing.assert_allclose(certificate(X, labels, w, level=level).bound, [2.0])


@pytest.mark.slow
@check
@given(problems)
def test_chain_of_tied_holds_and_equals_oracle(problem):
    X, labels, W, n_clusters = problem
    for method in ("cluster_ls", "mean"):
        tied = tie_weights(X, labels, W, method, n_clusters=n_clusters)
        results = certificates(X, labels, W, tied)
        for label in range(W.shape[1]):
            w, t = W[:, label], tied[:, label]
            np.testing.assert_allclose(t, oracle.tie(X, labels, w, n_clusters, method), atol=1e-9)
            scores = oracle.change(X, labels, w, t)
            np.testing.assert_allclose(results[0].change[label], np.linalg.norm(scores), atol=1e-9)
            np.testing.assert_allclose(results[0].worst[label], np.abs(scores).max(), atol=1e-9)
            bounds = [oracle.bound(X, labels, w, t, level) for level in LEVELS]
            np.testing.assert_allclose([r.bound[label] for r in results], bounds, atol=1e-6)


@check
@given(problems, st.integers(0, 10_000))
def test_any_tied_weights_are_certified(problem, seed):
    X, labels, W, n_clusters = problem
    certificates(X, labels, W, np.random.default_rng(seed).normal(size=(n_clusters, W.shape[1])))


@pytest.mark.slow
@check
@given(problems)
def test_joint_least_squares_changes_least(problem):
    X, labels, W, n_clusters = problem
    change = {}
    for method in ("mean", "cluster_ls", "joint_ls"):
        tied = tie_weights(X, labels, W, method, n_clusters=n_clusters)
        change[method] = certificate(X, labels, W, tied=tied).change
    best = [oracle.change(X, labels, w, oracle.tie(X, labels, w, n_clusters, "joint_ls"))
            for w in W.T]  # fmt: skip
    np.testing.assert_allclose(change["joint_ls"], np.linalg.norm(best, axis=1), atol=1e-7)
    assert np.all(change["joint_ls"] <= change["cluster_ls"] + 1e-9)
    assert np.all(change["joint_ls"] <= change["mean"] + 1e-9)


def test_least_squares_of_a_group_has_the_smaller_residual_but_not_always_the_smaller_change():
    X, labels, W, n_clusters = random_problem(7, n_rows=200, n_features=60, n_labels=40)
    by_method = {}
    for method in ("mean", "cluster_ls"):
        tied = tie_weights(X, labels, W, method, n_clusters=n_clusters)
        by_method[method] = certificate(X, labels, W, tied=tied)
    assert np.all(by_method["cluster_ls"].bound <= by_method["mean"].bound + 1e-9)
    smaller = by_method["cluster_ls"].change < by_method["mean"].change
    assert 0 < smaller.sum() < len(smaller)


@pytest.mark.parametrize("level", LEVELS)
def test_weights_constant_inside_groups_lose_nothing(level):
    X, labels, _, n_clusters = random_problem(3, dropped=False)
    tied = np.random.default_rng(0).normal(size=(n_clusters, 2))
    for method in ("cluster_ls", "mean", "joint_ls"):
        again = tie_weights(X, labels, untie(tied, labels), method, n_clusters=n_clusters)
        result = certificate(X, labels, untie(tied, labels), tied=again, level=level)
        np.testing.assert_allclose(result.change, 0.0, atol=1e-8)
        np.testing.assert_allclose(result.bound, 0.0, atol=1e-6)


@pytest.mark.parametrize("level", LEVELS)
def test_equal_features_lose_nothing_whatever_their_weights(level):
    block = np.random.default_rng(5).normal(size=(30, 4)).astype(np.float32)
    W = np.random.default_rng(6).normal(size=(12, 5))
    labels = np.repeat(np.arange(4), 3)
    result = certificate(np.repeat(block, 3, axis=1), labels, W, level=level)
    np.testing.assert_allclose(result.change, 0.0, atol=1e-12)
    np.testing.assert_allclose(result.bound, 0.0, atol=1e-5)


def test_a_dropped_feature_counts_in_full():
    X = np.array([[3.0, 1.0], [4.0, 1.0]])
    for level in LEVELS:
        result = certificate(X, [-1, 0], [2.0, 5.0], level=level)
        np.testing.assert_allclose([result.change[0], result.bound[0]], [10.0, 10.0])
        assert result.worst[0] == pytest.approx(8.0)
    np.testing.assert_allclose(tie_weights(X, [-1, 0], [2.0, 5.0]), [5.0])


@check
@given(problems, st.sampled_from(LEVELS))
def test_labels_are_certified_as_points_that_are_sums(problem, level):
    X, labels, W, _ = problem
    Y = (np.random.default_rng(1).random((X.shape[0], 5)) < 0.3).astype(np.float32)
    found = label_certificate(sparse.csr_array(X), Y, labels, W, level=level)
    wanted = certificate(Y.T @ X, labels, W, level=level)
    np.testing.assert_allclose(found.change, wanted.change, atol=1e-4)
    np.testing.assert_allclose(found.bound, wanted.bound, atol=1e-3)


@pytest.mark.parametrize("method", ["cluster_ls", "mean", "joint_ls"])
@pytest.mark.parametrize("block", [1, 64, 2**22])
def test_forms_of_weights_and_block_sizes_agree(method, block, monkeypatch):
    X, labels, W, n_clusters = random_problem(11, n_labels=7)
    expected = tie_weights(X, labels, W, method, n_clusters=n_clusters)
    reference = certificate(X, labels, W, tied=expected)
    monkeypatch.setattr(_tied, "BLOCK", block)
    for form in (W, sparse.csr_array(W), sparse.coo_matrix(W), sparse.csc_array(W)):
        tied = tie_weights(sparse.csr_array(X), labels, form, method, n_clusters=n_clusters)
        assert sparse.issparse(tied) == sparse.issparse(form)
        dense = tied.toarray() if sparse.issparse(tied) else tied
        np.testing.assert_allclose(dense, expected, atol=1e-12)
        result = certificate(X, labels, form, tied=tied)
        for name in ("change", "worst", "bound"):
            found, wanted = getattr(result, name), getattr(reference, name)
            np.testing.assert_allclose(found, wanted, atol=1e-12)
    one = tie_weights(X, labels, W[:, 2], method, n_clusters=n_clusters)
    assert one.shape == (n_clusters,)
    np.testing.assert_allclose(one, expected[:, 2], atol=1e-9)
    spread = untie(sparse.csr_array(expected), labels).toarray()
    np.testing.assert_allclose(spread, untie(expected, labels))


def test_large_groups_use_the_frobenius_norm_for_the_spectral(monkeypatch):
    X, labels, W, _ = random_problem(2, dropped=False)
    published = certificate(X, labels, W, level="frobenius").bound
    assert np.all(certificate(X, labels, W, level="spectral").bound < published)
    monkeypatch.setattr(_tied, "_LARGEST_SPECTRAL", 0)
    np.testing.assert_allclose(certificate(X, labels, W, level="spectral").bound, published)


def test_unconverged_least_squares_warn_and_are_no_worse(monkeypatch):
    X, labels, W, n_clusters = random_problem(4, n_rows=60, n_features=40, n_clusters=8)
    monkeypatch.setattr(_tied, "_MAX_ITERATIONS", 1)
    with pytest.warns(ConvergenceWarning, match="joint_ls did not converge for 3 labels after 1"):
        tied = tie_weights(X, labels, W, "joint_ls", n_clusters=n_clusters)
    start = certificate(X, labels, W).change
    assert np.all(certificate(X, labels, W, tied=tied).change <= start)


def test_empty_data_have_certificates():
    empty = certificate(np.zeros((0, 3)), [0, 0, 1], np.ones((3, 2)))
    np.testing.assert_array_equal(empty.change, [0.0, 0.0])
    no_labels = certificate(np.ones((2, 3)), [0, 0, 1], np.ones((3, 0)), level="spectral")
    assert no_labels.bound.shape == (0,)
    all_dropped = certificate(np.ones((4, 2)), [-1, -1], [1.0, 1.0])
    np.testing.assert_allclose([all_dropped.change[0], all_dropped.bound[0]], [4.0, 4.0])
    assert tie_weights(np.ones((4, 2)), [-1, -1], [1.0, 1.0]).shape == (0,)


def test_tied_of_losses_follow_their_lipschitz_constants():
    result = Certificate("residual", np.array([1.0]), np.array([1.0]), np.array([3.0]))
    assert result.loss_bound("logistic")[0] == pytest.approx(3.0)
    assert result.loss_bound("squared_hinge", 2.0)[0] == pytest.approx(18.0)
    assert lipschitz("exponential", 1.0) == pytest.approx(np.e)
    with pytest.raises(ValueError, match="score_bound must be a finite number >= 0 for the exp"):
        lipschitz("exponential")
    with pytest.raises(ValueError, match="loss must be 'hinge'"):
        lipschitz("square")


@pytest.mark.parametrize(
    ("labels", "W", "options", "message"),
    [
        ([0, 0], [1.0, 1.0, 1.0], {}, "W must have one row for each of the 2 features of X, got 3"),
        ([0], [1.0, 1.0], {}, "groups must have one group for each feature: 2, got 1"),
        ([0, -2], [1.0, 1.0], {}, "or -1 to drop, got -2"),
        ([0.0, 1.0], [1.0, 1.0], {}, "groups must be a 1-D array of ints, got 1-D of float64"),
        ([0, 1], [1.0, np.nan], {}, "W contains NaN"),
        ([0, 0], [1.0, 1.0], {"level": "paper"}, "level must be 'residual', 'spectral' or 'frob"),
        ([0, 0], np.ones((2, 2)), {"tied": np.ones((1, 3))}, r"^tied must .*: \(2,\), got \(3,\)"),
        ([0, 1], np.ones((2, 2)), {"tied": np.ones((1, 2))}, r"^groups must .* \(1\), got 1"),
    ],
)
def test_bad_input_is_refused(labels, W, options, message):
    with pytest.raises(ValueError, match=message):
        certificate(np.ones((2, 2)), labels, W, **options)
    with pytest.raises(ValueError, match="method must be 'cluster_ls'"):
        tie_weights(np.ones((2, 2)), [0, 0], [1.0, 1.0], "median")
