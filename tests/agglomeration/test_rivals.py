"""The other clusterings of features: contract, invariants, and each against its slow twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from defrag import Agglomerated, Defrag, _native, load, metrics
from defrag._validation import canonical_csr
from defrag.baselines import BCLS, ITDC, LSC, SCBC, HashGroups, Parabel, RandomGroups, TopFeatures
from defrag.baselines.clusterings._base import start_clusters, sum_clusters
from defrag.baselines.clusterings.bcls import projection
from defrag.baselines.clusterings.itdc import (
    feature_information,
    lost_information,
    nearest_groups,
    start_by_label,
)
from defrag.baselines.clusterings.lsc import landmark_weights, spectral_rows
from defrag.baselines.clusterings.scbc import StableMatching, improve
from tests.helpers.model_drafts import inside, put, refuse
from tests.oracles.rivals import bcls_rounds, divergences, joint_information

ALL = [
    ITDC(),
    ITDC(start="label"),
    SCBC(),
    SCBC("xy", balance=1.0),
    LSC(),
    BCLS(max_iter=50),
    RandomGroups(),
    HashGroups(),
    TopFeatures(),
    TopFeatures("information"),
]


def some_points(seed, *, n=60, d=24, n_labels=9):
    """Counts whose columns fall off like a vocabulary's, and labels that go with columns."""
    draw = np.random.default_rng(seed)
    chance = np.minimum(1.0, 3.0 / np.arange(1, d + 1))
    X = draw.integers(1, 4, (n, d)) * (draw.random((n, d)) < chance)
    Y = (X[:, :n_labels] > 0) | (draw.random((n, n_labels)) < 0.1)
    return sparse.csr_array(X.astype(np.float32)), sparse.csr_array(Y.astype(np.float32))


def table(seed, *, d=12, n_labels=7):
    draw = np.random.default_rng(seed)
    counts = draw.integers(1, 9, (d, n_labels)) * (draw.random((d, n_labels)) < 0.5)
    counts[:, 0] += counts.sum(axis=1) == 0
    return canonical_csr(counts.astype(np.float32), name="joint")


def test_broken_file_is_refused(tmp_path):
    ITDC(n_clusters=5, random_state=0).fit(*some_points(1)).save(tmp_path / "a")
    for change, message in (
        (inside("state", objective=-1.0), "objective of itdc .* >= 0"),
        (lambda draft: draft.model["state"].pop("objective"), "'objective' is missing"),
        (inside("parameters", smoothing=0), "smoothing of itdc .* got 0"),
        (put("tree/order", np.arange(24, dtype=np.int32)), "'tree/order' is unknown to the kind"),
    ):
        refuse(tmp_path, (tmp_path / "a").read_bytes(), change, message)


@pytest.mark.parametrize("estimator", ALL, ids=str)
def test_unseen_feature_has_group(estimator):
    X, Y = some_points(2)
    X = sparse.csr_array(sparse.hstack([X, np.zeros((60, 6))]))
    labels = clone(estimator).set_params(n_clusters=4, random_state=0).fit(X, Y).labels_
    assert len(labels) == 30
    if not isinstance(estimator, TopFeatures):
        assert labels.min() >= 0


def test_classifier_is_trained_on_groups_of_any_clustering(tmp_path):
    X, Y = some_points(3)
    model = Agglomerated(Parabel(2), ITDC(n_clusters=6), random_state=0).fit(X, Y)
    model.save(tmp_path / "a")
    expected, _ = model.predict_topk(X, k=3)
    np.testing.assert_array_equal(load(tmp_path / "a").predict_topk(X, k=3)[0], expected)


# --- baselines ---


def test_random_groups_are_balanced_and_hashed_ones_depend_on_the_feature_alone():
    def groups(kind, n, seed):
        return kind(n_clusters=7, random_state=seed).fit(np.eye(n)).labels_

    for seed in range(3):
        assert set(np.bincount(groups(RandomGroups, 100, seed))) == {14, 15}
    hashed = [groups(HashGroups, 100, seed) for seed in range(3)]
    np.testing.assert_array_equal(groups(HashGroups, 50, 0), hashed[0][:50])
    assert len(set(map(bytes, hashed))) == 3


def test_top_features_by_mass_are_those_of_defrag():
    X, _ = some_points(4)
    found = TopFeatures(n_clusters=5).fit(X)
    expected = Defrag(n_clusters=5, singletons=1.0, rest="drop").fit(X)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    assert (found.labels_ >= 0).sum() == 5


def test_top_features_by_information_by_hand():
    # All but feature 1 tell the labels apart, feature 2 rarely; 1 occurs with both alike.
    X = [[4, 5, 1, 0], [4, 5, 0, 0], [0, 5, 0, 4], [0, 5, 0, 5]]
    found = TopFeatures("information", n_clusters=3).fit(X, [0, 0, 1, 1])
    assert found.labels_.tolist() == [0, -1, 1, 2]


