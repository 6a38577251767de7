"""The verbs about groups of features, case by case: cluster, agglomerate."""

import gzip
import json

import numpy as np
import pytest
from scipy import sparse

from defrag import Defrag, registry
from defrag.agglomeration import Hybrid, Tight
from defrag.io import read_groups, write_xmc
from defrag.io.xmc import read_svmlight
from tests.data import read_data
from tests.helpers.cli_data import N_FEATURES, fill_folder, points, same
from tests.helpers.cli_running import run_well, told

folder = pytest.fixture(fill_folder)


CHOICES = {
    "--preset x": Defrag(),
    "--preset xy": Defrag("xy"),
    "--preset n": Defrag(split="ndcg"),
    "--preset hybrid": Hybrid(),
    "--preset tight": Tight(),
    "--method tight --min-cosine 0.4": Tight(0.4),
    **{
        f"--method {one.word} --n-clusters 5": one.estimator()(n_clusters=5)
        for one in registry.entries("clustering") if one.word != "tight"
    },
}  # fmt: skip


@pytest.mark.parametrize("flags", CHOICES)
def test_cluster_equals_library(folder, flags):
    X, Y = points()
    args = (*flags.split(), "--seed", "3", "--agglomerated", "small", "--json")
    said = json.loads(run_well("cluster", "train.txt", "groups.out", *args))
    expected = CHOICES[flags].set_params(random_state=3).fit(X, Y)
    found = read_groups(folder / "groups.out", N_FEATURES, allow_missing=True)
    np.testing.assert_array_equal(found, expected.labels_)
    found_X, found_Y = read_data(folder / "small")
    assert same(found_X, expected.transform(X))
    assert same(found_Y, Y)
    n_groups = told("info", "groups.out")["groups"]
    assert said["n_clusters"] == expected.n_clusters_ == n_groups
    assert 1 < n_groups < N_FEATURES
    assert said["n_features"] == N_FEATURES
    assert said["n_dropped"] == np.count_nonzero(expected.labels_ < 0)
    assert (said["balance"] or 1) >= 1  # none if a group is empty


def test_word_vectors_can_represent_features(folder):
    X, _ = points()
    names = ("--representation", "vectors.txt", "--vocabulary", "words.txt")
    run_well("cluster", "X.txt", "groups.out", *names, "--max-cluster-size", "3", "--seed", "0")
    vectors = np.random.default_rng(3).normal(size=(N_FEATURES, 5)).round(3).astype(np.float32)
    expected = Defrag(vectors, max_cluster_size=3, random_state=0).fit(X)
    np.testing.assert_array_equal(read_groups(folder / "groups.out"), expected.labels_)


@pytest.mark.parametrize(
    "data",
    ["train.txt.gz", "train.txt.xz", "train.npz", "X.txt --labels Y.txt", "X.npz --labels Y.txt",
     "train.svm --one-based"],
)  # fmt: skip
def test_same_data_in_any_form_give_same_groups(folder, data):
    source, *flags = data.split()
    run_well("cluster", "train.txt", "a", "--preset", "xy", "--seed", "5")
    run_well("cluster", source, "b", "--preset", "xy", "--seed", "5", *flags)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def expected_pools(X, pooling):
    """Return the groups' values by the definition."""
    member = np.kron(np.eye(6), np.ones((4, 1)))
    sums = X.toarray() @ member
    if pooling == "sum":
        return sums
    if pooling == "mean":
        return sums / 4
    return sums / np.maximum((X.toarray() != 0) @ member, 1)


@pytest.mark.parametrize("pooling", ["sum", "mean", "mean_nonzero"])
@pytest.mark.parametrize(
    "data",
    ["train.txt", "train.txt.gz", "train.txt.xz", "X.txt", "X.txt --labels Y.txt", "train.npz",
     "X.npz"],
)  # fmt: skip
def test_agglomerate_keeps_format(folder, data, pooling):
    X, Y = points()
    file, *flags = data.split()
    run_well("agglomerate", file, "groups.txt", "out", "--pooling", pooling, *flags)
    assert (folder / "out").read_bytes().startswith(b"PK") == file.endswith(".npz")
    found_X, found_Y = read_data(folder / "out")
    np.testing.assert_allclose(found_X.toarray(), expected_pools(X, pooling), rtol=1e-6)
    assert found_Y is None if data in {"X.txt", "X.npz"} else same(found_Y, Y)


def test_agglomerate_keeps_format_svmlight(folder):
    X, Y = points()
    run_well("agglomerate", "train.svm", "groups.txt", "out", "--one-based", "--n-jobs", "2")
    found_X, found_Y = read_svmlight(folder / "out", zero_based=False)
    np.testing.assert_allclose(found_X.toarray(), expected_pools(X, "sum"))
    assert same(found_Y, Y)


def test_agglomerate_scales_like_hybrid(folder):
    X, _ = points()
    test = sparse.csr_array(X[::-1])
    write_xmc(folder / "test.txt", test)
    run_well("cluster", "train.txt", "groups.out", "--preset", "hybrid", "--seed", "3")
    scale = ("--scale", "energy", "--train", "train.txt")
    run_well("agglomerate", "test.txt", "groups.out", "out", *scale)
    assert same(read_data(folder / "out")[0], Hybrid(random_state=3).fit(X).transform(test))


def test_agglomerate_drops_features_with_allow_missing_only(folder):
    run_well("agglomerate", "train.txt", "few_groups.txt", "out", "--allow-missing")
    found, _ = read_data(folder / "out")
    X = points()[0].toarray()
    np.testing.assert_array_equal(found.toarray(), np.stack([X[:, 0] + X[:, 1], X[:, 2]], axis=1))


def test_empty_group_keeps_column(folder):
    run_well("agglomerate", "train.txt", "empty_group.txt", "out")
    assert read_data(folder / "out")[0].shape == (12, 3)
    assert told("info", "empty_group.txt")["groups"] == 3


def test_suffix_compresses_output(folder):
    run_well("agglomerate", "train.txt", "groups.txt", "out.gz")
    assert gzip.decompress((folder / "out.gz").read_bytes()).startswith(b"12 6 6\n")
