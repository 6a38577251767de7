"""The scenarios of ``make torture``: one batch of each, and what is counted when one goes wrong."""

from __future__ import annotations

import pytest

from tests.fuzz.scenarios import SCENARIOS
from tests.fuzz.torture import Job, report, torture

BAD = "tests.helpers.bad_scenarios"


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_batch_of_each_scenario(name, tmp_path):
    n_inputs, n_refused = SCENARIOS[name].run(7, tmp_path)
    assert 0 <= n_refused <= n_inputs
    assert n_inputs > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "counts"),
    [("good", (0, 0, 0)), ("crash", (1, 0, 0)), ("hang", (0, 1, 0)), ("wrong", (0, 0, 1))],
)
def test_crashes_hangs_and_wrong_answers_are_counted(name, counts):
    found = torture(Job(name, table=BAD, hang_seconds=5.0), 120.0)
    assert (found.n_crashes, found.n_hangs, found.n_wrong) == counts
    # The batch that failed counts for nothing, and those after it are run.
    assert (found.n_inputs, found.n_refused) == (100, 40)
    assert all(fault.startswith(f"{name}, batch 3: ") for fault in found.faults)
    lines = report({name: found}, 0).splitlines()
    assert lines[1].split()[:6] == [name, "100", "40", *map(str, counts)]


def test_batches_are_numbered_by_the_seed():
    # Batch 3 of seed 0 is none of seed 1.
    assert torture(Job("wrong", seed=1, table=BAD), 120.0).n_faults == 0
