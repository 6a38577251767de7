import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from defrag import Defrag
from defrag.agglomeration import Hybrid
from tests.oracles import agglomeration as oracles

POOLINGS = ["sum", "mean", "mean_nonzero"]


def power_law(n, d, seed, *, density=0.05):
    """Sparse rows whose columns fall off like a vocabulary's."""
    rng = np.random.default_rng(seed)
    chance = np.minimum(1.0, density * d * (1.0 / np.arange(1, d + 1)) / np.log(d))
    dense = (rng.random((n, d)) < chance) * rng.random((n, d))
    return sparse.csr_array(dense.astype(np.float32))


def planted(n_blocks, size, n_points, seed):
    """Features that are exact copies of each other inside a block, blocks without overlap."""
    rng = np.random.default_rng(seed)
    block_of_point = np.arange(n_points) % n_blocks
    values = rng.random(n_points) + 0.5
    columns = np.zeros((n_points, n_blocks))
    columns[np.arange(n_points), block_of_point] = values
    owner = rng.permutation(np.repeat(np.arange(n_blocks), size))
    return sparse.csr_array(columns[:, owner]), owner, block_of_point


@pytest.mark.parametrize("representation", ["x", "xy"])
@pytest.mark.parametrize("seed", range(5))
def test_planted_blocks_are_found(representation, seed):
    X, owner, block_of_point = planted(8, 4, 64, seed)
    defrag = Defrag(representation, max_cluster_size=4, sample_points=1.0, random_state=seed)
    defrag.fit(X, block_of_point)
    assert defrag.n_clusters_ == 8
    for block in range(8):
        assert len(set(defrag.labels_[owner == block])) == 1


