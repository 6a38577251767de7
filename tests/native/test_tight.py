"""Groups of nearly equal columns: the oracle, what is promised of a group, threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import _native
from tests.oracles.tight import tight_leaders


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
