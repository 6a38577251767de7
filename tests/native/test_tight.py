"""Groups of nearly equal columns: the oracle, what is promised of a group, threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import _native
from tests.oracles.tight import tight_leaders


def redundant(seed, n_items, n_coords, density=0.3):
    """Return unit rows, some of which are copies, or copies with an entry more."""
    draw = np.random.default_rng(seed)
    rows = draw.random((n_items, n_coords)) * (draw.random((n_items, n_coords)) < density)
    copied = draw.integers(0, n_items, n_items // 2)
    rows[draw.integers(0, n_items, len(copied))] = rows[copied]
    rows[:: max(1, n_items // 3), 0] += 0.1
    rows[n_items // 2] = 0
    return _native.scale_rows(sparse.csr_array(rows.astype(np.float32)), n_threads=1)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_items=st.integers(1, 200),
    n_coords=st.integers(1, 40),
    min_cosine=st.sampled_from([0.3, 0.7, 0.95]),
)
def test_leaders_equal_the_oracle(*, seed, n_items, n_coords, min_cosine):
    items = redundant(seed, n_items, n_coords)
    order = np.random.default_rng(seed).permutation(n_items).astype(np.int32)
    found = _native.tight_leaders(items, order, min_cosine=min_cosine, seed=seed, n_threads=1)
    dense = items.toarray().astype(np.float64)
    np.testing.assert_array_equal(found, tight_leaders(dense, order, min_cosine, seed))
    place = np.argsort(order)
    follows = found != np.arange(n_items)
    assert (found[found] == found).all()  # a leader leads itself
    assert (place[found] <= place).all()  # and came earlier
    cosines = np.einsum("ij,ij->i", dense, dense[found])
    assert (cosines[follows] >= min_cosine - 1e-6).all()


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_threads_give_the_same_leaders(n_threads):
    items = redundant(1, 3000, 500, density=0.02)
    order = np.arange(3000, dtype=np.int32)
    expected = _native.tight_leaders(items, order, min_cosine=0.8, seed=0, n_threads=1)
    found = _native.tight_leaders(items, order, min_cosine=0.8, seed=0, n_threads=n_threads)
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(expected)) < 2400


def test_equal_columns_find_each_other_among_many():
    draw = np.random.default_rng(0)
    items = redundant(2, 400, 300, density=0.1)
    copies = sparse.vstack([items] * 3, format="csr")[draw.permutation(1200)]
    order = draw.permutation(1200).astype(np.int32)
    copies = sparse.csr_array(copies)
    found = _native.tight_leaders(copies, order, min_cosine=1 - 1e-5, seed=0, n_threads=1)
    _, same = np.unique(copies.toarray(), axis=0, return_inverse=True)
    for group in range(same.max() + 1):
        members = np.flatnonzero(same == group)
        if copies[[members[0]]].nnz:
            assert len(set(found[members])) == 1


@pytest.mark.parametrize(
    ("order", "message"), [([0], "one entry per item"), ([0, 2], "name items"), ([0, -1], "name")]
)
def test_orders_of_other_items_are_refused(order, message):
    items = sparse.csr_array(np.eye(2, dtype=np.float32))
    with pytest.raises(ValueError, match=message):
        _native.tight_leaders(
            items, np.array(order, dtype=np.int32), min_cosine=0.5, seed=0, n_threads=1
        )