@pytest.mark.parametrize("seed", range(5))
def test_information_of_the_features_adds_up(seed):
    joint = table(seed)
    dense = joint.toarray()
    alone = feature_information(joint)
    assert alone.sum() == pytest.approx(joint_information(dense), rel=1e-12)
    p = dense / dense.sum()
    for j, row in enumerate(p):
        q = row.sum() * p.sum(axis=0)
        some = row > 0
        assert alone[j] == pytest.approx((row[some] * np.log(row[some] / q[some])).sum())
    assert feature_information(sparse.csr_array((3, 2), dtype=np.float32)).tolist() == [0, 0, 0]


# --- ITDC ---


def information_lost(X, Y, labels):
    found = metrics.evaluate_clustering(X, Y, labels)
    return found["LMI"] * found["MI"]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_groups=st.integers(1, 24),
    start=st.sampled_from(["label", "random"]),
)
def test_the_objective_is_the_information_that_is_lost(seed, n_groups, start):
    X, Y = some_points(seed)
    model = ITDC(n_clusters=n_groups, start=start, random_state=seed).fit(X, Y)
    expected = information_lost(X, Y, model.labels_)
    assert model.objective_ == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_lost_information_is_the_sum_of_divergences(seed):
    joint = table(seed)
    labels = np.random.default_rng(seed).integers(0, 4, 12).astype(np.int32)
    pooled = sum_clusters(joint, labels, 4, 1)
    lost = lost_information(joint, pooled)
    apart = divergences(joint.toarray(), pooled.toarray(), smoothing=0.0)[np.arange(12), labels]
    weight = np.asarray(joint.sum(axis=1)) / joint.sum()
    assert lost == pytest.approx(float(weight @ apart), rel=1e-6)
    whole = joint_information(joint.toarray()) - joint_information(pooled.toarray())
    assert lost == pytest.approx(whole, rel=1e-9)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), smoothing=st.sampled_from([1.0, 0.25, 1e-3, 2.0**-20]))
def test_nearest_groups_equal_oracle(seed, smoothing):
    joint = table(seed)
    labels = np.random.default_rng(seed).integers(0, 5, 12).astype(np.int32)
    pooled = sum_clusters(joint, labels, 5, 1)
    found = nearest_groups(joint, pooled, labels, smoothing, 1)
    apart = divergences(joint.toarray(), pooled.toarray(), smoothing)
    nearest = apart.min(axis=1)
    np.testing.assert_allclose(apart[np.arange(12), found], nearest, rtol=1e-5, atol=1e-6)


def test_start_cuts_large_groups_and_merges_small_ones():
    # Labels 0, 1, 2 are the favourites of 6, 2 and 1 features; the last feature has no label.
    counts = np.zeros((10, 3))
    counts[np.arange(9), [0] * 6 + [1] * 2 + [2]] = 2
    counts[8, 1] = 1
    joint = canonical_csr(counts.astype(np.float32), name="joint")
    cut = start_by_label(joint, 5, 0, 1)
    assert sorted(np.bincount(cut[:9], minlength=5)) == [1, 2, 2, 2, 2]
    assert len(set(cut[6:8])) == 1
    merged = start_by_label(joint, 2, 0, 1)
    assert merged[:9].tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1]
    assert set(merged) == {0, 1}


def test_itdc_finds_planted_groups_and_never_ends_above_its_start():
    X = np.kron(np.eye(4), np.ones((3, 5))) + 0.0
    Y = np.repeat(np.arange(4), 3)
    model = ITDC(n_clusters=4, start="label", random_state=0).fit(X, Y)
    assert model.objective_ == 0
    assert [len(set(model.labels_[i : i + 5])) for i in range(0, 20, 5)] == [1, 1, 1, 1]
    X, Y = some_points(6, n=200, d=90)
    losses = [ITDC(n_clusters=12, max_iter=r, tol=0.0, random_state=0).fit(X, Y).objective_
              for r in (1, 2, 4, 8, 16)]  # fmt: skip
    assert np.all(np.diff(losses) <= 0)
    random = RandomGroups(n_clusters=12, random_state=0).fit(X).labels_
    assert losses[-1] < information_lost(X, Y, random)


def test_itdc_needs_counts():
    with pytest.raises(ValueError, match=r"Negative values in data passed to ITDC.*got -2"):
        ITDC().fit([[1.0, -2.0], [1.0, 1.0]], [0, 1])


# --- SCBC ---


