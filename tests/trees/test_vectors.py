import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from defrag import _native
from defrag._validation import canonical_csr
from defrag.trees import FeatureVectors, given_vectors, largest_ids, scale_vectors
from tests.oracles import trees as oracles


def random_csr(n, d, density, seed):
    X = sparse.random_array((n, d), density=density, rng=np.random.default_rng(seed), format="csr")
    return canonical_csr(X, name="X")


def vectors(X, share=1.0, volume="l1", row_norm=None, n_threads=1):
    return FeatureVectors(
        X, sample_points=share, volume=volume, row_norm=row_norm, n_threads=n_threads
    )


def test_by_points_is_the_transpose_of_the_sampled_rows():
    X = canonical_csr(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [4.0, 0.0, 1.0]]), name="X")
    half = vectors(X, share=0.7)
    np.testing.assert_array_equal(half.points, [0, 2])
    np.testing.assert_array_equal(half.by_points().toarray(), X.toarray()[[0, 2]].T)


def test_volume_is_a_sum_or_a_count():
    X = canonical_csr(np.array([[9.0, 0.0], [1.0, 1.0], [2.0, 0.0]]), name="X")
    np.testing.assert_array_equal(vectors(X, 0.34, "l1").points, [0])
    np.testing.assert_array_equal(vectors(X, 0.34, "l0").points, [1])


def test_a_feature_outside_the_sample_is_built_from_all_points():
    # Feature 2 occurs in the two least voluminous points only.
    X = canonical_csr(
        np.array([[5.0, 1.0, 0.0], [4.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]), name="X"
    )
    Z = vectors(X, share=0.5).by_points().toarray()
    np.testing.assert_array_equal(Z[:, :2], [[5, 4], [1, 0], [0, 0]])
    # Its coordinates are its own: it is near no feature of the sample.
    np.testing.assert_array_equal(Z[2, 2:], [0, 0, 1, 1])
    assert not Z[:2, 2:].any()


def test_by_labels_counts_popularity_and_rescues_features():
    X = canonical_csr(np.array([[3.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), name="X")
    Y = canonical_csr(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]]), name="Y")
    Z = vectors(X, share=0.67).by_labels(Y, n_labels=2, popularity="all").toarray()
    np.testing.assert_array_equal(Z[:2, :2], [[5, 3], [1, 1]])
    # Feature 2 has no sampled label: its column of X stands in, past the labels.
    np.testing.assert_array_equal(Z[2], [0, 0, 0, 0, 1])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_threads", [1, 3])
def test_by_labels_is_the_product(seed, n_threads):
    X = random_csr(40, 30, 0.2, seed)
    Y = canonical_csr(random_csr(40, 12, 0.2, seed + 50) > 0, name="Y")
    Z = vectors(X, n_threads=n_threads).by_labels(Y, n_labels=12, popularity="all")
    expected = X.toarray().T @ Y.toarray()
    np.testing.assert_allclose(Z.toarray()[:, :12], expected, rtol=1e-5, atol=1e-6)


def test_labels_that_name_the_points_give_the_columns_of_x():
    X = random_csr(25, 18, 0.3, seed=1)
    Y = canonical_csr(np.eye(25), name="Y")
    Z = vectors(X).by_labels(Y, n_labels=25, popularity="all")
    np.testing.assert_array_equal(Z.toarray(), vectors(X).by_points().toarray())


def test_row_norm_brings_points_to_length_one():
    X = canonical_csr(np.array([[3.0, 4.0], [0.0, 0.0]]), name="X")
    Z = vectors(X, row_norm="l2").by_points().toarray()
    np.testing.assert_allclose(Z, [[0.6, 0.0], [0.8, 0.0]], rtol=1e-6)


@given(seed=st.integers(0, 10_000), threshold=st.sampled_from([0.0, 0.1, 0.5]))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_scaling_equals_oracle(seed, threshold):
    Z = random_csr(12, 9, 0.4, seed)
    dense = Z.toarray().astype(np.float64)
    for split in ("kmeans", "ndcg"):
        scaled = scale_vectors(Z, split=split, threshold=threshold, n_threads=2).toarray()
        for row, result in zip(dense, scaled, strict=True):
            size = np.linalg.norm(row) if split == "kmeans" else oracles.ideal_dcg(row)
            expected = row / size if size > 0 else row
            expected[np.abs(expected) <= threshold] = 0.0
            np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_ndcg_needs_positive_values():
    Z = canonical_csr(np.array([[1.0, -0.5]]), name="Z")
    with pytest.raises(ValueError, match=r"which requires values >= 0, got -0\.5"):
        scale_vectors(Z, split="ndcg", threshold=0.0, n_threads=1)


def test_given_vectors_from_names_ids_and_matrices():
    by_name = given_vectors({"cat": [1, 2], "dog": [3, 4]}, n_features=3, names=["dog", "x", "cat"])
    np.testing.assert_array_equal(by_name.toarray(), [[3, 4], [0, 0], [1, 2]])
    by_id = given_vectors({2: [1.0]}, n_features=3, names=None)
    np.testing.assert_array_equal(by_id.toarray(), [[0], [0], [1]])
    matrix = given_vectors(np.eye(3), n_features=3, names=None)
    np.testing.assert_array_equal(matrix.toarray(), np.eye(3))


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
    X = canonical_csr(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]), name="X")
    given = canonical_csr(np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]), name="given")
    Z = vectors(X).by_given(given).toarray()
    np.testing.assert_array_equal(Z, [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 2, 3]])


@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_column_statistics_equal_numpy(n_threads):
    X = random_csr(3000, 40, 0.1, seed=4)
    counts, energy = _native.column_statistics(X, n_threads=n_threads)
    dense = X.toarray().astype(np.float64)
    unit = dense / np.maximum(np.linalg.norm(dense, axis=1), 1e-30)[:, None]
    np.testing.assert_array_equal(counts, (dense != 0).sum(axis=0))
    np.testing.assert_allclose(energy, (unit**2).sum(axis=0), rtol=1e-9)


def test_largest_ids_breaks_ties_by_id():
    np.testing.assert_array_equal(largest_ids(np.array([1.0, 3.0, 3.0, 3.0]), 2), [1, 2])
