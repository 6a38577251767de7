import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import _native
from defrag._native import Loss
from tests.data import trained_tree, zero_weights
from tests.helpers.bits import bits
from tests.oracles.label_trees import flat_tree, search


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_labels=st.integers(1, 40),
    k=st.integers(1, 9),
    loss=st.sampled_from(["squared_hinge", "logistic"]),
)
def test_search_equals_exhaustive_scoring(*, seed, n_labels, k, loss):
    tree, weights, X = trained_tree(seed, n_labels=n_labels, loss=loss, n_rows=40)
    labels, scores = _native.best_first_search(tree, weights, X, loss=Loss[loss], k=k)
    options = {"loss": loss, "k": k, "discount": np.float32(1.0)}
    for row in range(0, X.shape[0], 4):
        x, everywhere = X[[row]].toarray()[0], len(tree.begin)
        expected = search(tree, weights, x, beam_size=everywhere, **options)
        found = labels[row][labels[row] >= 0]
        assert len(found) == len(expected)
        logs = [score for score, _ in expected]
        np.testing.assert_allclose(scores[row, : len(found)], np.exp(logs), rtol=1e-5)
        if len(set(np.exp(logs).astype(np.float32))) == len(logs):
            assert found.tolist() == [label for _, label in expected]


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("seed", range(6))
def test_unbounded_beam_gives_the_same_bits(seed, loss):
    tree, weights, X = trained_tree(seed, n_labels=80, loss=loss, n_rows=200)
    for k in (1, 5, 80):
        exact = _native.best_first_search(tree, weights, X, loss=Loss[loss], k=k)
        everywhere = len(tree.begin)
        beam = _native.beam_search(tree, weights, X, loss=Loss[loss], k=k, beam_size=everywhere)
        assert bits(exact) == bits(beam)


def test_path_with_low_first_score_can_win():
    # Left: 0.6 * 0.5 for both labels. Right: 0.4 * 0.9. A beam of one goes left.
    tree = flat_tree([[0, 1], [2]])
    shares = np.array([0.6, 0.4, 0.5, 0.5, 0.9])
    weights = zero_weights(tree, 0.0)
    weights.bias[:] = np.log(shares / (1 - shares))
    row = sparse.csr_array((1, 7), dtype=np.float32)
    labels, scores = _native.best_first_search(tree, weights, row, k=1)
    assert labels.tolist() == [[2]]
    assert scores[0, 0] == pytest.approx(0.36)
    narrow, _ = _native.beam_search(tree, weights, row, loss=Loss.logistic, k=1, beam_size=1)
    assert narrow.tolist() == [[0]]
