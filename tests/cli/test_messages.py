"""What the commands tell people: help that fits, what was written, what comes next."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from defrag import registry
from defrag._parameters import rules_of
from defrag.cli import _console
from defrag.io import write_xmc
from tests.helpers.cli_running import run_well, told


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    X = sparse.random_array((60, 12), density=0.3, format="csr", rng=draw).astype(np.float32)
    rows = np.arange(60) % 5
    Y = sparse.csr_array((np.ones(60, np.float32), (np.arange(60), rows)), shape=(60, 5))
    X = sparse.csr_array(X.toarray() * (np.arange(60) != 7)[:, None])
    write_xmc("train.txt", X, Y)
    return tmp_path


@pytest.fixture
def said(monkeypatch):
    """Collect the messages that a terminal shows."""
    lines = []
    for module in ("_console", "predict", "convert", "agglomerate", "train", "info"):
        name = f"defrag.cli.{module}.print_message"
        monkeypatch.setattr(name, lines.append, raising=module == "_console")
    return lines


def flags_of(text):
    return set(re.findall(r"^│ (?:\*\s+)?(--[\w-]+)", text, flags=re.MULTILINE))


def test_help_of_train_shows_twelve_flags(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown = flags_of(run_well("train", "--help"))
    assert len(shown - {"--help"}) == 12
    assert {"--classifier", "--agglomerate", "--rerank", "--impute", "--n-trees"} < shown


@pytest.mark.parametrize("entry", registry.entries("classifier"), ids=lambda entry: entry.word)
def test_help_of_classifier_shows_its_parameters(entry, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown = flags_of(run_well("train", "--classifier", entry.word, "--help"))
    rules = rules_of(entry.estimator())
    own = {"--" + name.replace("_", "-") for name in rules} - {"--verbose", "--n-jobs"}
    assert own <= shown
    assert {"--json", "--strict", "--from"} <= shown
    others = {"--max-loss", "--beta", "--sample-points"} - own
    assert not others & shown


def test_help_of_other_parts_shows_their_parameters(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown = flags_of(run_well("train", "--rerank=identity", "--impute", "blend", "--help"))
    assert {"--max-loss", "--target", "--beta", "--max-growth"} <= shown
    shown = flags_of(run_well("train", "--agglomerate", "xy", "-h"))
    assert {"--sample-points", "--pooling", "--per-member"} <= shown
    assert "--representation" not in shown
    assert {"--budget", "--power"} <= flags_of(run_well("train", "--focus", "--help"))
    assert not {"--budget", "--power"} & flags_of(run_well("train", "--help"))


@pytest.mark.parametrize("verb", ["train", "predict", "cluster", "agglomerate", "convert"])
@pytest.mark.parametrize("columns", [80, 100, 120])
def test_help_does_not_break_choices_inside_words(verb, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = run_well(verb, "--help")
    # Values in angle brackets would be broken where the column ends.
    assert not re.search(r"<[^>]*\|", text)
    words = set(re.findall(r"[\w-]+", text))
    if verb == "train":
        assert {entry.word for entry in registry.entries("classifier")} <= words
    if verb == "agglomerate":
        assert "mean_nonzero" in words


@pytest.mark.usefixtures("folder")
def test_commands_print_what_they_wrote_and_next_command(said):
    run_well("train", "train.txt", "m.safetensors", "--agglomerate", "none")
    assert said[-1] == "next: defrag predict m.safetensors TEST_DATA --output predictions.txt"
    run_well("predict", "m.safetensors", "train.txt", "--output", "p.txt")
    assert said[-3:] == [
        (
            "train.txt: 1 of 60 points have no features: they get the labels with the largest "
            "biases (--empty nothing: none)"
        ),
        "60 points written to p.txt",
        "next: defrag evaluate train.txt p.txt",
    ]
    run_well("convert", "train.txt", "train.npz")
    assert said[-2:] == [
        "60 points, 12 features, 5 labels written to train.npz (npz)",
        "next: defrag train train.npz model.safetensors",
    ]
    run_well("cluster", "train.txt", "groups.txt", "--n-clusters", "4")
    run_well("agglomerate", "train.txt", "groups.txt", "small.txt")
    assert said[-2:] == [
        "60 points, 4 features, 5 labels written to small.txt (xmc)",
        "next: defrag train small.txt model.safetensors --agglomerate none",
    ]


@pytest.mark.usefixtures("folder")
def test_empty_nothing_predicts_no_labels(said):
    run_well("train", "train.txt", "m.safetensors", "--agglomerate", "none")
    for word, at_seven in (("bias", 5), ("nothing", 0)):
        run_well("predict", "m.safetensors", "train.txt", "--json", "--empty", word,
                 "--output", "p.json")  # fmt: skip
        lines = Path("p.json").read_text(encoding="utf-8").splitlines()
        found = [len(json.loads(line)["labels"]) for line in lines]
        assert found == [5] * 7 + [at_seven] + [5] * 52
    assert said[-3:] == [
        "train.txt: 1 of 60 points have no features: they get no labels",
        "60 points written to p.json",
        "next: defrag evaluate train.txt p.json",
    ]


@pytest.mark.usefixtures("folder")
def test_info_begins_with_use_of_file():
    run_well("train", "train.txt", "m.safetensors")
    run_well("cluster", "train.txt", "groups.txt", "--n-clusters", "4")
    beginnings = {
        "train.txt": ["60 points of 12 features, with 5 labels",
                      "defrag train train.txt model.safetensors"],
        "m.safetensors": ["focused of label_tree: predicts 5 labels from 12 features",
                          "defrag predict m.safetensors DATA"],
        "groups.txt": ["4 groups of 12 features", "defrag agglomerate DATA groups.txt OUT"],
    }  # fmt: skip
    for file, expected in beginnings.items():
        lines = [line.split(maxsplit=1) for line in run_well("info", file).splitlines()]
        assert lines[:3] == [["file", file], ["what", expected[0]], ["next", expected[1]]]
        assert "what" not in told("info", file)


def test_messages_need_a_terminal(capsys):
    _console.print_next("a command")
    assert capsys.readouterr() == ("", "")
