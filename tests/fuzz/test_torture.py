"""The scenarios of ``make torture``: one batch of each, and what is counted when one goes wrong."""

import os
import signal
import subprocess
import sys
import time
from unittest.mock import ANY

import pytest

from tests.fuzz import scenarios
from tests.fuzz.torture import Outcome, Scenario, report, torture


def at_three(harm):
    """Return a scenario that tries ten inputs a batch, and does harm in its fourth."""

    def run(batch, _folder):
        if batch == 3:
            harm()
        return 10, 4

    return Scenario(run, 100)


SCENARIOS = {
    "good": at_three(lambda: None),
    "crash": at_three(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "hang": at_three(lambda: time.sleep(1000)),
    "wrong": at_three(lambda: pytest.fail("two and two is five")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", scenarios.SCENARIOS)
def test_batch_of_each_scenario_runs(name, tmp_path):
    n_inputs, n_refused = scenarios.SCENARIOS[name].run(7, tmp_path)
    assert 0 <= n_refused <= n_inputs
    assert n_inputs > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "counts"),
    [("good", (0, 0, 0)), ("crash", (1, 0, 0)), ("hang", (0, 1, 0)), ("wrong", (0, 0, 1))],
)
def test_crashes_hangs_and_wrong_answers_are_counted(name, counts):
    options = {"hang_seconds": 15.0} if name == "hang" else {}
    found = torture(name, SCENARIOS[name], seconds=120.0, **options)
    assert found.counts() == counts
    # The batch that failed counts for nothing, and those after it are run.
    assert (found.n_inputs, found.n_refused) == (100, 40)
    assert found.n_batches == 10 + sum(counts)
    assert len(found.faults) == sum(counts)
    assert all(fault.startswith(f"{name}, batch 3: ") for fault in found.faults)
    lines = report({name: found}, 0).splitlines()
    assert lines[1].split()[:6] == [name, "100", "40", *map(str, counts)]


def test_batches_are_numbered_by_the_seed():
    # Batch 3 of seed 0 is none of seed 1.
    assert not torture("wrong", SCENARIOS["wrong"], seconds=120.0, seed=1).faults


def test_nothing_runs_without_time():
    assert torture("good", SCENARIOS["good"], seconds=0.0) == Outcome(seconds=ANY)


def test_torture_ends_when_volumes_are_reached(tmp_path):
    output = tmp_path / "torture.txt"
    command = [sys.executable, "-m", "tests.fuzz.torture", "--jobs", "2", "--table", __name__,
               "--only", "good", "wrong", "--output", output]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert ended.returncode == 1, ended.stderr  # of "wrong"
    assert ended.stdout.endswith(output.read_text())
    progress = ended.stdout.removesuffix(output.read_text()).splitlines()
    assert [line.split()[0] for line in progress] == ["good", "wrong"]
    assert "two and two is five" in output.read_text()