@given(
    seed=st.integers(0, 10_000),
    pooling=st.sampled_from(POOLINGS),
    n_groups=st.integers(1, 9),
    dropped=st.booleans(),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_transform_equals_oracle(seed, pooling, n_groups, dropped):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.normal(size=(7, 12)) * (rng.random((7, 12)) < 0.4))
    defrag = Defrag(n_clusters=n_groups, pooling=pooling, random_state=seed).fit(X)
    if dropped:
        defrag.labels_ = np.where(rng.random(12) < 0.3, -1, defrag.labels_).astype(np.int32)
    expected = oracles.agglomerate(X, defrag.labels_, n_groups, pooling)
    np.testing.assert_allclose(defrag.transform(X).toarray(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_sums_are_kept_and_pooling_is_linear_or_not(pooling):
    X, Z = power_law(30, 60, 0), power_law(30, 60, 1)
    defrag = Defrag(random_state=0, pooling=pooling).fit(X)
    Xt, Zt = defrag.transform(X), defrag.transform(Z)
    combined = defrag.transform(2.0 * X + 3.0 * Z)
    linear = np.allclose((2.0 * Xt + 3.0 * Zt).toarray(), combined.toarray(), atol=1e-5)
    assert linear == (pooling != "mean_nonzero")
    assert Xt.nnz <= X.nnz
    if pooling == "sum":
        np.testing.assert_allclose(Xt.sum(axis=1), X.sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.uint8, bool])
def test_number_types_give_same_groups(dtype):
    X = (power_law(40, 30, 2).toarray() * 20).astype(dtype)
    labels = Defrag(random_state=0).fit(X.astype(np.float64)).labels_
    np.testing.assert_array_equal(labels, Defrag(random_state=0).fit(X).labels_)
    if dtype != np.float16:  # which scipy does not have
        sparse_labels = Defrag(random_state=0).fit(sparse.csr_array(X)).labels_
        np.testing.assert_array_equal(labels, sparse_labels)


def test_seeds_give_other_groups_and_repeated_or_shuffled_points_the_same():
    X = power_law(200, 150, 5)
    labels = [Defrag(random_state=seed).fit(X).labels_ for seed in range(2)]
    assert not np.array_equal(labels[0], labels[1])
    full = Defrag(sample_points=1.0, random_state=0)
    wanted = full.fit(X).labels_
    for same in (sparse.vstack([X, X]).tocsr(), X[np.random.default_rng(0).permutation(200)]):
        np.testing.assert_array_equal(full.fit(same).labels_, wanted)


def test_singletons_and_rest_share_the_number_of_groups():
    X = power_law(300, 128, 8)
    plain = Defrag(max_cluster_size=8, random_state=0).fit(X)
    assert plain.n_clusters_ == 16
    energy = plain.energy_
    heavy = np.sort(np.argsort(-energy, kind="stable")[:8])
    for rest in ("cluster", "hash"):
        half = Defrag(max_cluster_size=8, singletons=0.5, rest=rest, random_state=0).fit(X)
        assert half.n_clusters_ == 16
        sizes = np.bincount(half.labels_)
        np.testing.assert_array_equal(sizes[half.labels_[heavy]], 1)
        assert sorted(sizes[8:]) == [15] * 8
    top = Defrag(max_cluster_size=8, singletons=1.0, rest="drop", random_state=0).fit(X)
    assert top.n_clusters_ == 16
    heavy = np.sort(np.argsort(-energy, kind="stable")[:16])
    np.testing.assert_array_equal(np.flatnonzero(top.labels_ >= 0), heavy)
    np.testing.assert_array_equal(
        Hybrid(random_state=0).fit(X).labels_,
        Defrag(singletons=0.5, rest="hash", random_state=0).fit(X).labels_,
    )


def test_energy_scaling_gives_each_group_the_energy_of_its_members():
    X = power_law(200, 64, 9)
    unit = X.toarray() / np.maximum(np.linalg.norm(X.toarray(), axis=1), 1e-12)[:, None]
    defrag = Defrag(scale="energy", random_state=0).fit(X)
    energy = (defrag.transform(sparse.csr_array(unit)).toarray() ** 2).sum(axis=0)
    wanted = np.bincount(defrag.labels_, (unit**2).sum(axis=0))
    np.testing.assert_allclose(energy, wanted, rtol=1e-4)


def test_features_that_never_occur_fill_groups_or_are_dropped():
    X = sparse.csr_array(np.hstack([power_law(50, 20, 1).toarray() + 0.01, np.zeros((50, 12))]))
    fill = Defrag(max_cluster_size=4, random_state=0).fit(X)
    assert fill.n_clusters_ == 8
    np.testing.assert_array_equal(np.bincount(fill.labels_), 4)
    drop = Defrag(max_cluster_size=4, unseen="drop", random_state=0).fit(X)
    np.testing.assert_array_equal(drop.labels_[20:], -1)
    assert drop.n_clusters_ == 8  # 20 features in leaves of 2 and 3
    through = Defrag(max_cluster_size=4, unseen="cluster", random_state=0).fit(X)
    assert np.bincount(through.labels_).max() <= 4


def test_all_zero_data_still_gives_a_partition():
    defrag = Defrag(max_cluster_size=3, random_state=0).fit(sparse.csr_array((5, 10)))
    assert np.bincount(defrag.labels_).max() <= 3
    assert defrag.transform(sparse.csr_array((2, 10))).nnz == 0


def test_names_list_features_with_most_energy():
    pandas = pytest.importorskip("pandas")
    rows = [[0.1, 3, 0, 0], [0, 0, 2, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    frame = pandas.DataFrame(rows, columns=["rare", "cat", "dog", "owl"])
    defrag = Defrag(max_cluster_size=2, sample_points=1.0, random_state=0).fit(frame)
    assert sorted(defrag.get_feature_names_out()) == ["cat+rare", "dog+owl"]
    big = Defrag(max_cluster_size=8, random_state=0).fit(power_law(60, 16, 0))
    assert all(name.count("+") == 3 and name.endswith("+5") for name in big.get_feature_names_out())


def test_word_vectors_are_matched_by_name():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.eye(4), columns=["cat", "car", "dog", "bus"])
    words = {"cat": [1.0, 0.1], "dog": [1.0, 0.0], "car": [0.0, 1.0], "bus": [0.1, 1.0]}
    labels = Defrag(words, max_cluster_size=2, random_state=0).fit(frame).labels_
    assert labels[0] == labels[2]
    assert labels[1] == labels[3]
    assert labels[0] != labels[1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 99}, r"at most the number of features \(20\), got 99"),
        ({"representation": "z"}, "must be 'x', 'xy', a matrix or a mapping, got 'z'"),
        ({"representation": "xy"}, "requires y to be passed"),
        ({"singletons": 1.0}, "leaves no group for the other"),
    ],
)
def test_bad_combinations_leave_the_estimator_unfitted(parameters, message):
    defrag = Defrag(**parameters)
    with pytest.raises(ValueError, match=message):
        defrag.fit(power_law(10, 20, 0))
    assert not hasattr(defrag, "labels_")


def test_pipeline_with_linear_model():
    X, y = power_law(80, 40, 1), np.arange(80) % 2
    model = make_pipeline(Defrag(max_cluster_size=2, random_state=0), LinearSVC()).fit(X, y)
    assert model.predict(X).shape == (80,)


@pytest.mark.parametrize("options", [{}, {"pooling": "mean"}, {"scale": "energy"}], ids=str)
def test_a_linear_model_is_compressed_and_certified(options):
    X = power_law(120, 64, 3)
    W = np.random.default_rng(0).normal(size=(64, 5))
    defrag = Defrag(random_state=0, max_cluster_size=4, **options).fit(X)
    tied = defrag.tie_weights(W, X)
    assert tied.shape == (defrag.n_clusters_, 5)
    result = defrag.certificate(X, W)
    change = X @ W - defrag.transform(X) @ tied
    np.testing.assert_allclose(result.change, np.linalg.norm(change, axis=0), rtol=1e-4)
    np.testing.assert_allclose(result.worst, np.abs(change).max(axis=0), rtol=1e-4)
    published = defrag.certificate(X, W, level="frobenius")
    assert np.all(result.change <= result.bound * (1 + 1e-6))
    assert np.all(result.bound <= published.bound * (1 + 1e-6))


def test_a_mean_over_present_members_cannot_be_certified():
    X = power_law(20, 16, 3)
    defrag = Defrag(random_state=0, pooling="mean_nonzero").fit(X)
    with pytest.raises(ValueError, match="is not linear: tied weights require 'sum' or 'mean'"):
        defrag.certificate(X, np.ones(16))