def slow_matching(scores, n_seats):
    """Run deferred acceptance: free features propose, groups keep the best, until none moves."""
    n, k = scores.shape
    preferences = [sorted(np.flatnonzero(s > 0), key=lambda c, s=s: (-s[c], c)) for s in scores]
    asked, seat = [0] * n, [-1] * n
    while True:
        free = [j for j in range(n) if seat[j] < 0 and asked[j] < len(preferences[j])]
        if not free:
            return np.array(seat)
        for j in free:
            seat[j] = preferences[j][asked[j]]
            asked[j] += 1
        for group in range(k):
            here = [j for j in range(n) if seat[j] == group]
            here.sort(key=lambda j, group=group: (-scores[j, group], j))
            for j in here[n_seats:]:
                seat[j] = -1


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), n_seats=st.integers(1, 4))
def test_matching_equals_oracle(seed, n_seats):
    draw = np.random.default_rng(seed)
    scores = (draw.integers(1, 9, (14, 4)) * (draw.random((14, 4)) < 0.7)).astype(np.float32)
    matching = StableMatching(14, 4, n_seats)
    groups = sparse.csr_array(np.eye(4, dtype=np.float32))
    rows = canonical_csr(scores, name="scores")
    preferences = _native.best_matches(rows, groups, n_best=4, n_threads=1)
    matching.propose(np.arange(14, dtype=np.int32), preferences, np.arange(4, dtype=np.int32))
    np.testing.assert_array_equal(matching.group, slow_matching(scores, n_seats))
    matching.fill()
    sizes = np.bincount(matching.group[matching.group >= 0], minlength=4)
    assert sizes.max() <= n_seats
    assert sizes.sum() == min(14, 4 * n_seats)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), least=st.integers(0, 3))
def test_moves_gain_and_leave_enough(seed, least):
    draw = np.random.default_rng(seed)
    labels = np.concatenate([np.repeat(np.arange(5), least), draw.integers(0, 5, 12)])
    labels = draw.permutation(labels).astype(np.int32)
    wanted = draw.integers(0, 5, len(labels)).astype(np.int32)
    gain = np.round(draw.random(len(labels)), 1)
    result, n_moved = improve(labels, wanted, gain, 5, least)
    moved = result != labels
    assert n_moved == moved.sum()
    np.testing.assert_array_equal(result[moved], wanted[moved])
    assert np.all(gain[moved] > 0)
    assert np.bincount(result, minlength=5).min() >= least
    if least == 0:
        np.testing.assert_array_equal(result, np.where(gain > 0, wanted, labels))
    # Nothing is left that two groups could still exchange.
    stuck = (wanted != result) & (gain > 0) & ~moved
    pairs = {(int(a), int(b)) for a, b in zip(result[stuck], wanted[stuck], strict=True)}
    assert not any((b, a) in pairs for a, b in pairs)


def test_features_rotate_along_cycles_of_groups():
    labels = np.array([0, 1, 2, 3], dtype=np.int32)
    result, n_moved = improve(labels, np.int32([1, 2, 0, 0]), np.ones(4), 4, min_size=1)
    assert result.tolist() == [1, 2, 0, 3]
    assert n_moved == 3


