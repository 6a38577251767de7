"""The scenarios of ``make torture``: one batch of each, and what is counted when one goes wrong."""

import subprocess
import sys
from unittest.mock import ANY

import pytest

from tests.fuzz.scenarios import KINDS, SCENARIOS
from tests.fuzz.torture import Outcome, report, torture
from tests.helpers import bad_scenarios


def bad(name, *, seconds=120.0, **options):
    return torture(name, bad_scenarios.SCENARIOS[name], seconds=seconds, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_batch_of_each_scenario_runs(name, tmp_path):
    tried = SCENARIOS[name].run(7, tmp_path)
    assert 0 <= tried.n_refused <= tried.n_inputs
    assert tried.n_inputs > 0


def test_kinds_of_files_take_turns(tmp_path):
    scenario = SCENARIOS["files of every kind"]
    assert scenario.volume == 5_000 * len(KINDS)
    names = [str(subject) for _, subject in KINDS]
    assert {"parabel", "refrag", "focused", "text-vectorizer-0", "text-classifier-2"} <= {*names}
    assert len({*names}) == len(names)
    # The kinds take turns, so that equal shares of the volume are reached.
    assert scenario.run(len(KINDS) + 2, tmp_path).kind == names[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "counts"),
    [("good", (0, 0, 0)), ("crash", (1, 0, 0)), ("hang", (0, 1, 0)), ("wrong", (0, 0, 1))],
)
def test_crashes_hangs_and_wrong_answers_are_counted(name, counts):
    options = {"hang_seconds": 15.0} if name == "hang" else {}
    found = bad(name, **options)
    assert (found.n_crashes, found.n_hangs, found.n_wrong) == counts
    # The batch that failed counts for nothing, and those after it are run.
    assert (found.n_inputs, found.n_refused) == (100, 40)
    assert found.n_batches == 10 + sum(counts)
    assert len(found.faults) == sum(counts)
    assert all(fault.startswith(f"{name}, batch 3: ") for fault in found.faults)
    lines = report({name: found}, 0).splitlines()
    assert lines[1].split()[:6] == [name, "100", "40", *map(str, counts)]
    least = "40 (odd)" if sum(counts) else "50 (even)"
    assert lines[2] == f"{name}: 2 kinds, least per kind {least}"


def test_batches_are_numbered_by_the_seed():
    # Batch 3 of seed 0 is none of seed 1.
    assert not bad("wrong", seed=1).faults


def test_nothing_runs_without_time():
    assert bad("good", seconds=0.0) == Outcome(seconds=ANY)


def test_torture_ends_when_volumes_are_reached(tmp_path):
    output = tmp_path / "torture.txt"
    command = [sys.executable, "-m", "tests.fuzz.torture", "--jobs", "2", "--table",
               bad_scenarios.__name__, "--only", "good", "wrong", "--output", output]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert ended.returncode == 1, ended.stderr  # of "wrong"
    assert ended.stdout.endswith(output.read_text())
    progress = ended.stdout.removesuffix(output.read_text()).splitlines()
    assert sorted(line.split()[0] for line in progress) == ["good", "wrong"]
    assert "two and two is five" in output.read_text()
