import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from defrag import _native
from defrag._native import Loss, SolverOptions
from defrag._validation import canonical_csr
from tests.helpers.bits import bits
from tests.oracles.solver import minimum

LOSSES = ["squared_hinge", "logistic"]

# The problem of LIBLINEAR, solved until nothing moves any more.
TIGHT = SolverOptions(
    bias=1.0, offset=False, max_passes=5000, tolerance=1e-4, skip=0.0, threshold=0.0, measure=True
)


def random_problem(seed, *, n_rows=60, n_features=25, n_labels=21, density=0.3):
    draw = np.random.default_rng(seed)
    dense = draw.normal(size=(n_rows, n_features)) * (draw.random((n_rows, n_features)) < density)
    labels = draw.random((n_rows, n_labels)) < draw.uniform(0.02, 0.6, size=n_labels)
    return canonical_csr(dense, name="X"), canonical_csr(labels.astype(np.float32), name="Y")


def rare_problem(share):
    """Return many sparse points, of which a small share has each label."""
    draw = np.random.default_rng(0)
    X = canonical_csr((draw.random((600, 200)) < 0.04) / np.sqrt(8), name="X")
    return X, canonical_csr((draw.random((600, 32)) < share).astype(np.float32), name="Y")


def solve(X, Y, options=TIGHT, **more):
    X, Y = (
        one if sparse.issparse(one) else canonical_csr(np.asarray(one), name="matrix")
        for one in (X, Y)
    )
    return _native.solve_blocks(X, sparse.csr_array(Y.T), options, **{"n_threads": 1, **more})


WEIGHTS = [None, np.random.default_rng(9).uniform(0.1, 5.0, 60).astype(np.float32)]


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("bias", "offset"), [(1.0, False), (0.3, True)])
def test_solver_reaches_the_optimum_of_every_label(loss, bias, offset):
    X, Y = random_problem(0)
    dense = Y.toarray() > 0
    problem = {"loss": loss, "bias": bias, "offset": offset}
    found = [minimum(X.toarray(), positive, **problem) for positive in dense.T]
    best, weights, intercepts = map(np.array, zip(*found, strict=True))
    ways = ((0.0, 0, 0), (0.1, 0, 0), (np.inf, 0, 0), (-0.01, 3, 0), (0.0, 1, 0), (0.05, 0, 1))
    for shrink, restore, settle in ways:
        options = TIGHT.replace(loss=Loss[loss], bias=bias, offset=offset, shrink=shrink)
        solution = solve(X, Y, options.replace(restore=restore, settle=settle))
        assert solution.converged.all()
        np.testing.assert_allclose(solution.primal, best, rtol=1e-4)
        assert (solution.dual <= best * (1 + 1e-5) + 1e-6).all()
        np.testing.assert_allclose(solution.weights.toarray(), weights.T, atol=2e-3)
        np.testing.assert_allclose(solution.bias, intercepts, atol=2e-3)


def test_rows_that_become_active_again_are_learnt():
    """In few passes, rows that were left out too early cost more than those that return."""
    X, Y = rare_problem(0.005)
    few = TIGHT.replace(bias=0.3, offset=True, max_passes=8, tolerance=0.0, shrink=-0.01)
    without = solve(X, Y, few)
    returned = solve(X, Y, few.replace(restore=4))
    assert returned.primal.sum() < without.primal.sum()
    assert bits(solve(X, Y, few.replace(restore=8))) == bits(without)  # after the last pass
    assert bits(solve(X, Y, few.replace(restore=7))) != bits(without)
    gap = 1 - returned.dual.sum() / returned.primal.sum()
    assert gap < 0.5 * (1 - without.dual.sum() / without.primal.sum())


def test_settled_rows_are_skipped_at_little_cost():
    X, Y = rare_problem(0.05)
    few = TIGHT.replace(bias=0.3, offset=True, max_passes=8, tolerance=0.0, shrink=0.05, skip=0.03)
    every_row = solve(X, Y, few)
    assert bits(solve(X, Y, few.replace(settle=8))) == bits(every_row)
    # From the pass before the last one on, as rows that leave are missing in the next.
    assert bits(solve(X, Y, few.replace(settle=6))) != bits(every_row)
    settled = solve(X, Y, few.replace(settle=3))
    assert bits(settled) != bits(every_row)
    np.testing.assert_allclose(settled.primal, every_row.primal, rtol=1e-2)
    assert settled.primal.sum() < 1.002 * every_row.primal.sum()


