"""``defrag tune``, within a budget, and ``defrag demo``, on part of the bundled texts."""

import json

import numpy as np
import pytest

from defrag import load
from defrag.io import LabelledTexts
from defrag.lab import tuning
from defrag.lab.tuning import best_of, run_trials
from tests.helpers.cli_running import check_refusal, run_well, told


def corpus(n_texts=300, seed=0):
    """Return texts whose labels are stems of their words, which never occur alone."""
    rng = np.random.default_rng(seed)
    stems = ["kissa", "koira", "hevonen", "lintu", "karhu", "susi"]
    labels = rng.choice(stems, n_texts).tolist()
    ends = ["".join(rng.choice(list("aeioulnst"), 4)) for _ in labels]
    return LabelledTexts(
        [f"{label}{end} {end}" for label, end in zip(labels, ends, strict=True)],
        [[label] for label in labels],
    )


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts, labels = corpus()
    lines = [json.dumps({"text": a, "labels": b}) for a, b in zip(texts, labels, strict=True)]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    (tmp_path / "train.txt").write_text("2 3 2\n0 1:1\n1 2:1\n")
    return tmp_path


def test_trials_go_on_from_the_best_of_those_before():
    trials = run_trials(corpus(), budget=1e6, say=lambda _: None, random_state=0, n_jobs=1)
    assert len(trials) == 3 + 2 + 2
    first, middle, last = trials[:3], trials[3:5], trials[5:]
    assert [one.features for one in first] == list(tuning.FEATURES)
    assert best_of(first).features.startswith("characters")
    assert {one.features for one in middle} == {best_of(first).features}
    assert {one.classifier for one in last} == {best_of(trials[:5]).classifier}
    assert all(one.found["nDCG@5"] == one.gain for one in trials)
    assert best_of(trials).gain == max(one.gain for one in trials)
    again = run_trials(corpus(), budget=1e6, say=lambda _: None, random_state=0, n_jobs=2)
    assert [one.gain for one in again] == [one.gain for one in trials]


def test_budget_leaves_trials_out():
    said = []
    trials = run_trials(corpus(), budget=0.0, say=said.append, random_state=0, n_jobs=1)
    assert [one.found is None for one in trials] == [False, *[True] * 6]
    assert "left out, " in said[1]
    assert best_of(trials) is trials[0]


def test_best_model_is_written_and_shown(folder):
    found = told("tune", "docs.jsonl", "m", "--report", "page.html")
    assert len(found["trials"]) == 7
    model = load("m")
    assert found["best"].startswith(f"characters of {model.vectorizer_.characters}, ")
    assert model.predict_topk(["kissa"], 1)[0].tolist() == [["kissa"]]
    assert "defrag tune" in (folder / "page.html").read_text(encoding="utf-8")
    said = run_well("tune", "docs.jsonl", "n", "--budget", "0")
    assert "words and pairs, a tree, C=1" in said
    assert "left out" in said
    assert load("n").vectorizer_.ngrams == 2
    check_refusal(folder, "tune train.txt x", "train.txt: tune takes texts")


@pytest.mark.slow
def test_quick_demo_trains_measures_and_explains(folder):
    said = told("demo", "--quick")
    assert [row["texts"] for row in said["models"]] == [400, 1200, 4000]
    for measure, least in (("P@1", 60), ("micro_F1", 30)):
        gains = [row[measure] for row in said["models"]]
        assert gains == sorted(gains)
        assert gains[-1] > least
    assert len(said["examples"]) == 10
    for example in said["examples"]:
        assert len(example["predicted"]) == len(example["right"]) == len(example["answers"]) == 5
    assert any(example["because"] for example in said["examples"])
    html = (folder / "defrag-demo.html").read_text(encoding="utf-8")
    for part in ("Ten packages", "Rare labels", "More texts", "✓", "✗", "held-out texts"):
        assert part in html
    assert html.count("<figure>") == 3
    again = told("demo", "--quick", "--report", "none")
    assert again["examples"] == said["examples"]
    other = told("demo", "--quick", "--report", "none", "--seed", "1")
    assert other["examples"] != said["examples"]


@pytest.mark.slow
def test_demo_marks_right_and_wrong_labels(folder):
    said = run_well("demo", "--quick", "--report", "page.html")
    for part in ("Models of more and more texts", "+ right, - wrong; bold: answers", " 4,000 "):
        assert part in said
    assert said.strip().splitlines()[-1].startswith("report: ")
    html = (folder / "page.html").read_text(encoding="utf-8")
    assert '<span class="right">✓ ' in html
    assert '<span class="wrong">✗ ' in html
