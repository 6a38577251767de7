"""The verbs about models, case by case: predict, evaluate, info, and what all refuse."""

import json

import numpy as np
import pytest
from scipy import sparse

from defrag import load, metrics
from defrag.io import write_predictions
from defrag.io.xmc import write_svmlight
from tests.data import read_predictions
from tests.helpers.cli_model_data import N_FEATURES, N_LABELS, N_POINTS, fill_folder, points
from tests.helpers.cli_running import run, run_warned, run_well, told

folder = pytest.fixture(fill_folder, autouse=True)


PREDICTED = ["train.txt", "train.txt.xz", "train.npz", "X.txt", "train.svm --one-based",
             "train.txt --n-jobs 2"]  # fmt: skip


@pytest.mark.parametrize("k", [1, 3, 8, 20])
@pytest.mark.parametrize("data", PREDICTED)
def test_predict_writes_bytes_of_library(folder, data, k, monkeypatch):
    monkeypatch.setattr("defrag.io.points.ROWS_AT_A_TIME", 7)
    line = f"predict model.safetensors {data} --top-k {k} --output out"
    assert run_well(*line.split()) == ""
    scores = load(folder / "model.safetensors").decision_function(points()[0], k=k)
    write_predictions(folder / "expected", scores)
    assert (folder / "out").read_bytes() == (folder / "expected").read_bytes()


def test_predict_writes_json_with_ids_or_names(folder):
    run_well("predict", "model.safetensors", "X.txt", "--output", "ids", "--json")
    run_well("predict", "model.safetensors", "X.txt", "--output", "names", "--json", "--names")
    labels, scores = load(folder / "model.safetensors").predict_topk(points()[0], k=5)
    ids = [json.loads(line) for line in (folder / "ids").read_text().splitlines()]
    named = [json.loads(line) for line in (folder / "names").read_text().splitlines()]
    assert len(ids) == len(named) == N_POINTS
    for row in range(N_POINTS):
        found = labels[row][labels[row] >= 0].tolist()
        assert ids[row]["labels"] == found
        assert named[row]["labels"] == [f"label {j}" for j in found]
        assert np.float32(ids[row]["scores"]).tolist() == scores[row][: len(found)].tolist()
        assert named[row]["scores"] == ids[row]["scores"]


def test_predict_writes_names(folder):
    run_well("predict", "model.safetensors", "X.txt", "--output", "out", "--names", "--top-k", "2")
    labels, scores = load(folder / "model.safetensors").predict_topk(points()[0], k=2)
    lines = (folder / "out").read_text().splitlines()
    assert len(lines) == N_POINTS
    pairs = zip(labels[0], scores[0], strict=True)
    assert lines[0] == "\t".join(f"label {label}:{score:.6g}" for label, score in pairs)


def test_json_of_truncated_file_needs_allow_truncated(folder):
    line = ("predict", "model.safetensors", "short.txt", "--output", "out", "--json")
    assert "declares 3 points, the file has 1; a truncated" in run(*line).stderr
    assert not (folder / "out").exists()
    result = run_warned(*line, "--allow-truncated")
    assert result.stderr == "warning: short.txt: the header declares 3 points, the file has 1\n"
    assert len((folder / "out").read_text().splitlines()) == 1


def test_evaluate_warns_of_depths_beyond_predictions():
    result = run_warned("evaluate", "train.txt", "top.txt", "--json")
    assert result.stderr == (
        "warning: top.txt: no point has more than 3 predictions: left out k = 5\n"
    )
    assert "P@3" in json.loads(result.stdout)
    assert "P@5" not in json.loads(result.stdout)


@pytest.mark.parametrize("with_train", [False, True])
@pytest.mark.parametrize("k", ["1,3,5", "2", "5,1"])
@pytest.mark.parametrize("data", ["train.txt", "X.txt --labels Y.txt", "train.npz"])
def test_evaluate_equals_library(data, k, with_train):
    Y = points()[1]
    file, *flags = data.split()
    flags += ["--train", "train.txt", "--A", "0.5", "--B", "0.4"] * with_train
    line = ("evaluate", file, "predictions.txt", *flags, "--top-k", k, "--json")
    said = json.loads(run_well(*line))
    assert ("by_frequency" in said) == with_train
    bins = said.pop("by_frequency", [])
    depths = sorted(int(one) for one in k.split(","))
    seen = {"train_labels": Y, "A": 0.5, "B": 0.4} if with_train else {}
    expected = metrics.evaluate(Y, read_predictions("predictions.txt"), k=depths, **seen)
    assert said == pytest.approx(expected)
    if with_train:
        rare = metrics.macro_precision(Y, read_predictions("predictions.txt"), Y, depths[0])
        assert [one["labels"] for one in bins] == rare.n_labels.tolist()
        found = [one[f"macro_P@{depths[0]}"] for one in bins if one["labels"]]
        assert found == pytest.approx(rare.precision[rare.n_labels > 0])


def test_evaluate_prints_tables():
    said = run_well("evaluate", "train.txt", "predictions.txt")
    for name in ("P@k", "nDCG@k", "R@k", "coverage@k"):
        assert name in said
    assert "PSP" not in said
    said = run_well("evaluate", "train.txt", "predictions.txt", "--train", "train.txt")
    assert "labels from frequent to rare" in said
    assert "70-100" in said


def test_evaluate_reads_svmlight_and_separate_label_files(folder):
    X, Y = points()
    write_svmlight(folder / "few.svm", X, sparse.csr_array(Y[:, :3]), zero_based=False)
    plain = told("evaluate", "train.txt", "predictions.txt")
    said = told("evaluate", "train.svm", "predictions.txt", "--one-based")
    assert said == plain
    # Labels that the file does not come to are labels still.
    run_well("evaluate", "few.svm", "predictions.txt", "--one-based")
    split = ("--train", "X.txt", "--train-labels", "Y.txt")
    assert "PSP@k" in run_well("evaluate", "train.txt", "predictions.txt", *split)


def test_info_describes_models():
    said = told("info", "model.safetensors")
    assert (said["kind"], said["features"], said["labels"]) == ("label_tree", N_FEATURES, N_LABELS)
    assert (said["trees"], said["label_names"], said["vocabulary"]) == (1, True, False)
    assert said["parameters"]["random_state"] == 3
    assert told("info", "groups.safetensors")["kind"] == "defrag"


NESTED = {
    "": {"kind": "focused", "base": "label_tree", "focus": "focus", "base.arity": "16",
         "focus.budget": "auto"},
    "--agglomerate hybrid": {
        "kind": "agglomerated", "base": "label_tree", "agglomeration": "hybrid",
        "base.arity": "16", "agglomeration.singletons": "0.5", "members": "1",
    },
    "--impute blend --rerank identity --gamma 4 --propensity-weight 0 --agglomerate hybrid": {
        "kind": "imputed", "base": "refrag", "base.base": "agglomerated",
        "base.base.base": "label_tree", "imputation": "fiat", "base.gamma": "4",
        "base.base.base.arity": "16", "members": "1",
    },
}  # fmt: skip


@pytest.mark.parametrize("flags", NESTED)
def test_info_names_nested_models_by_path(flags):
    run_well("train", "train.txt", "no-ending", *flags.split())
    pairs = dict(line.split(maxsplit=1) for line in run_well("info", "no-ending").splitlines())
    assert NESTED[flags].items() <= pairs.items()
