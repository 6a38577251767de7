"""``defrag reproduce`` on small data sets of the same names."""

from __future__ import annotations

import dataclasses
import json

import pytest

from defrag import write_xmc
from defrag.experiments import studies
from defrag.experiments.studies import Line
from tests.data import make_data
from tests.helpers.cli_running import check_refusal, run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "data" / "eurlex-4k"
    place.mkdir(parents=True)
    X, Y = make_data(n=300)
    write_xmc(place / "train.txt.xz", X[:200], Y[:200])
    write_xmc(place / "test.txt.xz", X[200:], Y[200:])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEFRAG_DATA", "unset")  # restored after the command has changed it
    small = dataclasses.replace(
        studies.STUDIES["table1"],
        lines=[Line("Parabel", "parabel:n_trees=1"), Line("X", "parabel:n_trees=1", "x")],
        data=("eurlex-4k", "tibkat-core"),
    )
    monkeypatch.setitem(studies.STUDIES, "table1", small)
    return tmp_path


@pytest.mark.slow
def test_a_study_is_run_once_and_what_is_missing_is_said(folder):
    line = ["reproduce", "table1", "--data", "data", "--report", "out.html", "--markdown", "out.md"]
    result = run(*line)
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith(
        "warning: tibkat-core is left out: data set 'tibkat-core' requires"
    )
    assert "Parabel on eurlex-4k: P@1" in result.stdout
    assert "OUTSIDE 0.4" in result.stdout
    assert "tibkat-core is left out" in (folder / "out.html").read_text(encoding="utf-8")
    assert "OUTSIDE" in (folder / "out.md").read_text(encoding="utf-8")
    kept = (folder / "defrag-records" / "records.jsonl").read_text()
    assert len(kept.splitlines()) == 2
    said = json.loads(run(*line[:4], "--only", "eurlex-4k", "--json").stdout)
    assert (folder / "defrag-records" / "records.jsonl").read_text() == kept
    (rows,) = said["table1"]["tables"].values()
    assert [row["method"] for row in rows if not row["published"]] == ["Parabel", "X"]
    assert 0 < rows[-1]["mean"]["LMI"] < 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("reproduce table9", "NAME must be one of table1, table2, .* or all, got 'table9'"),
        ("reproduce table1 --budget soon", "--budget must be seconds above 0 or none, got 'soon'"),
        ("reproduce table1 --budget 0", "--budget must be seconds above 0"),
        ("reproduce table1 --within never", "--within must be minutes above 0 or none"),
        ("reproduce table1 --only debian", "--only must be one of eurlex-4k, tibkat-core"),
        ("reproduce table1 --data nowhere", "nowhere: is not a folder"),
    ],
)
def test_reproduce_refuses(folder, line, message):
    check_refusal(folder, line, message)


@pytest.mark.slow
def test_all_goes_on_where_data_are_broken_and_says_what_was_not_started(folder, monkeypatch):
    (folder / "data" / "tibkat-core").mkdir()
    (folder / "data" / "tibkat-core" / "train.txt.xz").write_bytes(b"not a file of xz")
    for name in [name for name in studies.STUDIES if name != "table1"]:
        monkeypatch.delitem(studies.STUDIES, name)
    line = ["reproduce", "all", "--data", "data", "--json"]
    late = run(*line, "--within", "0.0000001")
    assert late.exit_code == 0, late.stderr
    assert late.stderr.startswith("warning: tibkat-core is left out: ")
    first, second = json.loads(late.stdout)["table1"]["remarks"]
    assert first == (
        "not started on eurlex-4k, because the time of --within was over: Parabel; X. The same "
        "command continues."
    )
    assert second.startswith("tibkat-core is left out: ")
    said = json.loads(run(*line, "--budget", "none").stdout)["table1"]
    assert said["remarks"] == [second]
    (rows,) = said["tables"].values()
    assert [row["method"] for row in rows if not row["published"]] == ["Parabel", "X"]