@pytest.mark.parametrize("loss", LOSSES)
def test_label_alone_is_solved_as_sixteen_equal_ones(loss):
    X, Y = random_problem(0, n_labels=1, n_rows=300)
    options = SolverOptions(loss=Loss[loss], skip=0.03, cost=12.0)  # not every row moves
    alone, equal = (solve(X, sparse.csr_array(np.tile(Y.toarray(), n)), options) for n in (1, 16))
    assert alone.bias[0] == equal.bias[0]
    np.testing.assert_array_equal(alone.weights.toarray()[:, 0], equal.weights.toarray()[:, 0])


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 30),
    n_features=st.integers(1, 12),
    n_labels=st.integers(1, 35),
    cost=st.sampled_from([0.01, 0.5, 1.0, 12.0]),
    loss=st.sampled_from(LOSSES),
)
def test_duality_gap_closes(*, seed, n_rows, n_features, n_labels, cost, loss):
    X, Y = random_problem(seed, n_rows=n_rows, n_features=n_features, n_labels=n_labels)
    solution = solve(X, Y, TIGHT.replace(cost=cost, loss=Loss[loss]))
    assert solution.converged.all()
    gap = solution.primal - solution.dual
    assert np.all(gap <= 1e-3 * np.maximum(1.0, solution.primal))
    assert np.all(gap >= -1e-4 * np.maximum(1.0, solution.primal))


