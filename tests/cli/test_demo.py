"""``defrag demo``, on the bundled data and on a few points."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from defrag.io import (
    Dataset,
    Split,
)
from tests.helpers import cli_data
from tests.helpers.cli_model_data import N_FEATURES, N_LABELS, points
from tests.helpers.cli_running import run_well


@pytest.mark.slow
def test_demo_compares_the_methods():
    said = json.loads(run_well("demo", "--json", "--max-cluster-size", "64", "--seed", "1"))
    rows = {row["method"]: row for row in said["methods"]}
    assert list(rows) == ["DEFRAG-X", "DEFRAG-XY", "DEFRAG-N", "Hybrid"]
    for row in rows.values():
        assert row["groups"] == 1024
        assert 0 < row["loss_of_mutual_information"] < 1
        assert row["non_zeros_per_point_after"] <= row["non_zeros_per_point_before"]


def test_demo_shows_a_table(monkeypatch):
    split = Split(*cli_data.points())
    tiny = Dataset("tiny", split, split, None, None, "Twelve points.")
    monkeypatch.setattr("defrag.cli.demo.load_dataset", lambda _: tiny)
    said = run_well("demo", "--max-cluster-size", "4")
    assert "12 Debian packages, 24 words, 6 labels" in said
    for name in ("DEFRAG-X ", "DEFRAG-XY", "DEFRAG-N", "Hybrid", "LMI", "balance"):
        assert name in said


@pytest.mark.slow
def test_quick_demo_compares_classifiers():
    said = json.loads(run_well("demo", "--quick", "--n-trees", "1", "--json"))
    assert [row["method"] for row in said["methods"]] == [
        "DEFRAG-X", "DEFRAG-XY", "DEFRAG-N", "Hybrid",
    ]  # fmt: skip
    rows = {row["method"]: row for row in said["classifiers"]}
    assert list(rows) == [
        "Parabel, all words", "LabelTree, all words", "LabelTree, DEFRAG-X",
        "LabelTree, DEFRAG-XY", "LabelTree, Hybrid", "LabelTree, focused",
    ]  # fmt: skip
    for row in rows.values():
        assert row["P@1"] > 50
        assert row["PSP@5"] > 10
        assert row["bytes"] > 1e6
    assert len(said["examples"]) == 10
    for example in said["examples"]:
        assert len(example["predicted"]) == len(example["right"]) == 5
        assert all(isinstance(name, str) for name in example["predicted"] + example["words"])


def test_demo_marks_right_and_wrong(monkeypatch):
    X, Y = points()
    known = np.diff(X.indptr) > 0  # a point without features is warned about
    split = Split(X[known], Y[known])
    names = np.array([f"[label{j}]" for j in range(N_LABELS)], dtype=object)
    words = np.array([f"word{j}" for j in range(N_FEATURES)], dtype=object)
    tiny = Dataset("tiny", split, split, names, words, "Forty points.")
    monkeypatch.setattr("defrag.cli.demo.load_dataset", lambda _: tiny)
    said = run_well("demo", "--max-cluster-size", "4")
    assert said == re.sub(r"\x1b\[", "", said)
    for part in ("LMI", "LabelTree, focused", "+[label0]", "-[label", "word", "+ right, - wrong"):
        assert part in said
    assert run_well("demo", "--seed", "1", "--json") != run_well("demo", "--seed", "2", "--json")
