"""``defrag demo``, on the bundled data and on a few points."""

import json
import re

import numpy as np
import pytest

from defrag.io import Dataset, Split
from tests.helpers import cli_data
from tests.helpers.cli_model_data import N_FEATURES, N_LABELS, points
from tests.helpers.cli_running import check_refusal, run_well

METHODS = [
    "Parabel", "LabelTree", "LabelTree, Focus", "LabelTree, DEFRAG-X", "LabelTree, DEFRAG-XY",
    "LabelTree, Hybrid", "LabelTree, REFRAG", "LabelTree, FIAT",
]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tiny(monkeypatch):
    X, Y = points()
    known = np.diff(X.indptr) > 0  # a point without features is warned about
    split = Split(X[known], Y[known])
    names = np.array([f"[label{j}]" for j in range(N_LABELS)], dtype=object)
    words = np.array([f"word{j}" for j in range(N_FEATURES)], dtype=object)
    data = Dataset("tiny", split, split, names, words, "Forty points.")
    monkeypatch.setattr("defrag.lab.demo.load_dataset", lambda _: data)


def test_demo_prints_table_of_groups(folder, monkeypatch):
    split = Split(*cli_data.points())
    tiny = Dataset("tiny", split, split, None, None, "Twelve points.")
    monkeypatch.setattr("defrag.lab.demo.load_dataset", lambda _: tiny)
    said = run_well("demo", "--max-cluster-size", "4", "--report", "none")
    assert "12 Debian packages, 24 words, 6 labels" in said
    for name in ("DEFRAG-X ", "DEFRAG-XY", "DEFRAG-N", "Hybrid", "LMI", "balance"):
        assert name in said
    assert not list(folder.iterdir())


@pytest.mark.slow
def test_quick_demo_compares_the_methods(folder):
    said = json.loads(run_well("demo", "--quick", "--n-trees", "1", "--json"))
    rows = {row["method"]: row for row in said["methods"]}
    assert list(rows) == ["DEFRAG-X", "DEFRAG-XY", "DEFRAG-N", "Hybrid"]
    for row in rows.values():
        assert row["groups"] == 8192
        assert 0 < row["loss_of_mutual_information"] < 1
        assert row["non_zeros_per_point_after"] <= row["non_zeros_per_point_before"]
    assert [row["method"] for row in said["classifiers"]] == METHODS
    for row in said["classifiers"]:
        assert row["mean"]["P@1"] > 50
        assert row["mean"]["PSP@5"] > 10
        assert row["mean"]["model_bytes"] > 1e6
    assert len(said["examples"]) == 10
    for example in said["examples"]:
        assert len(example["predicted"]) == len(example["right"]) == 5
        assert all(isinstance(name, str) for name in example["predicted"] + example["words"])
    assert any(example["because"] for example in said["examples"])
    html = (folder / "defrag-demo.html").read_text(encoding="utf-8")
    for part in (
        "Ten packages",
        "Missing words",
        "Groups of words",
        "Best method by measure",
        "✓",
        "✗",
    ):
        assert part in html
    assert html.count("<figure>") >= 6


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_demo_marks_right_and_wrong_labels(folder):
    said = run_well("demo", "--max-cluster-size", "4")
    assert said == re.sub(r"\x1b\[", "", said)
    for part in ("LMI", "LabelTree,", "+[label0]", "-[label", "word", "+ right, - wrong"):
        assert part in said
    for part in ("Best method by measure", "40% missing", "FIAT"):
        assert part in said
    assert said.strip().splitlines()[-1].startswith("report: ")
    html = (folder / "defrag-demo.html").read_text(encoding="utf-8")
    assert '<span class="right">✓ [label0]</span>' in html
    assert '<span class="wrong">✗ ' in html


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_demo_depends_on_seed():
    line = ["demo", "--report", "none", "--json", "--max-cluster-size", "4", "--seed"]
    assert run_well(*line, "1") != run_well(*line, "2")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("demo --report nowhere/demo.html", "nowhere/demo.html: there is no folder"),
        ("demo --report .", "is a folder"),
    ],
)
def test_unwritable_report_is_refused_before_training(folder, line, message):
    check_refusal(folder, line, message)
