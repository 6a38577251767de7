"""Focus: the selection against its oracle, the pilot, and classifiers on focused points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import Focus, Focused, LabelTree, _native
from defrag.focusing import N_GROUPS, feature_importance, group_labels, redundancy
from defrag.persistence import describe
from tests.helpers.bits import bits
from tests.oracles import focus as oracle


def random_rows(seed, n_rows=30, n_features=25, density=0.4):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n_rows, n_features), density=density, rng=rng, format="csr")
    X.data = rng.integers(-3, 4, X.nnz).astype(np.float32)  # ties among entries
    X.eliminate_zeros()
    return X.astype(np.float32), rng


def make_data(n_points=200, n_features=40, n_labels=20, seed=0):
    rng = np.random.default_rng(seed)
    Y = sparse.csr_array((rng.random((n_points, n_labels)) < 0.1).astype(np.float32))
    signal = np.eye(n_labels, n_features, dtype=np.float32)
    noise = (rng.random((n_points, n_features)) < 0.5) * rng.random((n_points, n_features))
    return sparse.csr_array((Y @ signal + 0.5 * noise).astype(np.float32)), Y


X, Y = make_data()


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**31),
    st.sampled_from([0.0, 0.3, 1.0, 2.5, 100.0]),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.1, 10.0]),
)
def test_selection_equals_oracle(seed, budget, threads, spread):
    X, rng = random_rows(seed)
    X.data *= np.exp(spread * rng.standard_normal(X.nnz)).astype(np.float32)
    importance = rng.integers(0, 3, X.shape[1]).astype(np.float32)
    factor = rng.random(X.shape[1]).astype(np.float32) + np.float32(0.5)
    found = _native.focus_rows(X, importance, factor, budget=budget, n_threads=threads)
    wanted = oracle.focus_rows(X, importance, factor, budget)
    np.testing.assert_array_equal(found.toarray(), wanted.toarray())
    assert found.has_canonical_format


def test_budget_counts_entries():
    sizes = np.diff(X.indptr)
    for budget, wanted in (
        (1.5, np.minimum(sizes, np.ceil(1.5 * np.sqrt(sizes)))),
        (None, sizes),
        ("auto", np.minimum(sizes, np.ceil(5 * np.sqrt(sizes)))),
    ):
        kept = np.diff(Focus(budget, random_state=0).fit(X, Y).transform(X).indptr)
        np.testing.assert_array_equal(kept, wanted)


def test_auto_budget_follows_the_entries_of_features():
    assert 64 <= X.nnz / X.shape[1] < 128
    assert Focus(random_state=0).fit(X, Y).auto_budget_ == 5
    assert Focus(random_state=0).fit(X[:50], Y[:50]).auto_budget_ == 4


def test_repeated_features_share_a_budget(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random_array((2000, 2000), density=0.005, rng=rng, format="csr", dtype=np.float32)
    Y = sparse.csr_array((rng.random((2000, 20)) < 0.1).astype(np.float32))
    thrice = sparse.csr_array(sparse.hstack([X] * 3))
    one, many = (Focus(random_state=0).fit(rows, Y) for rows in (X, thrice))
    assert one.redundancy_ == pytest.approx(1.0, abs=0.05)
    assert one.auto_budget_ == 4
    assert many.redundancy_ == pytest.approx(3.0, rel=0.1)
    assert many.auto_budget_ == 10  # 60 entries of short rows, divided by the root of 30
    same = Focus(power=0.5 / many.redundancy_**2, random_state=0).fit(thrice, Y)
    assert same.factor_.tobytes() == many.factor_.tobytes()
    many.save(tmp_path / "a")
    chosen = {"focus.auto_budget": 10, "focus.redundancy": many.redundancy_}
    assert describe(tmp_path / "a")["chosen"] == chosen


@pytest.mark.parametrize("X", [np.ones((40, 3)), np.eye(40), np.eye(40)[:, :1], np.eye(1)])
def test_without_repetition_redundancy_is_one(X):
    assert redundancy(sparse.csr_array(X.astype(np.float32)), 0) == 1.0


def test_factors_are_powers_of_relative_importance():
    rows = X.copy()
    rows.data[X.indices == 39] = 0  # a feature that never occurs
    focus = Focus(None, power=2.0, random_state=0).fit(rows, Y)
    importance = focus.importance_.astype(float)
    assert importance[39] == 0
    relative = np.maximum(importance / np.median(importance[importance > 0]), 1e-3)
    np.testing.assert_allclose(focus.factor_, relative**2, rtol=1e-5)


def test_power_zero_leaves_values():
    rows = Focus(None, power=0.0, random_state=0).fit(X, Y).transform(X)
    assert (rows != X).nnz == 0


def test_values_beyond_float32_are_refused():
    rows = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 3e38]], dtype=np.float32))
    factor = np.float32([1.0, 2.0])
    with pytest.raises(ValueError, match=r"^row 1: feature 1 times its factor is more than a flo"):
        _native.focus_rows(rows, np.ones(2, np.float32), factor, budget=1.0, n_threads=1)


def test_groups_have_labels_of_every_frequency():
    Y = make_data(n_labels=50)[1]
    groups = group_labels(Y, seed=3)
    frequency = np.bincount(Y.indices, minlength=50)
    order = np.argsort(-frequency, kind="stable")
    for first in range(0, 48, N_GROUPS):
        assert sorted(groups[order[first : first + N_GROUPS]]) == list(range(N_GROUPS))
    assert len(set(groups[order[48:]])) == 2
    assert (group_labels(Y, seed=3) == groups).all()
    assert (group_labels(Y, seed=4) != groups).any()


def test_pilot_finds_discriminative_features():
    importance = feature_importance(X, Y, seed=0, n_threads=1)
    assert importance[:20].min() > importance[20:].max()


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(1, 60))
def test_pilot_against_its_oracle(seed, n_points, n_labels):
    X, rng = random_rows(seed, n_rows=n_points)
    Y = sparse.csr_array((rng.random((n_points, n_labels)) < 0.1).astype(np.float32))
    groups = rng.integers(0, N_GROUPS, n_labels).astype(np.int32)
    options = _native.SolverOptions(max_passes=2, shrink=0.05, skip=0.03, threshold=0.0, seed=7)
    points = None if seed % 2 else np.flatnonzero(rng.random(n_points) < 0.7)
    found = [
        _native.feature_importance(X, Y, groups, options, points=points, n_threads=n_threads)
        for n_threads in (1, 3)
    ]
    chosen = slice(None) if points is None else points
    expected = oracle.feature_importance(X[chosen], Y[chosen], groups, options)
    np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-7)
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.parametrize(
    ("groups", "points", "message"),
    [
        ([0, 16], [0], "groups must be at least 0 and below 16"),
        ([0, -1], [0], "groups must be at least 0 and below 16"),
        ([0], [0], "groups must have one entry per label"),
        ([0, 1], [3], "points must be rows of X"),
        ([0, 1], [-1], "points must be rows of X"),
    ],
)
def test_pilot_refuses_groups_and_points_that_do_not_exist(groups, points, message):
    X, Y = (sparse.csr_array(np.float32(one)) for one in (np.eye(3), np.ones((3, 2))))
    groups, points, options = np.int32(groups), np.int64(points), _native.SolverOptions()
    with pytest.raises(ValueError, match=message):
        _native.feature_importance(X, Y, groups, options, points=points, n_threads=1)


def test_pilot_of_many_entries_takes_evenly_spaced_points(monkeypatch):
    everything = Focus(random_state=0).fit(X, Y).importance_
    monkeypatch.setattr("defrag.focusing._MAX_ENTRIES", -(-X.nnz // 2))
    half = Focus(random_state=0).fit(X, Y)
    monkeypatch.undo()
    expected = Focus(random_state=0).fit(X[::2], Y[::2])
    assert half.importance_.tobytes() == expected.importance_.tobytes()
    assert half.auto_budget_ == expected.auto_budget_
    assert half.importance_.tobytes() != everything.tobytes()


def test_focused_is_its_parts():
    model = Focused(LabelTree(2), Focus(2.0), random_state=5).fit(X, Y)
    focus = Focus(2.0, random_state=5).fit(X, Y)
    base = LabelTree(2, random_state=5).fit(focus.transform(X), Y)
    assert bits(model.predict_topk(X)) == bits(base.predict_topk(focus.transform(X)))


def test_labels_are_required():
    with pytest.raises(ValueError, match="requires y to be passed"):
        Focus().fit(X, None)
