"""Blocks of features that occur together against the dense computation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import Defrag, _native
from defrag._native import GroupLayout
from defrag.agglomeration.co_occurrence import CoOccurrence, find_groups
from tests.helpers.bits import bits
from tests.oracles import imputation as oracles
from tests.oracles.agglomeration import co_occurrence

GROUPS = np.int32([0, 1, 0, -1, 1, 0])


def random_rows(seed, n=20, d=6):
    rng = np.random.default_rng(seed)
    return sparse.csr_array(np.float32(rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)))


def dense(layout, entries, d):
    result = np.zeros((d, d))
    for group in range(len(layout.member_ptr) - 1):
        members = layout.members[layout.member_ptr[group] : layout.member_ptr[group + 1]]
        block = entries[layout.entry_ptr[group] : layout.entry_ptr[group + 1]]
        result[np.ix_(members, members)] = block.reshape(len(members), len(members))
    return result


def test_blocks_are_those_computed_by_hand():
    X = sparse.csr_array(np.float32([[1, 0, 2, 5, 0, 0], [0, 3, 1, 0, 1, 0]]))
    layout = GroupLayout.of(GROUPS, 2)
    assert layout.members.tolist() == [0, 2, 5, 1, 4]
    assert layout.slots.tolist() == [0, 0, 1, -1, 1, 2]
    assert layout.entry_ptr.tolist() == [0, 9, 13]
    raw = _native.co_occurrence(X, layout, cosine=False, n_threads=1)
    assert raw.tolist() == [1, 2, 0, 2, 5, 0, 0, 0, 0, 9, 3, 3, 1]
    cosine = _native.co_occurrence(X, layout, cosine=True, n_threads=1)
    wanted = [1, 0.8**0.5, 0, 0.8**0.5, 1, 0, 0, 0, 0, 1, 1, 1, 1]
    np.testing.assert_allclose(cosine, wanted)


def test_slopes_find_companion_of_rare_feature():
    X = sparse.csr_array(np.float32([[3, 1, 0], [3, 0, 0], [3, 0, 0]]))
    blocks = CoOccurrence.of_rows(X, [np.int32([0, 0, -1])], scale="slope", n_threads=1).blocks
    wanted = [27 / 27.01, 3 / 27.01, 3 / 1.01, 1 / 1.01]
    np.testing.assert_allclose(blocks[0][1], wanted, rtol=1e-6)


@settings(max_examples=25, derandomize=True, deadline=None)
@given(st.integers(0, 2**20), st.booleans())
def test_blocks_are_masked_products(seed, cosine):
    X = random_rows(seed)
    groups = np.random.default_rng(seed).integers(-1, 3, 6).astype(np.int32)
    layout = GroupLayout.of(groups, 3)
    found = dense(layout, _native.co_occurrence(X, layout, cosine=cosine, n_threads=1), 6)
    wanted = co_occurrence(X, groups, scale="cosine" if cosine else "raw")
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    np.testing.assert_array_equal(found, found.T)
    assert np.linalg.eigvalsh(found).min() > -1e-4


@settings(max_examples=25, derandomize=True, deadline=None)
@given(
    st.integers(0, 2**20),
    st.sampled_from([None, 0.0, 0.3, 2.0]),
    st.sampled_from([0, 1, 2]),
    st.sampled_from(["raw", "cosine", "slope"]),
)
def test_imputed_rows_equal_oracle(seed, beta, growth, scale):
    rng = np.random.default_rng(seed)
    X = random_rows(seed)
    groups = [rng.integers(-1, 3, 6).astype(np.int32) for _ in range(2)]
    blocks = CoOccurrence.of_rows(X, groups, scale=scale, n_threads=1).blocks
    C = sum(co_occurrence(X, one, scale=scale) for one in groups) / 2
    rows = _native.scale_rows(X, n_threads=1)
    betas = None if beta is None else np.full(20, beta, np.float32)
    found = _native.impute(rows, blocks, betas, max_growth=growth, n_threads=1)
    for i, u in enumerate(rows.toarray().astype(np.float64)):
        room = growth * np.count_nonzero(u) if growth else None
        wanted = oracles.impute(u, C, beta, room)
        if room is None or np.count_nonzero(wanted) < room or len(np.unique(np.abs(wanted))) > room:
            np.testing.assert_allclose(found.toarray()[i], wanted, atol=1e-5)
    assert np.isfinite(found.data).all()


def test_groups_of_one_are_the_identity():
    X = random_rows(3)
    X = X[np.diff(X.indptr) > 0]
    rows = _native.scale_rows(X, n_threads=1)
    blocks = CoOccurrence.of_rows(rows, [np.arange(6, dtype=np.int32)], scale="cosine", n_threads=1)
    found = blocks.multiply(rows, max_entries=0, n_threads=1)
    np.testing.assert_allclose(found.toarray(), rows.toarray(), atol=1e-6)


def test_result_is_equal_for_any_threads():
    X = random_rows(5, n=9000, d=60)
    groups = [np.random.default_rng(s).integers(-1, 9, 60).astype(np.int32) for s in range(3)]
    betas = np.linspace(0, 2, 9000, dtype=np.float32)
    wanted = None
    for threads in (1, 2, 3):
        blocks = CoOccurrence.of_rows(X, groups, scale="slope", n_threads=threads).blocks
        rows = _native.impute(X, blocks, betas, max_growth=2, n_threads=threads)
        found = [*(entries for _, entries in blocks), rows.indices, rows.data]
        wanted = wanted or found
        assert bits(found) == bits(wanted)


def test_groups_come_from_new_or_fitted_clusterings():
    X = random_rows(6, n=80)
    settings = {"default": None, "seeds": [1, 2], "n_jobs": None, "owner": "Fiat"}
    new = find_groups(X, None, Defrag(max_cluster_size=2), **settings)
    assert len(new) == 2
    np.testing.assert_array_equal(new[0], Defrag(max_cluster_size=2, random_state=1).fit(X).labels_)
    fitted = Defrag(max_cluster_size=3, random_state=0).fit(X)
    for given_ in (fitted, [fitted]):
        old = find_groups(X, None, given_, prefit=True, **settings)
        np.testing.assert_array_equal(old, [fitted.labels_])
    for points, bad, prefit, message in (
        (X, 3, False, "agglomeration of Fiat must be a Defrag, got 3"),
        (X, None, True, "must be a fitted Defrag or a list of them"),
        (X, ["x"], True, "must be a fitted Defrag, got 'x'"),
        (X[:, :5], fitted, True, "must have the 5 features of X, got 6"),
    ):
        with pytest.raises(ValueError, match=message):
            find_groups(points, None, bad, prefit=prefit, **settings)
