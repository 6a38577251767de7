"""``defrag compare`` on a few points."""

import json
import re

import pytest

from defrag.cli._data import Reading
from defrag.cli.compare import _words, read_corpus
from defrag.io import LabelledTexts, write_xmc
from defrag.lab.corpus import split_by_order
from tests.data import make_data
from tests.helpers import cli_data
from tests.helpers.cli_running import check_refusal, run_warned, told
from tests.helpers.cli_text_data import write_lines

folder = pytest.fixture(cli_data.fill_folder)


@pytest.mark.slow
def test_compare_records_runs_and_writes_reports(folder):
    line = ["compare", "train.txt", "train.npz", "--agglomerate", "none,x", "--seeds", "2",
            "--A", "0.5", "--B", "0.4", "--report", "out.html", "--markdown", "out.md",
            "--records", "kept"]  # fmt: skip
    result = run_warned(*line)
    assert "LabelTree," in result.stdout
    assert "out.html" in result.stdout
    html = (folder / "out.html").read_text(encoding="utf-8")
    assert "train.txt: accuracy" in html
    assert "LabelTree, DEFRAG-X" in (folder / "out.md").read_text(encoding="utf-8")
    lines = (folder / "kept" / "records.jsonl").read_text().splitlines()
    assert len(lines) == 4
    assert {(one["data"]["A"], one["data"]["B"]) for one in map(json.loads, lines)} == {(0.5, 0.4)}
    said = told(*line[:11], "--records", "kept")
    assert (folder / "kept" / "records.jsonl").read_text().splitlines() == lines
    assert [row["method"] for row in said["methods"]] == ["LabelTree", "LabelTree, DEFRAG-X"]
    assert said["methods"][0]["runs"] == 2
    records = [json.loads(one)["metrics"]["P@1"] for one in lines[:2]]
    assert said["methods"][0]["mean"]["P@1"] == sum(records) / 2


@pytest.mark.slow
def test_compare_warns_of_failed_method_and_continues(folder):
    # More groups than the data have features.
    line = "compare train.txt train.txt --agglomerate lsc:n_clusters=500,none --records kept --json"
    result = run_warned(*line.split())
    assert result.stderr.startswith("warning: LabelTree, LSC(n_clusters=500) on train.txt, seed 0")
    first, second = json.loads(result.stdout)["methods"]
    assert first["note"].startswith("failed: ")
    assert second["mean"]["P@1"] > 0
    assert folder.joinpath("kept").is_dir()


def test_compare_reads_records_before_training(folder):
    (folder / "kept").mkdir()
    (folder / "kept" / "records.jsonl").write_text("{\n")
    line = "compare train.txt train.txt --records kept"
    check_refusal(folder, line, "records.jsonl:1: not a record")


@pytest.mark.slow
def test_report_names_labels_that_gain_and_lose(folder):
    X, Y = make_data(n=300)
    write_xmc("many.txt", X, Y)
    (folder / "names.txt").write_text("".join(f"subject {i}\n" for i in range(Y.shape[1])))
    line = ["compare", "many.txt", "many.txt", "--agglomerate", "none,random-groups:n_clusters=2",
            "--records", "kept", "--label-names", "names.txt", "--markdown", "out.md"]  # fmt: skip
    run_warned(*line)
    text = (folder / "out.md").read_text(encoding="utf-8")
    gains = text.split("gain and lose", 1)[1]
    assert re.search(r"^\| subject \d+ \|", gains, re.MULTILINE)
    assert not re.search(r"^\| label \d+ \|", gains, re.MULTILINE)
    (folder / "names.txt").write_text("one\n")
    check_refusal(folder, "compare many.txt many.txt --label-names names.txt --records kept",
                  r"names.txt: .*1")  # fmt: skip


@pytest.mark.slow
def test_compare_reads_texts(folder):
    words = {"a": "red apple tree", "b": "blue sea water", "c": "green grass field"}
    items = [{"text": f"{text} {place}", "labels": [name]}
             for place in range(9) for name, text in words.items()]  # fmt: skip
    write_lines(folder / "train.jsonl", items[:18])
    _, names = read_corpus(("train.jsonl", "train.jsonl"), (None, None), None, Reading())
    assert names == ["a", "b", "c"]
    write_lines(folder / "test.jsonl", [*items[18:], {"text": "blue sea", "labels": ["b", "new"]}])
    said = told(
        "compare", "train.jsonl", "test.jsonl", "--agglomerate", "none", "--records", "kept"
    )
    assert said["data"]["labels"] == 4
    assert said["data"]["test_points"] == 10
    assert said["methods"][0]["mean"]["P@1"] == 100.0


def test_texts_are_divided_by_date(folder):
    dates = ["2024-02", "2021", "2025-12-31", "2019-07"]
    lines = [{"text": f"text {date}", "labels": [date[:4]], "date": date} for date in dates]
    for name, items in (("old", lines[:3]), ("new", lines[3:])):
        write_lines(folder / f"{name}.jsonl", items)
    paths, reading = ("old.jsonl", "new.jsonl"), Reading()
    corpus, names = read_corpus(paths, (None, None), None, reading, "date")
    assert corpus.facts.name == "old.jsonl by date"
    ((best,),) = corpus.test.Y.indices.reshape(1, -1)
    assert names[best] == "2025"
    (folder / "new.jsonl").write_text('{"text": "a", "labels": ["b"]}\n')
    with pytest.raises(ValueError, match=r"new\.jsonl.*date"):
        read_corpus(paths, (None, None), None, reading, "date")


def test_numbers_order_texts_as_numbers():
    parts = LabelledTexts(["b", "c"], [["x"], ["y"]]), LabelledTexts(["a"], [["z"]])
    assert split_by_order(*parts, [["10"], ["9"], ["-1"]])[1].texts == ["b"]
    with pytest.raises(ValueError, match=r"text 1 must have one value to order by, got \[\]"):
        split_by_order(*parts, [["1"], [], ["2"]])


def test_commas_between_parameters_do_not_split_words():
    assert _words("none,x,itdc:n_clusters=3,max_iter=5,xy") == [
        "none", "x", "itdc:n_clusters=3,max_iter=5", "xy",
    ]  # fmt: skip
