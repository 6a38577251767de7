"""The verbs explain and suggest."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from defrag import LabelTree, load
from defrag.cli import suggest_plainly
from tests.helpers.cli_model_data import fill_folder, points
from tests.helpers.cli_running import run_well, told

TEXT = "sorting a \N{HEAVY BLACK HEART} matrix of large files"

folder = pytest.fixture(fill_folder, autouse=True)


def test_explain_explains_text():
    said = run_well("explain", "texts.safetensors", "--text", TEXT, "--label", "files")
    one = load("texts.safetensors").explain(TEXT, "files")
    assert said.splitlines()[0] == f"files  {one.score:.4f}"
    assert TEXT in said
    assert re.search(rf"^{one.names[0]} +\+{one.contributions[0]:.4f}", said, re.MULTILINE)
    assert said.rstrip().endswith("from the weights of the model")


def test_explain_explains_document_of_corpus():
    said = run_well("explain", "texts.safetensors", "docs.jsonl", "--row", "4", "--json")
    found = json.loads(said)
    assert found["label"] == "files"
    assert "".join(piece["text"] for piece in found["segments"]) == "copy large files"


def test_explain_explains_row_of_table():
    Path("docs.csv").write_text(f"body,tags\nnothing,files\n{TEXT},net\n", encoding="utf-8")
    flags = ["--text-column", "body", "--labels-column", "tags", "--row", "1", "--json"]
    found = json.loads(run_well("explain", "texts.safetensors", "docs.csv", *flags))
    assert found == load("texts.safetensors").explain(TEXT).as_dict(10)


def test_explain_explains_point_of_matrix():
    X, _ = points()
    model = load("model.safetensors")
    for data in ("train.txt", "train.txt.xz", "train.npz"):
        line = f"explain model.safetensors {data} --row 3 --top-k 2 --json"
        said = run_well(*line.split())
        found = [json.loads(line) for line in said.splitlines()]
        wanted = model.explain(X[[3]], k=2)
        assert [one["label"] for one in found] == [one.label for one in wanted]
        assert found[0]["score"] == pytest.approx(wanted[0].score, abs=1e-6)
        parts = [row["contribution"] for row in found[0]["features"]] + [found[0]["rest"]]
        assert found[0]["base"] + sum(parts) == pytest.approx(found[0]["score"], abs=1e-9)
    shown = run_well("explain", "model.safetensors", "train.txt", "--label", "label 3")
    assert shown.startswith("label 3  ")
    nameless = run_well("explain", "nameless.safetensors", "train.txt", "--label", "3")
    assert nameless == shown.replace("label 3  ", "3  ", 1)


def test_features_limits_shown_features_and_sums_rest():
    X, _ = points()
    row = int(np.argmax(np.diff(X.indptr)))
    line = ["explain", "model.safetensors", "train.txt", "--row", str(row), "--features", "2"]
    found = told(*line)
    assert len(found["features"]) == 2
    shown = run_well(*line)
    assert f"{X[[row]].nnz - 2} more" in shown


def test_explain_label_shows_its_features():
    said = run_well("explain", "texts.safetensors", "--label", "files", "--features", "2")
    lines = said.splitlines()
    assert lines[0].split() == ["files", "score", "alone"]
    assert {line.split()[0] for line in lines[1:3]} <= {"large", "files", "copy", "large files"}
    assert len(lines) == 4
    found = told("explain", "model.safetensors", "--label", "label 3")
    assert found["label_id"] == 3


def test_explain_finds_classes_by_words(folder):
    X, _ = points()
    LabelTree(random_state=0).fit(X, np.arange(40) % 4 + 10).save(folder / "classes.safetensors")
    found = run_well("explain", "classes.safetensors", "train.txt", "--label", "12", "--json")
    assert json.loads(found)["label"] == 12


def rows_of(said):
    return [line.split() for line in said.splitlines()]


def test_suggest_shows_labels_as_bars():
    names, scores = load("texts.safetensors").predict_topk([TEXT], k=2)
    rows = rows_of(run_well("suggest", "texts.safetensors", TEXT, "--top-k", "2"))
    assert [row[0] for row in rows] == names[0].tolist()
    assert [float(row[1]) for row in rows] == pytest.approx(scores[0], abs=1e-4)
    assert len(rows[0][2]) == round(30 * scores[0, 0] + 0.49)
    assert len(rows_of(run_well("suggest", "texts.safetensors", TEXT))) == 3
    few = run_well("suggest", "texts.safetensors", TEXT, "--threshold", str(scores[0, 0] - 1e-4))
    assert len(rows_of(few)) == 1


def test_suggest_why_shows_words():
    said = run_well("suggest", "texts.safetensors", TEXT, "--why", "--top-k", "2")
    lines = said.splitlines()
    assert len(lines) == 4
    best = load("texts.safetensors").explain(TEXT)
    assert lines[1].strip().startswith(f"{best.names[0]} {best.contributions[0]:+.3f}")
    found = told("suggest", "texts.safetensors", TEXT, "--why")
    assert found["labels"][0]["why"][0]["adds"] == pytest.approx(best.contributions[0])


def test_suggest_marks_words_on_a_terminal(monkeypatch):
    from rich.console import Console  # noqa: PLC0415 - patched below

    import defrag.cli.suggest as verb  # noqa: PLC0415 - patched below

    console = Console(force_terminal=True, width=100, highlight=False, color_system="standard",
                      file=sys.stdout)  # fmt: skip
    monkeypatch.setattr(verb, "terminal", lambda: console)
    with console.capture() as captured:
        run_well("suggest", "texts.safetensors", TEXT + " word" * 300, "--why", "--top-k", "1")
    said = captured.get()
    assert re.search("\x1b\\[[0-9;]*32m(files|large|matrix|sorting)", said)  # green
    assert said.count("word") < 20  # what is far from marked words is left out


@pytest.mark.slow
def test_suggest_reads_standard_input():
    def piped(given, *args):
        command = [sys.executable, "-m", "defrag", "suggest", "texts.safetensors", *args]
        return subprocess.run(command, input=given, capture_output=True, timeout=600, check=False)

    for args in (["-"], []):
        done = piped(TEXT.encode(), *args, "--json")
        assert done.returncode == 0, done.stderr
        assert done.stdout.decode() == run_well("suggest", "texts.safetensors", TEXT, "--json")
    broken = piped(b"caf\xe9")
    assert broken.returncode == 2
    assert broken.stderr == b"defrag: error: <stdin>: must be UTF-8, got another byte at 3\n"


@pytest.mark.parametrize(
    "line", ["--json", "--top-k 2", "--threshold 0.2 --json", "--threshold 1", "--json --top-k 1"]
)
def test_suggest_answers_plain_words_as_typer_does(line, capsys):
    words = ["texts.safetensors", TEXT, *line.split()]
    assert suggest_plainly(words)
    assert capsys.readouterr().out == run_well("suggest", *words)


@pytest.mark.parametrize(
    "line",
    ["", "texts.safetensors", "texts.safetensors -", "a b c", "missing a", "model.safetensors a",
     "texts.safetensors a --why", "texts.safetensors a --top-k", "texts.safetensors a --top-k 0",
     "texts.safetensors a --threshold 2", "texts.safetensors a --help", "texts.safetensors -- a"],
)  # fmt: skip
def test_suggest_leaves_other_words_and_errors_to_typer(line, capsys):
    assert not suggest_plainly(line.split())
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_suggest_imports_neither_scikit_learn_nor_what_typer_reads_words_with():
    code = (
        "import sys\nfrom defrag.cli import main\nmain()\n"
        "heavy = {'sklearn', 'pydantic', 'rich', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    command = [sys.executable, "-c", code, "suggest", "texts.safetensors", TEXT, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == run_well("suggest", "texts.safetensors", TEXT, "--json")


def test_suggest_prints_nothing_for_unknown_words():
    assert run_well("suggest", "texts.safetensors", "unheard") == ""
    assert told("suggest", "texts.safetensors", "") == {
        "scores": "score", "labels": []
    }  # fmt: skip
