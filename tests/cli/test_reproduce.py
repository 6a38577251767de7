"""``defrag reproduce`` on small data sets of the same names."""

import dataclasses
import errno
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from defrag.io import write_xmc
from defrag.lab import Store, studies
from defrag.lab.peers import PEERS_PYTHON, missing_peer
from defrag.lab.planning import OVERHEAD
from defrag.lab.records import read_records
from defrag.lab.studies import Line
from tests.data import make_data
from tests.helpers.cli_running import run, run_warned
from tests.helpers.processes import environment


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
        seeds=1,
        first_seeds=None,
    )
    monkeypatch.setitem(studies.STUDIES, "table1", small)
    return tmp_path


@pytest.mark.slow
def test_reproduce_runs_study_once_and_lists_what_is_missing(folder):
    line = ["reproduce", "table1", "--data", "data", "--report", "out.html", "--markdown", "out.md"]
    result = run_warned(*line)
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


def test_plan_lists_runs_and_runs_nothing(folder):
    line = ["reproduce", "table1", "--data", "data", "--plan"]
    planned = json.loads(run(*line, "--json").stdout)
    (row,) = planned["rows"]
    assert row | {"minutes": 0} == {
        "study": "table1", "data": "eurlex-4k", "runs": 2, "recorded": 0, "late": 0,
        "absent": [], "minutes": 0,
    }  # fmt: skip
    # Two processes at a time, each of which takes a while to start.
    assert planned["minutes"] == pytest.approx(row["minutes"])
    assert row["minutes"] >= OVERHEAD / 60
    (remark,) = planned["left_out"]
    assert remark.startswith("table1: tibkat-core is left out: ")
    late = run(*line, "--within", "0.0000001").stdout
    assert "not started within --within: 2 runs" in late
    assert "too late, table1 on eurlex-4k: Parabel; X" in late
    assert not (folder / "defrag-records" / "records.jsonl").exists()


@pytest.mark.slow
def test_all_skips_broken_data_and_lists_runs_not_started(folder, monkeypatch):
    (folder / "data" / "tibkat-core").mkdir()
    (folder / "data" / "tibkat-core" / "train.txt.xz").write_bytes(b"not a file of xz")
    for name in [name for name in studies.STUDIES if name != "table1"]:
        monkeypatch.delitem(studies.STUDIES, name)
    line = ["reproduce", "all", "--data", "data", "--json"]
    late = run_warned(*line, "--within", "0.0000001")
    assert late.stderr.startswith("warning: tibkat-core is left out: ")
    assert (
        "0 runs to do, about 0 minutes, 2 at a time; 2 more need a larger --within" in late.stderr
    )
    second, first = json.loads(late.stdout)["table1"]["remarks"]
    assert first == (
        "not started on eurlex-4k, because the time of --within was over or the command was "
        "interrupted (estimated seconds of a run in parentheses): Parabel (0 s); X (0 s). The same "
        "command continues."
    )
    assert second.startswith("tibkat-core is left out: ")
    said = json.loads(run(*line, "--budget", "none").stdout)["table1"]
    assert said["remarks"] == [second]
    (rows,) = said["tables"].values()
    assert [row["method"] for row in rows if not row["published"]] == ["Parabel", "X"]


@pytest.fixture
def two_lines_each(folder, monkeypatch):
    """Leave the first and the last method of each study that is not of the paper, and of one."""
    for name, study in list(studies.STUDIES.items()):
        if "eurlex-4k" not in study.data or (study.of_paper and name != "table3"):
            monkeypatch.delitem(studies.STUDIES, name)
            continue
        few = dataclasses.replace(study, lines=[study.lines[0], study.lines[-1]], seeds=1)
        monkeypatch.setitem(studies.STUDIES, name, few)
    monkeypatch.setenv(PEERS_PYTHON, "/nowhere/python")
    missing_peer.cache_clear()
    yield folder
    missing_peer.cache_clear()


@pytest.mark.slow
def test_every_study_runs_with_tiny_budget_and_resumes(two_lines_each):
    line = ["reproduce", "all", "--data", "data", "--only", "eurlex-4k", "--budget", "2", "--json"]
    first = run_warned(*line, "--results", "results", "--report", "all.html")
    assert "warning" not in first.stderr
    said = json.loads(first.stdout)
    of_rows = {name for name, study in studies.STUDIES.items() if not study.texts}
    assert set(said) == of_rows == set(studies.STUDIES) - {"texts"}
    failed = [
        row for part in said.values() for rows in part["tables"].values() for row in rows
        if "note" in row
    ]  # fmt: skip
    assert failed == []
    # A missing program is named, and the rest of its study is run.
    (remark,) = said["peers"]["remarks"]
    assert remark == (
        "napkinXC, 3 trees of arity 16 is left out: /nowhere/python cannot be started: "
        "No such file or directory"
    )
    assert remark in (two_lines_each / "results" / "peers.md").read_text(encoding="utf-8")
    pages = {path.stem for path in (two_lines_each / "results").glob("*.md")}
    assert pages == of_rows
    kept = (two_lines_each / "defrag-records" / "records.jsonl").read_text()
    again = run(*line)
    assert json.loads(again.stdout) == said
    assert (two_lines_each / "defrag-records" / "records.jsonl").read_text() == kept


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_full_disk_is_reported_and_runs_continue(monkeypatch):
    def full(store, _):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(store.folder / "records.jsonl"))

    monkeypatch.setattr(Store, "append", full)
    result = run_warned("reproduce", "table1", "--data", "data", "--only", "eurlex-4k")
    warnings = [one for one in result.stderr.splitlines() if one.startswith("warning")]
    assert [one.split(": ", 2)[1] for one in warnings] == [
        "the record of Parabel on eurlex-4k, seed 0 could not be written",
        "the record of X on eurlex-4k, seed 0 could not be written",
    ]
    assert all("No space left on device" in one for one in warnings)
    assert "Parabel on eurlex-4k: P@1" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT])
def test_killed_command_keeps_finished_runs(folder, kind):
    line = [sys.executable, "-m", "defrag", "reproduce", "ndcg", "--data", "data"]
    line += ["--only", "eurlex-4k", "--workers", "1", "--json", "--markdown", "out.md"]
    path = folder / "defrag-records" / "records.jsonl"
    with subprocess.Popen(line, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and not (path.exists() and path.stat().st_size):
            time.sleep(0.05)
        process.send_signal(kind)
        _, said = process.communicate(timeout=300)
    assert process.returncode == (-kind if kind == signal.SIGKILL else 130)
    assert "Traceback" not in said
    if kind == signal.SIGINT:
        written = (folder / "out.md").read_text(encoding="utf-8")
        assert "| k-means, d0 = 32 | " in written
        assert "the command was interrupted" in written
    ended = [one for one in read_records(path) if one["status"] == "done"]
    assert 1 <= len(ended) < 24
    # Nothing more is started, so that what is shown is what was kept.
    rest = subprocess.run(
        [*line, "--within", "0.0000001"], env=environment(), capture_output=True, check=True
    )
    part = json.loads(rest.stdout)["ndcg"]
    runs = [row["runs"] for rows in part["tables"].values() for row in rows]
    assert sum(runs) == len(ended)
    assert part["remarks"][0].startswith("not started on eurlex-4k, because the time of --within")
