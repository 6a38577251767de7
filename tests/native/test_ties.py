"""Ties and edges of the kernels, each of which one changed comparison would break."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from defrag import _native
from defrag._native import Loss
from defrag._validation import canonical_csr
from defrag.imputation import Companions
from defrag.trees import build_tree
from tests.data import unit_items, zero_weights
from tests.oracles.kmeans import kmeans
from tests.oracles.label_trees import flat_tree
from tests.oracles.text import assert_same, nearest_float

# The last leaf holds the smallest labels.
TREE = flat_tree([[5, 3], [4, 2], [1, 0]])
ROW = sparse.csr_array((1, 7), dtype=np.float32)
BOTH = pytest.mark.parametrize("search", [_native.beam_search, _native.best_first_search])


@BOTH
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_equal_scores_are_ordered_by_label(search, k):
    rows = sparse.csr_array((2, 7), dtype=np.float32)
    for margin, loss, score in ((1.0, Loss.squared_hinge, 1.0), (0.0, Loss.logistic, 0.25)):
        labels, scores = search(TREE, zero_weights(TREE, margin), rows, loss=loss, k=k)
        assert labels.tolist() == [list(range(k))] * 2
        np.testing.assert_allclose(scores, score, rtol=1e-6)


@BOTH
def test_empty_matrix_gives_empty_result(search):
    labels, scores = search(TREE, zero_weights(TREE, 1.0), ROW[:0])
    assert labels.shape == scores.shape == (0, 5)


def test_first_of_equal_nodes_stay_in_the_beam():
    labels, _ = _native.beam_search(TREE, zero_weights(TREE, 1.0), ROW, beam_size=2, k=6)
    assert labels.tolist() == [[2, 3, 4, 5, -1, -1]]


@BOTH
def test_labels_are_ordered_by_returned_scores(search):
    # The better label has the larger number; the exponentials of both are 1.
    weights = zero_weights(TREE, 1.0)
    weights.bias[-2:] = 1.0, 1.0 - 1e-5
    labels, scores = search(TREE, weights, ROW, loss=Loss.squared_hinge, k=6)
    assert scores.tolist() == [[1.0] * 6]
    assert labels.tolist() == [[0, 1, 2, 3, 4, 5]]


@BOTH
@pytest.mark.parametrize("loss", [Loss.logistic, Loss.squared_hinge])
def test_nan_margins_give_finite_ordered_scores(search, loss):
    weights = zero_weights(TREE, 1.0)
    weights.bias[[0, -1]] = np.nan
    labels, scores = search(TREE, weights, ROW, loss=loss, k=6)
    assert sorted(labels[0].tolist()) == [0, 1, 2, 3, 4, 5]
    assert np.isfinite(scores).all()
    assert (np.diff(scores[0]) <= 0).all()
    assert (scores[0][np.isin(labels[0], [0, 5, 3])] == 0).all() == (loss == Loss.logistic)


@pytest.mark.parametrize(
    ("room", "n_kept"),
    [
        ({"max_growth": 1}, 1),
        ({"max_growth": 1, "usual_size": 5}, 5),
        ({"max_growth": 3, "usual_size": 2}, 3),
        ({"max_growth": 3, "max_entries": 2}, 2),
        ({"max_growth": 0}, 9),
    ],
)
def test_imputation_keeps_smaller_features_of_equal_entries(room, n_kept):
    lists = sparse.csr_array(np.float32(np.full((9, 9), 0.5)))
    row = sparse.csr_array(np.float32([[0, 0, 0, 0, 1, 0, 0, 0, 0]]))
    found = Companions(lists).impute(row, None, n_threads=1, **room)
    assert found.indices.tolist() == list(range(n_kept))


@BOTH
def test_search_for_no_label_is_refused(search):
    for k in (0, -1):
        with pytest.raises(ValueError, match=f"k must be at least 1, got {k}"):
            search(TREE, zero_weights(TREE, 1.0), ROW, k=k)


def test_scores_of_a_label_are_added_in_the_order_of_the_trees():
    # In the opposite order the sum would be the next larger float.
    label = np.zeros((1, 1), dtype=np.int32)
    trees = [(label, np.float32([[score]])) for score in (1.0, 5e-8, 5e-8)]
    _, scores = _native.average_trees(trees, k=1, n_threads=1)
    assert scores.tolist() == [[float(np.float32(1) / np.float32(3))]]


def test_product_keeps_the_first_of_equal_entries():
    one, many = (sparse.csr_array(np.ones((1, n), dtype=np.float32)) for n in (1, 9))
    assert _native.multiply(one, many, max_entries=4, n_threads=1).indices.tolist() == [0, 1, 2, 3]


def test_entries_as_small_as_the_threshold_are_dropped():
    row = sparse.csr_array(np.float32([[3, 4]]))
    for threshold, kept in ((0.6, [1]), (0.59, [0, 1]), (0.8, [])):
        found = _native.scale_rows(row, threshold=np.float32(threshold), n_threads=1)
        assert found.indices.tolist() == kept


def test_repeated_labels_in_a_row_count_once():
    assert_same(b"1 1 4\n1,2,2,3,3,3 0:1\n", "combined")


def test_late_companions_and_unseen_features_are_counted():
    # All are equally strong; those of small numbers come after a first cut, in another row.
    rows = np.zeros((2, 100), dtype=np.float32)
    rows[0, [9, *range(20, 40)]] = rows[1, [*range(6), 9, *range(40, 54)]] = 1.0
    lists = Companions.of_rows(sparse.csr_array(rows), 2, seed=0, n_threads=1).lists
    assert lists[[9]].indices.tolist() == [0, 1, 9]
    assert lists[[60]].nnz == 0


@pytest.mark.parametrize(
    "text",
    [
        b"18446744073709551617", b"18446744073709551617e-3", b"0.18446744073709551617",
        b"1e" + b"0" * 30 + b"1", b"-2.5e-" + b"0" * 5000 + b"3",
        b"0." + b"0" * 60 + b"1", b"0." + b"0" * 70 + b"1e9", b"1e-99",
    ],
    ids=[
        "beyond 64 bits", "the same with an exponent", "the same as a fraction",
        "zeros before the digits of an exponent", "thousands of them",
        "underflow", "underflow in spite of an exponent", "underflow by an exponent",
    ],
)  # fmt: skip
def test_unusual_numbers_are_read_exactly(text):
    assert _native.parse_values(text)[0] == nearest_float(text) == np.float32(float(text))


def test_equal_items_are_split_by_id():
    # More than 65,536 items are counted by the leading bits of their scores.
    for n_items in (7, 70_001):
        items = canonical_csr(np.ones((n_items, 1), dtype=np.float32), name="Z")
        tree, _ = build_tree(items, max_leaf_size=(n_items + 1) // 2)
        np.testing.assert_array_equal(tree.order, np.arange(n_items))


def test_equal_items_on_both_sides_of_a_cut_are_split_by_id():
    items = canonical_csr(np.eye(2, dtype=np.float32)[[0, 1, 1, 1, 1, 1]], name="Z")
    tree, _ = build_tree(items, max_leaf_size=3, starts=np.array([0, 1, 0, 0, 0, 0]))
    assert tree.order.tolist() == [0, 1, 2, 3, 4, 5]


def test_split_ends_at_the_tolerance():
    items = unit_items(3, n=400, n_coords=40)
    rounds = [build_tree(items, max_leaf_size=200, tol=tol)[0].n_rounds[0] for tol in (1.0, 0.0)]
    assert rounds[0] == 2
    assert rounds[1] > 2


def test_empty_item_is_not_a_start():
    items = canonical_csr(np.float32([[1, 0], [1, 0], [1, 0], [0, 0]]), name="Z")
    for seed in range(8):
        tree, _ = build_tree(items, max_leaf_size=2, seed=seed)
        assert tree.order.tolist() == [0, 1, 2, 3]
        assert tree.n_rounds[0] == 0


def test_first_of_equal_centres_is_the_nearest():
    items = canonical_csr(np.ones((5, 2), dtype=np.float32) / np.sqrt(np.float32(2)), name="items")
    found = _native.spherical_kmeans(items, n_clusters=2, max_rounds=1)
    assert found.cluster.tolist() == [0] * 5
    assert found.second.tolist() == [1] * 5


def test_empty_clusters_have_no_items():
    # Every item twice, and as many clusters as items: half of the clusters become empty.
    items = canonical_csr(np.repeat(np.eye(6, dtype=np.float32), 2, axis=0), name="items")
    one_round = _native.spherical_kmeans(items, n_clusters=12, max_rounds=1, seed=0)
    found = _native.spherical_kmeans(items, n_clusters=12, seed=0)
    assert len(set(found.cluster.tolist())) == 6
    assert found.cluster.min() >= 0
    assert set(found.second.tolist()) == {-1}
    assert found.objective == pytest.approx(1.0)
    assert found.n_rounds >= one_round.n_rounds
    starts = [int(np.flatnonzero(found.cluster == c)[0]) for c in sorted(set(found.cluster))]
    cluster, second, objective, _ = kmeans(
        items.toarray().astype(np.float64), starts, tolerance=1e-4, max_rounds=9
    )
    assert len(set(cluster)) == 6
    assert set(second) == {-1}
    assert objective == pytest.approx(found.objective)


def middles_of_floats(n, smallest, least, seed):
    """Yield exact middles of two floats, and how often times ten they are at least so large."""
    draw = np.random.default_rng(seed)
    for _ in range(n):
        low = np.float32(draw.uniform(1, 2) * 2.0 ** draw.integers(smallest, 20))
        middle = (Fraction(float(low)) + Fraction(float(np.nextafter(low, np.float32(3e38))))) / 2
        shift = 0
        while middle * 10**shift < least:
            shift += 1
        yield middle, shift


def test_mantissas_beyond_double_are_read_exactly():
    """Decimals of 18 digits, too many for a double, a fraction of its step from a middle."""
    n_wrong = 0
    for (middle, shift), step in product(middles_of_floats(600, -10, 10**17, 1), (-0.02, 0.02)):
        digits = round(middle * (1 + Fraction(step) / 2**52) * 10**shift)
        text = f"{digits}e-{shift}".encode()
        assert _native.parse_values(text)[0] == nearest_float(text)
        rounded = np.float64(float(digits) / 10.0**shift)
        beside = int(rounded.view(np.uint64)) % 2**29 != 2**28  # not taken for the middle
        n_wrong += beside and np.float32(rounded) != nearest_float(text)
    assert n_wrong > 10  # or nothing would have been tried


@pytest.mark.parametrize("text", [b"1" + b"0" * 50, b"0.1e40", b"1" + b"0" * 60 + b"e-5"])
def test_overflow_is_seen_without_and_with_an_exponent(text):
    with pytest.raises(_native.ParseError, match="expected a finite number, got"):
        _native.parse_values(text)


def test_numbers_near_the_middle_of_two_floats_are_rounded_once():
    """Decimals of few digits, which a double takes for the middle."""
    rounded_twice = 0
    for (middle, shift), more in product(middles_of_floats(400, -20, 2**52 / 10, 0), (0, 1)):
        text = f"{round(middle * 10**shift) + more}e-{shift}".encode()
        assert_same(b"1 1\n0:" + text + b"\n", "features")
        rounded_twice += np.float32(float(text)) != nearest_float(text)
    assert rounded_twice > 10  # or nothing would have been tried
