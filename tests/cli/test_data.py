"""The verbs about data files, case by case: convert, info."""

import numpy as np
import pytest

from defrag.agglomeration import Tight
from defrag.io.xmc import read_svmlight
from tests.data import read_data, read_npz
from tests.helpers.cli_data import N_FEATURES, fill_folder, points, same
from tests.helpers.cli_running import run_well, told

folder = pytest.fixture(fill_folder, autouse=True)


@pytest.mark.parametrize(
    "line",
    ["train.txt out.txt", "train.txt out.txt.gz", "train.txt out.txt.xz", "train.txt out.npz",
     "train.txt out --to npz", "train.npz out.txt --from npz", "train.npz out.NPZ",
     "X.txt out.txt --labels Y.txt", "X.npz out.npz --labels Y.txt",
     "train.svm out.txt --one-based", f"train.svm out.npz --one-based --n-features {N_FEATURES}"],
)  # fmt: skip
def test_convert_keeps_points(folder, line):
    X, Y = points()
    run_well("convert", *line.split())
    out = folder / line.split()[1]
    found_X, found_Y = read_data(out)
    assert same(found_X, X)
    assert same(found_Y, Y)
    archive = out.suffix.lower() == ".npz" or "--to npz" in line
    assert out.read_bytes().startswith(b"PK") == archive


def test_convert_writes_separate_labels(folder):
    run_well("convert", "train.txt", "X_out.txt", "--labels-out", "Y_out.txt")
    assert (folder / "X_out.txt").read_bytes() == (folder / "X.txt").read_bytes()
    assert (folder / "Y_out.txt").read_bytes() == (folder / "Y.txt").read_bytes()


@pytest.mark.parametrize("base", ["--zero-based", "--one-based"])
@pytest.mark.parametrize("out", ["out.svm", "out.libsvm.gz", "out.svmlight"])
def test_convert_writes_svmlight(folder, out, base):
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


def test_convert_overrides_numbers_of_columns(folder):
    run_well("convert", "train.txt", "out", "--n-features", "30", "--n-labels", "9")
    X, Y = read_data(folder / "out")
    assert (X.shape, Y.shape) == ((12, 30), (12, 9))


@pytest.mark.parametrize("data", ["train.txt", "train.txt.xz", "train.npz"])
def test_info_describes_data(data):
    X, Y = points()
    said = told("info", data)
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
        "value": {"min": X.data.min(), "mean": pytest.approx(X.data.mean()), "max": X.data.max()},
        "repeated_entries": pytest.approx(Tight(random_state=0).fit(X).saving_, abs=6e-4),
        "labels_per_point": {"min": 0, "mean": pytest.approx(Y.nnz / 12), "max": 2},
        "points_without_labels": 1,
        "labels_without_points": 0,
    }


def test_info_describes_data_without_labels(folder):
    assert told("info", "X.txt")["labels"] is None
    assert told("info", "X.txt", "--labels", "Y.txt")["labels"] == 6
    assert told("info", "train.svm", "--one-based")["labels"] == 6
    (folder / "bare.txt").write_text("0 0 0\n")
    assert told("info", "bare.txt")["value"] is None


def test_info_describes_groups(folder):
    (folder / "uneven.txt").write_text("2\n3 0 1 4 \n1 2 \n")
    assert told("info", "uneven.txt") == {
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
    assert told("info", "none.txt")["groups"] == 0
    assert told("info", "empty_group.txt")["balance"] is None


def test_info_prints_columns():
    lines = run_well("info", "train.txt").splitlines()
    assert "points                   12" in lines
    assert any(line.startswith("labels per point         min 0  mean 1.83333") for line in lines)
    assert "labels                   none" in run_well("info", "X.txt")
