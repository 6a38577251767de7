import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import _native
from tests.data import unit_items
from tests.oracles.kmeans import assign_to_centres, centres_of, kmeans

NEVER_DONE = -10.0  # a tolerance below what any round can lower the objective by


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_every_round_equals_the_oracle(seed, signed):
    items = unit_items(seed, signed=signed)
    dense = items.toarray().astype(np.float64)
    options = {"n_clusters": 20, "tolerance": NEVER_DONE, "seed": seed}
    before = _native.spherical_kmeans(items, max_rounds=1, **options)
    for rounds in range(2, 7):
        after = _native.spherical_kmeans(items, max_rounds=rounds, **options)
        centres = centres_of(dense, before.cluster, 20)
        first, second, objective = assign_to_centres(dense, centres)
        np.testing.assert_array_equal(after.cluster, first)
        np.testing.assert_array_equal(after.second, second)
        assert after.objective == pytest.approx(objective, abs=1e-6)
        assert after.n_rounds == rounds
        before = after


def test_whole_clustering_equals_the_oracle():
    # As many clusters as items: every item is a start and, in the first round, alone.
    items = unit_items(3, n=12, density=0.5)
    found = _native.spherical_kmeans(items, n_clusters=12, seed=5)
    dense = items.toarray().astype(np.float64)
    one_round = _native.spherical_kmeans(items, n_clusters=12, max_rounds=1, seed=5)
    starts = np.argsort(one_round.cluster)
    cluster, second, objective, n_rounds = kmeans(dense, starts, tolerance=1e-4, max_rounds=100)
    np.testing.assert_array_equal(found.cluster, cluster)
    np.testing.assert_array_equal(found.second, second)
    assert found.objective == pytest.approx(objective, abs=1e-6)
    assert found.n_rounds == n_rounds


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 50),
    n_clusters=st.integers(1, 60),
    density=st.sampled_from([0.0, 0.05, 0.4]),
)
def test_objective_never_decreases(*, seed, n, n_clusters, density):
    items = unit_items(seed, n=n, density=density)
    options = {"n_clusters": n_clusters, "tolerance": NEVER_DONE, "seed": seed}
    objectives = [
        _native.spherical_kmeans(items, max_rounds=rounds, **options).objective
        for rounds in (1, 2, 4, 8)
    ]
    assert np.all(np.diff(objectives) > -1e-6)
    found = _native.spherical_kmeans(items, n_clusters=n_clusters, seed=seed)
    filled = np.diff(items.indptr) > 0
    assert np.all(found.cluster < min(n_clusters, max(1, filled.sum())))
    assert np.all(found.cluster[~filled] == -1)
    assert np.all((found.second < 0) | (found.second != found.cluster))


def test_planted_directions_are_found():
    # Three axes, twenty items each: with one start on every axis, nothing ever moves.
    items = sparse.csr_array(np.kron(np.eye(3), np.ones((20, 1))).astype(np.float32))
    for seed in range(20):
        found = _native.spherical_kmeans(items, n_clusters=60, seed=seed)
        # Of equal centres the first takes all: one cluster per axis stays.
        assert len(set(found.cluster)) == 3
        assert [len(set(found.cluster[i : i + 20])) for i in (0, 20, 40)] == [1, 1, 1]
        assert found.objective == pytest.approx(1.0)


def test_starts_are_distinct_and_depend_on_seed_and_item():
    items = sparse.csr_array(np.eye(40, dtype=np.float32))
    first = [
        _native.spherical_kmeans(items, n_clusters=10, seed=seed, item=item).cluster
        for seed, item in ((0, 0), (0, 1), (1, 0))
    ]
    for cluster in first:
        assert sorted(cluster[cluster >= 0]) == list(range(10))
    assert len({cluster.tobytes() for cluster in first}) == 3


def test_empty_input_gives_empty_clusters():
    nothing = sparse.csr_array((0, 5), dtype=np.float32)
    assert len(_native.spherical_kmeans(nothing, n_clusters=3).cluster) == 0
    empty = sparse.csr_array((4, 5), dtype=np.float32)
    found = _native.spherical_kmeans(empty, n_clusters=3)
    assert found.cluster.tolist() == [-1] * 4
    assert found.objective == 0.0
