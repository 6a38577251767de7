"""Labels with names on the command line: trained, shown, searched, added, allowed and denied."""

import json
from pathlib import Path

import pytest

from defrag import Thesaurus, load
from tests.helpers.cli_running import check_refusal, run_well, told

THESAURUS = [
    {"id": "s1", "name": {"en": "Sorting", "de": "Sortieren"}, "type": "method"},
    {"id": "m1", "name": {"en": "Hash map"}, "type": "thing"},
    {"id": "h1", "name": {"en": "Heap"}, "type": "thing"},
]
TEXTS = {"quick sort": "s1", "merge sort": "s1", "hash map": "m1", "tree map": "m1"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [{"text": text, "labels": [label]} for text, label in TEXTS.items()]
    for name, items in (("docs", lines), ("names", THESAURUS)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in items))
    (tmp_path / "train.txt").write_text("2 3 2\n0 1:1\n1 2:1\n")
    run_well("train", "docs.jsonl", "m.safetensors", "--thesaurus", "names.jsonl", "--weights",
             "float16")  # fmt: skip
    return tmp_path


def test_names_are_shown_in_the_asked_language() -> None:
    assert load("m.safetensors").thesaurus_ == Thesaurus.of(THESAURUS)
    shown = run_well("suggest", "m.safetensors", "a sort", "--language", "de", "--why")
    assert shown.startswith("Sortieren (s1)")
    said = told("suggest", "m.safetensors", "a sort")["labels"][0]
    assert (said["label"], said["name"]) == ("s1", "Sorting")
    why = ("explain", "m.safetensors", "--text", "a sort", "--language", "de")
    assert run_well(*why).startswith("Sortieren (s1)")
    assert told(*why)["name"] == "Sortieren"
    assert told("info", "m.safetensors")["concepts"] == 3


def test_labels_are_listed_and_searched() -> None:
    listed = run_well("labels", "m.safetensors")
    assert listed == "m1\tHash map\ns1\tSorting\nh1\tHeap\tno training points\n"
    found = told("labels", "m.safetensors", "--search", "sortieren")
    expected = {"label": "s1", "name": "Sorting", "matched": "Sortieren", "points": True}
    assert found == {"labels": [expected], "exact": True}
    assert run_well("labels", "m.safetensors", "--search", "m1").startswith("m1\tHash map, also m1")
    assert run_well("labels", "m.safetensors", "--search", "hesh map") == "m1\tHash map\n"


def test_labels_are_added_without_training(folder: Path) -> None:
    (folder / "news.jsonl").write_text(
        '{"id": "s1", "replaced_by": "s2"}\n{"id": "s2", "name": "ordering"}\n'
    )
    said = run_well("labels", "m.safetensors", "--add", "news.jsonl", "--output", "n.safetensors")
    assert said == "4 labels in n.safetensors: 1 new, 1 withdrawn or replaced\n"
    assert run_well("suggest", "n.safetensors", "a sort", "--why").startswith("ordering (s2)")
    assert run_well("suggest", "m.safetensors", "a sort").startswith("Sorting (s1)")
    counts = told("labels", "m.safetensors", "--add", "news.jsonl")
    assert counts == {"model": "m.safetensors", "labels": 4, "new": 1, "withdrawn": 1}
    assert (folder / "m.safetensors").read_bytes() == (folder / "n.safetensors").read_bytes()
    check_refusal(folder, "labels m.safetensors --add bad.jsonl", "bad.jsonl: No such file")


def test_only_allowed_labels_are_written(folder: Path) -> None:
    suggested = run_well("suggest", "m.safetensors", "sort map", "--deny", "type=method", "--json")
    assert [one["label"] for one in json.loads(suggested)["labels"]] == ["m1"]
    run_well("predict", "m.safetensors", "docs.jsonl", "--allow", "s1", "--output", "out.txt")
    lines = (folder / "out.txt").read_text().splitlines()
    assert [line.partition(":")[0] for line in lines] == ["s1"] * 4
    check_refusal(folder, "suggest m.safetensors a --deny type=x", "no concept has the type 'x'")
