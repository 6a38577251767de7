"""The command line, case by case: what it writes, what it says, how it leaves."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import defrag
from cli_running import files, run, run_well
from defrag import Defrag, Hybrid
from defrag.cli import _flags, cluster
from defrag.io import (
    Dataset,
    Split,
    read_data,
    read_groups,
    read_npz,
    read_svmlight,
    write_features,
    write_groups,
    write_npz,
    write_svmlight,
    write_xmc,
)

N_FEATURES = 24


def points():
    """Three blocks of eight features, twelve points with two labels each; one point is bare."""
    random = np.random.default_rng(7)
    X = np.kron(np.eye(3), np.ones((4, 8))) * random.integers(1, 5, (12, N_FEATURES))
    X = X * (random.random(X.shape) < 0.7)
    Y = np.kron(np.eye(3), np.ones((4, 2)))
    Y[5] = 0
    return (
        sparse.csr_array(X.astype(np.float32)),
        sparse.csr_array(Y.astype(np.float32)),
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give a folder, made the current one, with the same points in every form."""
    X, Y = points()
    write_xmc(tmp_path / "train.txt", X, Y)
    write_xmc(tmp_path / "train.txt.gz", X, Y)
    write_xmc(tmp_path / "train.txt.xz", X, Y)
    write_xmc(tmp_path / "X.txt", X, Y, labels=tmp_path / "Y.txt")
    write_npz(tmp_path / "train.npz", X, Y)
    write_npz(tmp_path / "X.npz", X)
    write_svmlight(tmp_path / "train.svm", X, Y, zero_based=False)
    write_groups(tmp_path / "groups.txt", np.arange(N_FEATURES) // 4)
    words = [f"word{j}" for j in range(N_FEATURES)]
    (tmp_path / "words.txt").write_text("\n".join(words) + "\n")
    (tmp_path / "few.txt").write_text("word0\nword1\n")
    vectors = np.random.default_rng(3).normal(size=(N_FEATURES, 5)).round(3)
    lines = (f"{word} {' '.join(map(str, row))}" for word, row in zip(words, vectors, strict=True))
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "broken.txt").write_text("2 3 4\n0 1:1\n1 7:1\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "short.txt").write_text("3 3 4\n0 1:1\n")
    (tmp_path / "bad_groups.txt").write_text("2\n2 0 1\n1 1\n")
    (tmp_path / "few_groups.txt").write_text("2\n2 0 1 \n1 2 \n")
    (tmp_path / "empty_group.txt").write_text(
        f"3\n{N_FEATURES} {' '.join(map(str, range(N_FEATURES)))} \n0 \n0 \n"
    )
    (tmp_path / "a folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def same(a, b):
    return a.shape == b.shape and (a != b).nnz == 0


# What is refused: the command line, and what the one line on stderr must say.
REFUSED = {
    "no such verb": ("tarin", "No such command 'tarin'"),
    "no such flag": ("cluster train.txt out --wrong 1", "No such option: --wrong"),
    "no such global flag": ("--wrong", "No such option: --wrong"),
    "missing argument": ("cluster train.txt", "Missing argument 'GROUPS'"),
    "extra argument": ("info train.txt groups.txt", "unexpected extra argument"),
    "flag without value": ("cluster train.txt out --tol", "requires an argument"),
    "word for a number": ("cluster train.txt out --max-iter ten", "'--max-iter'.*integer"),
    "no such choice": ("cluster train.txt out --split x", "'--split'.*'kmeans', 'ndcg'"),
    "no such preset": ("cluster train.txt out --preset y", "'--preset'"),
    "out of range": (
        "cluster train.txt out --max-cluster-size 0",
        "max_cluster_size of Defrag must be an int >= 1, got 0",
    ),
    "share above one": ("cluster train.txt out --sample-points 1.5", "sample_points of Defrag"),
    "share not a number": ("cluster train.txt out --singletons nan", "singletons.*got nan"),
    "bad seed": ("cluster train.txt out --seed=-1", r"random_state must be in \[0, 2\*\*63\)"),
    "too many groups": ("cluster train.txt out --n-clusters 99", "at most the number of features"),
    "preset and its opposite": (
        "cluster train.txt out --preset hybrid --split ndcg",
        "--split cannot be combined with --preset hybrid",
    ),
    "method and a preset": (
        "cluster train.txt out --method itdc --preset xy",
        "--preset cannot be combined with --method itdc",
    ),
    "method and a flag of another": (
        "cluster train.txt out --method top-features --balance 0.5",
        "--balance cannot be combined with --method top-features",
    ),
    "method without vectors": (
        "cluster train.txt out --method hash-groups --vocabulary words.txt",
        "--vocabulary needs a --representation of word vectors",
    ),
    "no such method": ("cluster train.txt out --method kmeans", "'--method'.*'itdc'"),
    "method out of memory": (
        "cluster train.txt out --method lsc --max-memory-gb 0.0000001",
        "LSC needs about .* GB for .* more than max_memory_gb",
    ),
    "preset and its own": (
        "cluster train.txt out --preset xy --representation x",
        "--representation cannot be combined with --preset xy",
    ),
    "pooling without values": (
        "cluster train.txt out --pooling mean",
        "--pooling changes nothing without --agglomerated",
    ),
    "labels are needed": ("cluster X.txt out --preset xy", "requires y to be passed"),
    "labels twice": ("cluster train.txt out --labels Y.txt", "train.txt: has labels already"),
    "labels of other points": ("cluster X.txt out --labels broken_Y.txt", "broken_Y.txt: "),
    "vectors without words": (
        "cluster train.txt out --representation vectors.txt",
        "word vectors need --vocabulary",
    ),
    "words without vectors": ("cluster train.txt out --vocabulary words.txt", "--vocabulary needs"),
    "too few words": (
        "cluster train.txt out --representation vectors.txt --vocabulary few.txt",
        "few.txt: 2 words, but the data have 24 features",
    ),
    "vectors that are not": (
        "cluster train.txt out --representation words.txt --vocabulary words.txt",
        "words.txt:1: expected a word",
    ),
    "wrong file name": ("cluster nothing.txt out", "^defrag: error: nothing.txt: No such file"),
    "a folder for data": ("cluster . out", r"\.: is a directory, not a file"),
    "a folder for output": ("cluster train.txt .", "Is a directory"),
    "output in no folder": ("cluster train.txt none/out", "none/out: No such file"),
    "broken data": ("cluster broken.txt out", "^defrag: error: broken.txt:3: feature index 7"),
    "empty data": ("cluster empty.txt out", "empty.txt"),
    "strict": ("cluster short.txt out --strict", "header declares 3 points, the file has 1"),
    "json and file on stdout": ("cluster train.txt - --json", "--json and an output of -"),
    "two files on stdout": ("cluster train.txt - --agglomerated -", "would share standard output"),
    "svmlight of unknown base": ("cluster train.svm out", "give --zero-based or --one-based"),
    "agglomerate without data": ("agglomerate nothing.txt groups.txt out", "nothing.txt: No such"),
    "agglomerate without groups": ("agglomerate train.txt none.txt out", "none.txt: No such file"),
    "data for groups": ("agglomerate train.txt train.txt out", "train.txt:1: the first line must"),
    "features in two groups": (
        "agglomerate train.txt bad_groups.txt out --allow-missing",
        "bad_groups.txt:3: feature 1 is in a group already",
    ),
    "features in no group": (
        "agglomerate train.txt few_groups.txt out",
        "feature 3 is in no group",
    ),
    "groups of more features": ("agglomerate small.txt groups.txt out", "feature index"),
    "all from stdin": ("agglomerate - - out", "cannot both be standard input"),
    "scale without train": ("agglomerate train.txt groups.txt out --scale energy", "go together"),
    "train without scale": ("agglomerate train.txt groups.txt out --train X.txt", "go together"),
    "train of other features": (
        "agglomerate train.txt groups.txt out --scale energy --train small.txt",
        "small.txt: 2 features, but train.txt has 24",
    ),
    "convert to unknown base": ("convert train.txt out.svm", "out.svm: svmlight files do not say"),
    "convert from unknown base": ("convert train.svm out", "train.svm: svmlight files do not say"),
    "base that is wrong": ("convert zero.svm out --one-based", "zero.svm:1: feature index 0"),
    "form that is wrong": ("convert train.txt out --from npz", "expected npz, found xmc"),
    "split archive": (
        "convert train.txt out.npz --labels-out Z.txt",
        "needs an output of the form",
    ),
    "split into an archive": ("convert train.txt out --labels-out Z.npz", "writes text"),
    "split into one file": ("convert train.txt out --labels-out out", "must differ"),
    "split without labels": ("convert X.txt out --labels-out Z.txt", "the input has no labels"),
    "too narrow": ("convert train.txt out --n-features 3", "train.txt:2: feature index"),
    "negative width": ("convert train.txt out --n-features=-3", "n_features must be in"),
    "damaged archive": ("convert damaged.npz out", "damaged.npz: is a damaged archive"),
    "damaged gzip": ("convert damaged.gz out", "damaged.gz: the compressed data end too early"),
    "info about nothing": ("info nothing.txt", "nothing.txt: No such file"),
    "info about a folder": ("info .", "is a directory"),
    "info about prose": ("info words.txt", "words.txt:1: the header must be"),
    "info about bad groups": ("info bad_groups.txt", "bad_groups.txt:3: feature 1"),
    "demo with no groups": ("demo --max-cluster-size 0", "max_cluster_size of Defrag"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_in_one_line_and_leaves_nothing(folder, name):
    line, expected = REFUSED[name]
    (folder / "broken_Y.txt").write_text("1 2\n0:1\n")
    (folder / "small.txt").write_text("1 2 1\n0 1:1\n")
    (folder / "zero.svm").write_text("0 0:1\n")
    (folder / "damaged.npz").write_bytes((folder / "train.npz").read_bytes()[:-40])
    (folder / "damaged.gz").write_bytes((folder / "train.txt.gz").read_bytes()[:-12])
    before = files(folder)
    result = run(*line.split(" "))
    assert result.exit_code == 2
    assert result.stderr.startswith("defrag: error: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("\n")
    assert re.search(expected, result.stderr), result.stderr
    assert not result.stdout
    assert files(folder) == before


# Every flag of `cluster` that is a parameter, with a value that is not its default.
PARAMETERS = {
    "split": "ndcg",
    "max_cluster_size": 3,
    "n_clusters": 5,
    "stop": "leaf<2*d0",
    "sample_points": 0.6,
    "volume": "l0",
    "sample_labels": 0.5,
    "min_labels": 2,
    "popularity": "sample",
    "row_norm": "l2",
    "threshold": 0.3,
    "unseen": "drop",
    "tol": 0.1,
    "max_iter": 1,
    "singletons": 0.5,
    "rest": "hash",
    "random_state": 99,
    "n_jobs": 2,
}
ABOUT_VALUES = {"pooling": "mean", "scale": "energy"}


@pytest.mark.parametrize("name", PARAMETERS)
def test_flag_is_parameter(folder, name):
    X, Y = points()
    settings = {"random_state": 1, "max_cluster_size": 4, name: PARAMETERS[name]}
    flags = [word for key in settings for word in (_flags.flag_name(key), str(settings[key]))]
    run_well("cluster", "train.txt", "groups.out", *flags, "--representation", "xy")
    expected = Defrag("xy", **settings).fit(X, Y)
    found = read_groups(folder / "groups.out", N_FEATURES, allow_missing=True)
    np.testing.assert_array_equal(found, expected.labels_)


@pytest.mark.parametrize("name", ABOUT_VALUES)
def test_flag_about_values_is_parameter(folder, name):
    X, _ = points()
    flags = (_flags.flag_name(name), ABOUT_VALUES[name], "--seed", "1")
    run_well("cluster", "train.txt", "groups.out", *flags, "--agglomerated", "small.txt")
    expected = Defrag(random_state=1, **{name: ABOUT_VALUES[name]}).fit_transform(X)
    assert same(read_data(folder / "small.txt")[0], expected)


def test_every_parameter_is_a_flag():
    names = set(Defrag().get_params()) - {"representation", "verbose"}
    assert names == {*PARAMETERS, *ABOUT_VALUES}
    help_text = run_well("cluster", "--help")
    for name in names - {"random_state"}:
        assert _flags.flag_name(name) in help_text
    assert "--random-state" in help_text


def test_flag_says_none(folder):
    run_well("cluster", "train.txt", "a", "--seed", "1", "--row-norm", "none")
    run_well("cluster", "train.txt", "b", "--random-state", "1")
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("x", Defrag(random_state=3)),
        ("xy", Defrag("xy", random_state=3)),
        ("n", Defrag(split="ndcg", random_state=3)),
        ("hybrid", Hybrid(random_state=3)),
    ],
)
@pytest.mark.parametrize("data", ["train.txt", "train.txt.gz", "train.txt.xz", "train.npz"])
def test_preset_is_library(folder, preset, expected, data):
    X, Y = points()
    args = ("--preset", preset, "--seed", "3", "--agglomerated", "small", "--json")
    said = json.loads(run_well("cluster", data, "groups.out", *args))
    small = expected.fit(X, Y).transform(X)
    np.testing.assert_array_equal(read_groups(folder / "groups.out"), expected.labels_)
    found_X, found_Y = read_data(folder / "small")
    assert same(found_X, small)
    assert same(found_Y, Y)
    assert said["n_clusters"] == expected.n_clusters_
    assert said["n_features"] == N_FEATURES
    assert said["n_dropped"] == 0
    assert said["balance"] >= 1


def test_presets_are_all_tested():
    assert {preset.value for preset in cluster.Preset} == {"x", "xy", "n", "hybrid"}
    assert set(cluster.PRESETS) == set(cluster.Preset)


@pytest.mark.parametrize("method", cluster.METHODS)
def test_method_is_library(folder, method):
    X, Y = points()
    args = ("--method", method, "--seed", "3", "--n-clusters", "5", "--agglomerated", "small")
    said = json.loads(run_well("cluster", "train.txt", "groups.out", *args, "--json"))
    expected = cluster.METHODS[method](random_state=3, n_clusters=5).fit(X, Y)
    found = read_groups(folder / "groups.out", N_FEATURES, allow_missing=True)
    np.testing.assert_array_equal(found, expected.labels_)
    assert same(read_data(folder / "small")[0], expected.transform(X))
    assert json.loads(run_well("info", "groups.out", "--json"))["groups"] == 5
    assert said["n_clusters"] == 5


def test_flags_of_all_methods():
    help_text = run_well("cluster", "--help")
    for kind in cluster.METHODS.values():
        for name in set(kind().get_params()) - {"random_state", "verbose"}:
            assert _flags.flag_name(name) in help_text


def test_word_vectors_represent_features(folder):
    X, _ = points()
    names = ("--representation", "vectors.txt", "--vocabulary", "words.txt")
    run_well("cluster", "X.txt", "groups.out", *names, "--max-cluster-size", "3", "--seed", "0")
    vectors = np.random.default_rng(3).normal(size=(N_FEATURES, 5)).round(3).astype(np.float32)
    expected = Defrag(vectors, max_cluster_size=3, random_state=0).fit(X)
    np.testing.assert_array_equal(read_groups(folder / "groups.out"), expected.labels_)


def test_cluster_reads_split_form_and_svmlight(folder):
    shared = ("--preset", "xy", "--seed", "5")
    run_well("cluster", "train.txt", "a", *shared)
    run_well("cluster", "X.txt", "b", *shared, "--labels", "Y.txt")
    run_well("cluster", "X.npz", "c", *shared, "--labels", "Y.txt")
    run_well("cluster", "train.svm", "d", *shared, "--one-based")
    assert {(folder / name).read_bytes() for name in "abcd"} == {(folder / "a").read_bytes()}


def expected_pools(X, pooling):
    """Give the groups' values by the definition."""
    member = np.kron(np.eye(6), np.ones((4, 1)))
    sums = X.toarray() @ member
    if pooling == "sum":
        return sums
    if pooling == "mean":
        return sums / 4
    return sums / np.maximum((X.toarray() != 0) @ member, 1)


@pytest.mark.parametrize("pooling", ["sum", "mean", "mean_nonzero"])
@pytest.mark.parametrize(
    ("data", "flags", "labelled"),
    [
        ("train.txt", (), True),
        ("train.txt.gz", (), True),
        ("train.txt.xz", (), True),
        ("X.txt", (), False),
        ("X.txt", ("--labels", "Y.txt"), True),
        ("train.npz", (), True),
        ("X.npz", (), False),
    ],
)
def test_agglomerate_keeps_the_form(folder, data, flags, labelled, pooling):
    X, Y = points()
    run_well("agglomerate", data, "groups.txt", "out", "--pooling", pooling, *flags)
    assert (folder / "out").read_bytes().startswith(b"PK") == data.endswith(".npz")
    found_X, found_Y = read_data(folder / "out")
    np.testing.assert_allclose(found_X.toarray(), expected_pools(X, pooling), rtol=1e-6)
    assert same(found_Y, Y) if labelled else found_Y is None


def test_agglomerate_keeps_svmlight(folder):
    X, Y = points()
    run_well("agglomerate", "train.svm", "groups.txt", "out", "--one-based", "--n-jobs", "2")
    found_X, found_Y = read_svmlight(folder / "out", zero_based=False)
    np.testing.assert_allclose(found_X.toarray(), expected_pools(X, "sum"))
    assert same(found_Y, Y)


def test_agglomerate_scales_as_hybrid_does(folder):
    X, _ = points()
    test = sparse.csr_array(X[::-1])
    write_features(folder / "test.txt", test)
    run_well("cluster", "train.txt", "groups.out", "--preset", "hybrid", "--seed", "3")
    scale = ("--scale", "energy", "--train", "train.txt")
    run_well("agglomerate", "test.txt", "groups.out", "out", *scale)
    assert same(read_data(folder / "out")[0], Hybrid(random_state=3).fit(X).transform(test))


def test_agglomerate_drops_only_when_told(folder):
    run_well("agglomerate", "train.txt", "few_groups.txt", "out", "--allow-missing")
    found, _ = read_data(folder / "out")
    X = points()[0].toarray()
    np.testing.assert_array_equal(found.toarray(), np.stack([X[:, 0] + X[:, 1], X[:, 2]], axis=1))


def test_empty_group_keeps_its_column(folder):
    run_well("agglomerate", "train.txt", "empty_group.txt", "out")
    assert read_data(folder / "out")[0].shape == (12, 3)
    assert json.loads(run_well("info", "empty_group.txt", "--json"))["groups"] == 3


CONVERSIONS = [
    ("train.txt", "out.txt", ()),
    ("train.txt", "out.txt.gz", ()),
    ("train.txt", "out.txt.xz", ()),
    ("train.txt", "out.npz", ()),
    ("train.txt", "out", ("--to", "npz")),
    ("train.npz", "out.txt", ("--from", "npz")),
    ("train.npz", "out.NPZ", ()),
    ("X.txt", "out.txt", ("--labels", "Y.txt")),
    ("X.npz", "out.npz", ("--labels", "Y.txt")),
    ("train.svm", "out.txt", ("--one-based",)),
    ("train.svm", "out.npz", ("--one-based", "--n-features", str(N_FEATURES))),
]


@pytest.mark.parametrize(("source", "out", "flags"), CONVERSIONS)
def test_convert_keeps_the_points(folder, source, out, flags):
    X, Y = points()
    run_well("convert", source, out, *flags)
    found_X, found_Y = read_data(folder / out)
    assert same(found_X, X)
    assert same(found_Y, Y)
    archive = "npz" in (out + "".join(flags[1:])).lower() and "--from" not in flags
    assert (folder / out).read_bytes().startswith(b"PK") == archive


def test_convert_splits(folder):
    run_well("convert", "train.txt", "X.out", "--labels-out", "Y.out")
    assert (folder / "X.out").read_bytes() == (folder / "X.txt").read_bytes()
    assert (folder / "Y.out").read_bytes() == (folder / "Y.txt").read_bytes()


@pytest.mark.parametrize("base", ["--zero-based", "--one-based"])
@pytest.mark.parametrize("out", ["out.svm", "out.libsvm.gz", "out.svmlight"])
def test_convert_to_svmlight(folder, out, base):
    X, Y = points()
    run_well("convert", "train.txt", out, base)
    found = read_svmlight(folder / out, zero_based=base == "--zero-based", n_features=N_FEATURES)
    assert same(found[0], X)
    assert same(found[1], Y)


def test_convert_keeps_points_without_labels(folder):
    run_well("convert", "X.txt", "out.npz")
    assert read_npz(folder / "out.npz")[1] is None
    run_well("convert", "X.txt", "out.svm", "--zero-based")
    assert read_svmlight(folder / "out.svm", zero_based=True)[1].shape == (12, 0)


def test_convert_widens(folder):
    run_well("convert", "train.txt", "out", "--n-features", "30", "--n-labels", "9")
    X, Y = read_data(folder / "out")
    assert (X.shape, Y.shape) == ((12, 30), (12, 9))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("data", ["train.txt", "train.txt.xz", "train.npz"])
def test_info_about_data(data):
    X, Y = points()
    said = json.loads(run_well("info", data, "--json"))
    lengths = np.diff(X.indptr)
    assert said == {
        "file": data,
        "kind": "data",
        "form": "npz" if data.endswith("npz") else "xmc",
        "points": 12,
        "features": N_FEATURES,
        "labels": 6,
        "non_zeros": X.nnz,
        "non_zeros_per_point": {
            "min": lengths.min(),
            "mean": pytest.approx(lengths.mean()),
            "max": lengths.max(),
        },
        "points_without_features": int((lengths == 0).sum()),
        "features_never_seen": int((X.toarray().sum(axis=0) == 0).sum()),
        "value": {
            "min": X.data.min(),
            "mean": pytest.approx(X.data.mean()),
            "max": X.data.max(),
        },
        "labels_per_point": {"min": 0, "mean": pytest.approx(Y.nnz / 12), "max": 2},
        "points_without_labels": 1,
        "labels_without_points": 0,
    }


def test_info_about_features_only(folder):
    assert json.loads(run_well("info", "X.txt", "--json"))["labels"] is None
    assert json.loads(run_well("info", "X.txt", "--labels", "Y.txt", "--json"))["labels"] == 6
    assert json.loads(run_well("info", "train.svm", "--one-based", "--json"))["labels"] == 6
    (folder / "bare.txt").write_text("0 0 0\n")
    assert json.loads(run_well("info", "bare.txt", "--json"))["value"] is None


def test_info_about_groups(folder):
    (folder / "uneven.txt").write_text("2\n3 0 1 4 \n1 2 \n")
    assert json.loads(run_well("info", "uneven.txt", "--json")) == {
        "file": "uneven.txt",
        "kind": "groups",
        "groups": 2,
        "features": 5,
        "features_in_no_group": 1,
        "group_size": {"min": 1, "mean": 2.0, "max": 3},
        "balance": 3.0,
        "entropy": pytest.approx(0.8112781),
    }
    (folder / "none.txt").write_text("0\n")
    assert json.loads(run_well("info", "none.txt", "--json"))["groups"] == 0
    assert json.loads(run_well("info", "empty_group.txt", "--json"))["balance"] is None


@pytest.mark.usefixtures("folder")
def test_info_for_people():
    lines = run_well("info", "train.txt").splitlines()
    assert "points                   12" in lines
    assert any(line.startswith("labels per point         min 0  mean 1.83333") for line in lines)
    assert "labels                   none" in run_well("info", "X.txt")


@pytest.mark.parametrize("verb", ["demo", "cluster", "agglomerate", "convert", "info"])
def test_help_shows_examples(verb):
    said = run_well(verb, "--help")
    assert said == run_well(verb, "-h")
    assert "Examples:" in said
    assert f"defrag {verb}" in said.partition("Examples:")[2]


def test_version_and_no_verb():
    assert run_well("--version") == f"defrag {defrag.__version__}\n"
    result = run()
    assert result.exit_code == 2
    assert "Usage: defrag" in result.stdout


def test_warning_is_one_line(folder):
    result = run("convert", "short.txt", "out")
    assert result.exit_code == 0
    assert result.stderr == ("warning: short.txt: the header declares 3 points, the file has 1\n")
    assert not result.stdout
    assert files(folder).count("out") == 1


def test_error_after_warning_and_repeated_warning(folder):
    (folder / "twice.txt").write_text("2 3 4\n0,0 1:1 1:1\n1,1 2:1 2:1\n")
    result = run("convert", "twice.txt", "nowhere/out")
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["warning", "warning", "defrag"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("how", ["flag", "variable"])
def test_debug_shows_the_traceback(how, monkeypatch):
    args = ["info", "nothing.txt"]
    if how == "variable":
        monkeypatch.setenv("DEFRAG_DEBUG", "1")
    result = run(*(["--debug"] if how == "flag" else []), *args)
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback")
    assert result.stderr.splitlines()[-1] == "defrag: error: nothing.txt: No such file or directory"


UNEXPECTED = {
    "a bug": (KeyError("missing"), 1, "unexpected KeyError: 'missing' (--debug shows where)"),
    "no memory": (MemoryError(), 1, "not enough memory"),
    "full disk": (OSError(28, "No space left on device", "out"), 1, "out: No space left on device"),
    "two lines": (ValueError("one\ntwo"), 2, "one\\ntwo"),
    "Ctrl-C": (KeyboardInterrupt(), 130, "interrupted"),
}


@pytest.mark.parametrize("name", UNEXPECTED)
def test_leaves_in_one_line_with_nothing_behind(folder, name, monkeypatch):
    error, code, message = UNEXPECTED[name]

    def fail(*_args, **_options):
        yield b"half a file"
        raise error

    before = files(folder)
    monkeypatch.setattr("defrag._native.format_rows", fail)
    result = run("convert", "train.txt", "out")
    assert result.exit_code == code
    assert result.stderr == f"defrag: error: {message}\n"
    assert files(folder) == before


NAMES = ["with space.txt", "Wörter-単語.txt", "line\nfeed.txt", "quote'\".txt", "[bold]x[red].txt",
         os.fsdecode(b"not-utf8-\xff.txt")]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_a_name(folder, name):
    (folder / "train.txt").rename(folder / name)
    run_well("convert", name, name + ".npz")
    assert same(read_npz(folder / (name + ".npz"))[0], points()[0])
    assert run_well("info", name).count("\n") == 14
    assert json.loads(run_well("info", name, "--json"))["file"] == name
    result = run("info", name + name)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


def test_name_that_begins_with_a_dash(folder):
    (folder / "train.txt").rename(folder / "-x.txt")
    assert "points" in run_well("info", "--", "-x.txt")


def test_output_replaces_whole_files_only(folder):
    (folder / "out").write_text("old")
    assert run("convert", "broken.txt", "out").exit_code == 2
    assert (folder / "out").read_text() == "old"
    run_well("convert", "train.txt", "out")
    assert (folder / "out").read_bytes() == (folder / "train.txt").read_bytes()


def test_compressed_output_is_compressed(folder):
    run_well("agglomerate", "train.txt", "groups.txt", "out.gz")
    assert gzip.decompress((folder / "out.gz").read_bytes()).startswith(b"12 6 6\n")


@pytest.mark.parametrize("part", ["train", "test"])
def test_agglomerate_equals_the_official_program(data_folder, tmp_path, part):
    fixtures = Path(data_folder) / "fixtures"
    out = tmp_path / "out.txt"
    groups = str(fixtures / "bibtex_group_official.txt")
    run_well("agglomerate", str(fixtures / f"bibtex_{part}X.txt"), groups, str(out))
    expected, _ = read_data(fixtures / f"bibtex_{part}X_defrag.txt")
    assert same(read_data(out)[0], expected)


def test_demo_compares_the_methods():
    said = json.loads(run_well("demo", "--json", "--max-cluster-size", "64", "--seed", "1"))
    rows = {row["method"]: row for row in said["methods"]}
    assert list(rows) == ["DEFRAG-X", "DEFRAG-XY", "DEFRAG-N", "Hybrid"]
    for row in rows.values():
        assert row["groups"] == 1024
        assert 0 < row["loss_of_mutual_information"] < 1
        assert row["non_zeros_per_point_after"] <= row["non_zeros_per_point_before"]


def test_demo_shows_a_table(monkeypatch):
    split = Split(*points())
    tiny = Dataset("tiny", split, split, None, None, "Twelve points.")
    monkeypatch.setattr("defrag.cli.demo.load_dataset", lambda _: tiny)
    said = run_well("demo", "--max-cluster-size", "4")
    assert "12 Debian packages, 24 words, 6 labels" in said
    for name in ("DEFRAG-X ", "DEFRAG-XY", "DEFRAG-N", "Hybrid", "LMI", "balance"):
        assert name in said