@pytest.mark.parametrize("balance", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_no_group_is_below_the_least_size(seed, balance):
    X, _ = some_points(seed, n=200, d=130)
    seen = int((X.sum(axis=0) > 0).sum())
    model = SCBC(n_clusters=17, balance=balance, sample_points=1.0, random_state=seed).fit(X)
    labels = model.labels_[np.asarray(X.sum(axis=0) > 0)]
    assert np.bincount(labels, minlength=17).min() >= int(balance * seen / 17)
    assert 0 < model.objective_ <= 1 + 1e-6


def test_refinement_never_lowers_similarity():
    X, _ = some_points(7, n=300, d=150)
    objectives = [SCBC(n_clusters=15, balance=0.8, max_iter=r, tol=0.0, random_state=1)
                  .fit(X).objective_ for r in (0, 1, 2, 4, 8)]  # fmt: skip
    assert np.all(np.diff(objectives) > -1e-6)
    assert objectives[-1] > objectives[0]


def test_two_balanced_groups_are_those_of_defrag():
    # Two blocks of equal size: there is one best answer.
    X = np.kron(np.eye(2), np.ones((3, 8))) + np.random.default_rng(0).random((6, 16)) * 0.1
    for seed in range(3):
        scbc = SCBC(n_clusters=2, balance=1.0, sample_points=1.0, random_state=seed).fit(X)
        defrag = Defrag(n_clusters=2, sample_points=1.0, random_state=seed).fit(X)
        same = scbc.labels_ == defrag.labels_
        assert same.all() or not same.any()


def test_clusters_never_start_empty():
    items = canonical_csr(np.kron(np.eye(3), np.ones((20, 1))).astype(np.float32), name="items")
    for seed in range(5):
        cluster = start_clusters(items, 30, n_sampled=60, max_rounds=20, seed=seed, n_threads=1)
        assert set(cluster) == set(range(30))


# --- LSC ---


def test_landmark_weights_follow_the_formula():
    draw = np.random.default_rng(0)
    points = draw.random((30, 6)) * (draw.random((30, 6)) < 0.7) + 1e-3
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    items = canonical_csr(points.astype(np.float32), name="items")
    cluster = np.arange(30, dtype=np.int32) % 7
    means = np.stack([points[cluster == k].mean(axis=0) for k in range(7)])
    distances = ((points[:, None] - means[None]) ** 2).sum(axis=2)
    weights = np.exp(-distances / (2 * distances.mean() ** 2))
    weights[distances > np.sort(distances, axis=1)[:, [2]]] = 0
    weights /= weights.sum(axis=1, keepdims=True)
    found = landmark_weights(items, cluster, 3, 1).toarray()
    np.testing.assert_allclose(found, weights, atol=1e-5)


def test_spectral_rows_are_left_singular_vectors():
    draw = np.random.default_rng(1)
    near = draw.random((20, 6))
    near /= near.sum(axis=1, keepdims=True)
    left, _, _ = np.linalg.svd(near / np.sqrt(near.sum(axis=0)), full_matrices=False)
    expected = left[:, 1:4]
    expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    found = spectral_rows(sparse.csr_array(near), 3)[:, ::-1]
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_lsc_finds_planted_groups(seed):
    X = np.kron(np.eye(6), np.ones((3, 30))) + np.random.default_rng(seed).random((18, 180)) / 20
    model = LSC(n_clusters=6, sample_points=1.0, n_landmarks=24, random_state=seed).fit(X)
    assert [len(set(model.labels_[i : i + 30])) for i in range(0, 180, 30)] == [1] * 6
    assert len(set(model.labels_)) == 6


# --- BCLS ---


@pytest.mark.parametrize("seed", range(4))
def test_bcls_is_the_augmented_lagrangian(seed):
    draw = np.random.default_rng(seed)
    points = draw.normal(size=(40, 9)) + np.repeat(draw.normal(size=(5, 9)), 8, axis=0)
    labels = draw.integers(0, 5, 40).astype(np.int32)
    centred = (points - points.mean(axis=0)) / points.std(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    kept = np.searchsorted(np.cumsum(values**2), 0.9 * (values**2).sum()) + 1
    A = left[:, :kept] * values[:kept]
    expected = bcls_rounds(A, labels, 5, ridge=1e-5, balance_penalty=100.0, n_rounds=150)
    fitted = projection(points.copy(), 0.9, 1e-5)
    whole = A @ np.linalg.solve(A.T @ A + 1e-5 * np.eye(kept), A.T)
    np.testing.assert_allclose(fitted, whole, atol=1e-5)
    for rounds in (1, 2, 3, 10, 50, 150):
        found = BCLS(max_iter=rounds)._descend(fitted, labels, 5, None)
        np.testing.assert_array_equal(found, expected[rounds - 1])


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
def test_projection_is_idempotent_for_wide_and_tall_points(shape):
    points = np.random.default_rng(0).normal(size=shape)
    found = projection(points.copy(), 1.0, 1e-9)
    np.testing.assert_allclose(found @ found, found, atol=1e-4)
    assert np.trace(found) == pytest.approx(min(shape[0] - 1, shape[1]), abs=1e-3)


def test_bcls_finds_planted_groups():
    draw = np.random.default_rng(0)
    points = draw.normal(size=(60, 12)) + np.repeat(draw.normal(size=(6, 12)) * 3, 10, axis=0)
    start = draw.integers(0, 6, 60).astype(np.int32)
    found = BCLS()._descend(projection(points, 0.9, 1e-5), start, 6, None)
    assert [len(set(found[i : i + 10])) for i in range(0, 60, 10)] == [1] * 6
    assert metrics.balance(found, 6) == 1


# --- what cannot be done ---


HUGE = sparse.csr_array(([1.0], ([0], [5])), shape=(3, 114110))
MANY = {"n_clusters": 14264}


@pytest.mark.parametrize(
    ("estimator", "X", "message"),
    [
        (LSC(**MANY), HUGE, r" \d+\.\d GB for 114110 features, 14264 groups and 14265 landmarks"),
        (BCLS(**MANY), HUGE, "114110 features and 14264 groups, more than max_memory_gb=4;"),
        (BCLS(n_clusters=4, sample_points=1.0, max_memory_gb=1e-5), some_points(0, n=400, d=30)[0],
         "^BCLS needs about .* coordinates and 4 groups"),
        (SCBC("z"), np.eye(2), "representation of SCBC must be 'x', 'xy', a matrix or a mapping"),
        (RandomGroups(n_clusters=9), np.eye(2), r"at most the number of features \(2\), got 9"),
        (ITDC(), [[1.0, 2.0]], "requires y to be passed"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_done_raises_before_work(estimator, X, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X)
