import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from defrag import _native
from defrag._validation import canonical_csr
from defrag.trees import FeatureVectors, given_vectors, largest_ids, scale_vectors
from tests.data import random_csr
from tests.oracles import trees as oracles


def matrix(*rows):
    return canonical_csr(np.array(rows, dtype=np.float32), name="X")


def vectors(X, share=1.0, volume="l1", row_norm=None, n_threads=1):
    options = {"volume": volume, "row_norm": row_norm, "n_threads": n_threads}
    return FeatureVectors(X, sample_points=share, **options)


def test_by_points_is_the_transpose_of_the_sampled_rows():
    X = matrix([1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [4.0, 0.0, 1.0])
    half = vectors(X, share=0.7)
    np.testing.assert_array_equal(half.points, [0, 2])
    np.testing.assert_array_equal(half.by_points().toarray(), X.toarray()[[0, 2]].T)


def test_volume_is_a_sum_or_a_count():
    X = matrix([9.0, 0.0], [1.0, 1.0], [2.0, 0.0])
    np.testing.assert_array_equal(vectors(X, 0.34, "l1").points, [0])
    np.testing.assert_array_equal(vectors(X, 0.34, "l0").points, [1])


def test_a_feature_outside_the_sample_is_built_from_all_points():
    # Feature 2 occurs in the two least voluminous points only.
    X = matrix([5, 1, 0], [4, 0, 0], [0, 1, 1], [0, 0, 1])
    Z = vectors(X, share=0.5).by_points().toarray()
    np.testing.assert_array_equal(Z[:, :2], [[5, 4], [1, 0], [0, 0]])
    # Its coordinates are its own: it is near no feature of the sample.
    np.testing.assert_array_equal(Z[2, 2:], [0, 0, 1, 1])
    assert not Z[:2, 2:].any()


def test_by_labels_counts_popularity_and_rescues_features():
    X = matrix([3.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    Y = matrix([1, 1, 0], [1, 0, 0], [0, 0, 1])
    Z = vectors(X, share=0.67).by_labels(Y, n_labels=2, popularity="all").toarray()
    np.testing.assert_array_equal(Z[:2, :2], [[5, 3], [1, 1]])
    # Feature 2 has no sampled label: its column of X stands in, past the labels.
    np.testing.assert_array_equal(Z[2], [0, 0, 0, 0, 1])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_threads", [1, 3])
def test_by_labels_is_the_product(seed, n_threads):
    X = random_csr(40, 30, density=0.2, seed=seed)
    Y = canonical_csr(random_csr(40, 12, density=0.2, seed=seed + 50) > 0, name="Y")
    Z = vectors(X, n_threads=n_threads).by_labels(Y, n_labels=12, popularity="all")
    expected = X.toarray().T @ Y.toarray()
    np.testing.assert_allclose(Z.toarray()[:, :12], expected, rtol=1e-5, atol=1e-6)


def test_labels_that_name_the_points_give_the_columns_of_x():
    X = random_csr(25, 18, density=0.3, seed=1)
    Y = matrix(*np.eye(25))
    Z = vectors(X).by_labels(Y, n_labels=25, popularity="all")
    np.testing.assert_array_equal(Z.toarray(), vectors(X).by_points().toarray())


def test_row_norm_brings_points_to_length_one():
    X = matrix([3.0, 4.0], [0.0, 0.0])
    Z = vectors(X, row_norm="l2").by_points().toarray()
    np.testing.assert_allclose(Z, [[0.6, 0.0], [0.8, 0.0]], rtol=1e-6)


@given(seed=st.integers(0, 10_000), threshold=st.sampled_from([0.0, 0.1, 0.5]))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_scaling_equals_oracle(seed, threshold):
    Z = random_csr(12, 9, density=0.4, seed=seed)
    dense = Z.toarray().astype(np.float64)
    for split in ("kmeans", "ndcg"):
        scaled = scale_vectors(Z, split=split, threshold=threshold, n_threads=2).toarray()
        for row, result in zip(dense, scaled, strict=True):
            size = np.linalg.norm(row) if split == "kmeans" else oracles.ideal_dcg(row)
            expected = row / size if size > 0 else row
            expected[np.abs(expected) <= threshold] = 0.0
            np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_ndcg_needs_positive_values():
    Z = matrix([1.0, -0.5])
    with pytest.raises(ValueError, match=r"which requires values >= 0, got -0\.5"):
        scale_vectors(Z, split="ndcg", threshold=0.0, n_threads=1)


@pytest.mark.parametrize(
    ("given", "names", "expected"),
    [
        ({"cat": [1, 2], "dog": [3, 4]}, ["dog", "x", "cat"], [[3, 4], [0, 0], [1, 2]]),
        ({2: [1.0]}, None, [[0], [0], [1]]),
        (np.eye(3), None, np.eye(3)),
    ],
    ids=["names", "ids", "matrix"],
)
def test_given_vectors_are_read(given, names, expected):
    found = given_vectors(given, n_features=3, names=names)
    np.testing.assert_array_equal(found.toarray(), expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.eye(2), r"one row per feature \(3\), got 2"),
        ({"a": [1.0]}, "none of its keys are feature ids"),
        ({0: [1.0], 1: [1.0, 2.0]}, "vectors of one length"),
    ],
)
def test_bad_vectors_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        given_vectors(given, n_features=3, names=None)


def test_a_feature_without_a_given_vector_falls_back_to_its_column():
    X = matrix([1.0, 0.0, 2.0], [0.0, 0.0, 3.0])
    given = matrix([1.0, 1.0], [1.0, 0.0], [0.0, 0.0])
    Z = vectors(X).by_given(given).toarray()
    np.testing.assert_array_equal(Z, [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 2, 3]])


@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_column_statistics_equal_numpy(n_threads):
    X = random_csr(3000, 40, density=0.1, seed=4)
    counts, energy = _native.column_statistics(X, n_threads=n_threads)
    dense = X.toarray().astype(np.float64)
    unit = dense / np.maximum(np.linalg.norm(dense, axis=1), 1e-30)[:, None]
    np.testing.assert_array_equal(counts, (dense != 0).sum(axis=0))
    np.testing.assert_allclose(energy, (unit**2).sum(axis=0), rtol=1e-9)


def test_largest_ids_breaks_ties_by_id():
    np.testing.assert_array_equal(largest_ids(np.array([1.0, 3.0, 3.0, 3.0]), 2), [1, 2])
