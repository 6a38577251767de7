"""Spherical k-means, and groups of nearly equal columns: oracles, promises, threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import _native
from tests.data import unit_items
from tests.oracles.kmeans import assign_to_centres, centres_of, kmeans
from tests.oracles.tight import tight_leaders

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


# --- Nearly equal columns.


def redundant(seed, n_points, n_columns, density=0.3):
    """Return points with columns of which some are copies, or copies with an entry more."""
    draw = np.random.default_rng(seed)
    columns = draw.random((n_columns, n_points)) * (draw.random((n_columns, n_points)) < density)
    copied = draw.integers(0, n_columns, n_columns // 2)
    columns[draw.integers(0, n_columns, len(copied))] = columns[copied]
    columns[:: max(1, n_columns // 3), 0] += 0.1
    columns[n_columns // 2] = 0
    return sparse.csr_array(columns.T.astype(np.float32))


def leaders_of(points, min_cosine, seed=0, n_threads=1):
    return _native.tight_leaders(points, min_cosine=min_cosine, seed=seed, n_threads=n_threads)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_points=st.integers(1, 90),
    n_columns=st.integers(1, 200),
    density=st.sampled_from([0.1, 0.6]),
    min_cosine=st.sampled_from([0.3, 0.7, 0.95]),
)
def test_leaders_equal_the_oracle(*, seed, n_points, n_columns, density, min_cosine):
    points = redundant(seed, n_points, n_columns, density)
    found, energy = leaders_of(points, min_cosine, seed)
    dense = points.toarray().astype(np.float64)
    np.testing.assert_array_equal(found, tight_leaders(dense, min_cosine, seed))
    unit = dense / np.maximum(np.linalg.norm(dense, axis=1), 1e-30)[:, None]
    np.testing.assert_allclose(energy, (unit**2).sum(axis=0), rtol=1e-6)
    follows = found != np.arange(n_columns)
    assert (found[found] == found).all()  # a leader leads itself
    assert (energy[found] >= energy).all()  # and is the strongest
    unit /= np.maximum(np.linalg.norm(unit, axis=0), 1e-30)
    cosines = np.einsum("ij,ij->j", unit, unit[:, found])
    assert (cosines[follows] >= min_cosine - 1e-6).all()


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_threads_give_the_same_leaders(n_threads):
    points = redundant(1, 2000, 3000, density=0.02)
    expected, _ = leaders_of(points, 0.8)
    np.testing.assert_array_equal(leaders_of(points, 0.8, n_threads=n_threads)[0], expected)
    assert len(np.unique(expected)) < 2400


def test_equal_columns_find_each_other_among_many():
    draw = np.random.default_rng(0)
    points = redundant(2, 300, 400, density=0.1)
    copies = sparse.csr_array(sparse.hstack([points] * 3, format="csr")[:, draw.permutation(1200)])
    found, _ = leaders_of(copies, 1 - 1e-5)
    _, same = np.unique(copies.toarray(), axis=1, return_inverse=True)
    for group in range(same.max() + 1):
        members = np.flatnonzero(same == group)
        if copies[:, [members[0]]].nnz:
            assert len(set(found[members])) == 1


def test_statistics_of_groups_are_those_of_pooled_rows():
    points = redundant(3, 50, 30)
    points.data[::3] *= -1  # sums may cancel
    groups = np.random.default_rng(0).integers(-1, 9, 30).astype(np.int32)
    squares = points.multiply(points).sum(axis=1)
    for pooling in (_native.Pooling.sum, _native.Pooling.mean_nonzero):
        shape = {"n_groups": 10, "pooling": pooling, "n_threads": 1}
        counts, energy = _native.group_statistics(points, groups, **shape)
        pooled = _native.agglomerate(points, groups, **shape)
        np.testing.assert_array_equal(counts, pooled.astype(bool).sum(axis=0))
        wanted = (pooled.multiply(pooled) / squares[:, None]).sum(axis=0)
        np.testing.assert_allclose(energy, wanted, rtol=1e-6)
    with pytest.raises(ValueError, match="a group must be below n_groups"):
        _native.group_statistics(points, groups, n_groups=8, n_threads=1)
    with pytest.raises(ValueError, match="one entry per feature"):
        _native.group_statistics(points, groups[1:], n_groups=10, n_threads=1)