@pytest.mark.parametrize("weights", WEIGHTS, ids=["no weights", "weights"])
@pytest.mark.parametrize(
    ("options", "peer", "atol"),
    [
        (TIGHT, LinearSVC(tol=1e-8, max_iter=100000, fit_intercept=False, dual=True), 1e-3),
        pytest.param(
            TIGHT.replace(loss=Loss.logistic, cost=3.0),
            LogisticRegression(C=3.0, tol=1e-10, fit_intercept=False, max_iter=10000),
            2e-3,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["LinearSVC", "LogisticRegression"],
)
def test_solution_agrees_with_scikit_learn(options, peer, atol, weights):
    X, Y = random_problem(3, n_labels=5)
    solution = solve(X, Y, options, weights=weights)
    with_bias = np.hstack([X.toarray(), np.ones((X.shape[0], 1))])
    for label in range(5):
        peer.fit(with_bias, Y.toarray()[:, label], sample_weight=weights)
        found = np.append(solution.weights.toarray()[:, label], solution.bias[label])
        np.testing.assert_allclose(found, peer.coef_[0], atol=atol)


@pytest.mark.parametrize("loss", LOSSES)
def test_row_of_weight_n_counts_as_n_rows(loss):
    X, Y = random_problem(7, n_labels=5)
    counts = np.random.default_rng(0).integers(1, 4, 60)
    options = TIGHT.replace(loss=Loss[loss], bias=0.3, offset=True)
    weighted = solve(X, Y, options, weights=counts.astype(np.float32))
    rows = np.repeat(np.arange(60), counts)
    repeated = solve(X[rows], Y[rows], options)
    np.testing.assert_allclose(weighted.primal, repeated.primal, rtol=1e-4)
    np.testing.assert_allclose(weighted.dual, repeated.dual, rtol=1e-4)
    np.testing.assert_allclose(weighted.weights.toarray(), repeated.weights.toarray(), atol=3e-3)
    ones = np.ones(60, dtype=np.float32)
    assert bits(solve(X, Y, options, weights=ones)) == bits(solve(X, Y, options))
    with pytest.raises(ValueError, match="weights must have one item per row of X"):
        solve(X, Y, options, weights=ones[1:])


def test_seed_changes_the_solution():
    X, Y = random_problem(7)
    one, two = (solve(X, Y, SolverOptions(threshold=0.0, seed=seed)) for seed in (1, 2))
    assert bits(one) != bits(two)


@pytest.mark.parametrize("cost", [1.0, 2.0])
def test_hand_computed_solution_of_one_point(cost):
    # 0.5 w^2 + cost (1 - w)^2 is smallest at w = 2 cost / (1 + 2 cost).
    solution = solve([[1.0]], [[1.0, 0.0]], TIGHT.replace(bias=0.0, cost=cost))
    w = 2 * cost / (1 + 2 * cost)
    np.testing.assert_allclose(solution.weights.toarray(), [[w, -w]], atol=1e-6)
    assert solution.bias.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("loss", LOSSES)
def test_labels_with_all_or_no_positives_are_solved(loss):
    X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    solution = solve(X, [[1, 0], [1, 0], [1, 0]], TIGHT.replace(loss=Loss[loss]))
    scores = np.asarray(X) @ solution.weights.toarray() + solution.bias
    assert np.all(scores[:, 0] > 0)
    np.testing.assert_allclose(scores[:, 1], -scores[:, 0], atol=1e-5)


def test_offset_alone_solves_labels_with_all_or_no_positives():
    solution = solve([[1.0], [2.0]], [[1, 0], [1, 0]], SolverOptions(threshold=0.0))
    assert solution.weights.nnz == 0
    assert solution.bias.tolist() == [1.0, -1.0]


def test_duplicate_points_equal_twice_the_cost():
    X, Y = random_problem(8, n_rows=20)
    rows = np.tile(np.arange(20), 2)
    twice = solve(X[rows], Y[rows])
    dear = solve(X, Y, TIGHT.replace(cost=2.0))
    np.testing.assert_allclose(twice.weights.toarray(), dear.weights.toarray(), atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_zero_cost_gives_no_weights(loss):
    X, Y = random_problem(9)
    solution = solve(X, Y, TIGHT.replace(cost=1e-7, loss=Loss[loss]))
    assert np.abs(solution.weights.toarray()).max() < 1e-4


def test_empty_rows_and_missing_features_are_solved():
    X = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    solution = solve(X, [[1.0], [0.0], [1.0]])
    best, weights, _ = minimum(X, np.array([True, False, True]))
    assert solution.primal[0] == pytest.approx(best, rel=1e-5)
    np.testing.assert_allclose(solution.weights.toarray()[:, 0], weights, atol=1e-3)


@pytest.mark.parametrize("shape", [(0, 3, 2), (4, 0, 2), (4, 3, 0)])
def test_no_labels_give_no_weights(shape):
    n_rows, n_features, n_labels = shape
    X = sparse.csr_array((n_rows, n_features), dtype=np.float32)
    Y = sparse.csr_array((n_rows, n_labels), dtype=np.float32)
    solution = solve(X, Y, SolverOptions(), n_threads=2)
    assert solution.weights.shape == (n_features, n_labels)
    assert solution.weights.nnz == 0
    assert solution.bias.shape == (n_labels,)


def test_small_weights_are_dropped_and_the_bias_is_kept():
    X, Y = random_problem(10)
    full = solve(X, Y, SolverOptions(threshold=0.0)).weights.toarray()
    pruned = solve(X, Y, SolverOptions(threshold=0.2))
    expected = np.where(np.abs(full) > np.float32(0.2), full, 0.0)
    np.testing.assert_array_equal(pruned.weights.toarray(), expected)
    huge = solve(X, Y, SolverOptions(threshold=1e9))
    assert huge.weights.nnz == 0
    np.testing.assert_array_equal(huge.bias, pruned.bias)


def test_report_says_when_passes_ran_out():
    X, Y = random_problem(11)
    solution = solve(X, Y, TIGHT.replace(max_passes=1, cost=100.0))
    assert not solution.converged.any()
    assert np.all(solution.passes == 1)
    assert np.all(solution.violation > 0)


def test_zero_tolerance_or_partial_pass_does_not_converge():
    X, Y = random_problem(11)
    assert not solve(X, Y, TIGHT.replace(tolerance=0.0, max_passes=50)).converged.any()
    settled = solve(X, Y, TIGHT)
    for max_passes in range(1, settled.passes.max() + 1):
        found = solve(X, Y, TIGHT.replace(max_passes=max_passes))
        done = found.converged
        # What is called done is as good as it gets; violations seen on few rows prove nothing.
        np.testing.assert_allclose(found.primal[done], settled.primal[done], rtol=1e-4)
        assert (found.violation[done] <= TIGHT.tolerance).all()


def test_pass_over_positives_alone_does_not_converge():
    X, Y = random_problem(11, n_labels=3)
    Y = Y.toarray() * (np.arange(60) < 20)[:, None]  # so few have a label that these come first
    for max_passes in (1, 2):
        found = solve(X, Y, TIGHT.replace(tolerance=1e9, max_passes=max_passes))
        assert (found.passes == max_passes).all()
        assert (found.converged == (max_passes == 2)).all()


def test_solved_label_is_not_converged_without_tolerance():
    X, Y = random_problem(11, n_labels=1)
    nothing = sparse.csr_array(Y.shape, dtype=np.float32)
    options = TIGHT.replace(offset=True, max_passes=3)
    assert solve(X, nothing, options).violation.tolist() == [0.0]
    assert solve(X, nothing, options).converged.all()
    assert not solve(X, nothing, options.replace(tolerance=0.0)).converged.any()


def test_solver_runs_until_every_label_is_done():
    X, Y = random_problem(11)
    Y = np.append(Y.toarray(), np.zeros((60, 1)), axis=1)
    assert solve(X, Y, TIGHT.replace(offset=True)).converged.all()


def test_unknown_names_and_values_are_refused():
    for make, options in (
        (SolverOptions, {"loss": "logistic"}),
        (SolverOptions, {"losses": Loss.logistic}),
        (TIGHT.replace, {"cots": 2.0}),
    ):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            make(**options)
    with pytest.raises(KeyError, match="l1"):
        Loss["l1"]


def test_options_are_replaced_in_a_copy():
    changed = TIGHT.replace(cost=2.0, loss=Loss.logistic)
    assert (changed.cost, changed.loss, changed.tolerance) == (2.0, Loss.logistic, TIGHT.tolerance)
    assert (TIGHT.cost, TIGHT.loss) == (1.0, Loss.squared_hinge)
    with pytest.raises(AttributeError, match="no setter"):
        changed.cost = 3.0


def test_progress_can_end_the_work():
    X, Y = random_problem(12, n_rows=2000, n_features=200, n_labels=400)

    def stop(_share):
        raise RuntimeError("enough")

    options = TIGHT.replace(tolerance=0.0, max_passes=50)
    with pytest.raises(RuntimeError, match="enough"):
        solve(X, Y, options, n_threads=2, progress=stop)
