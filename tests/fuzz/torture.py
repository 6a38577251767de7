"""Run the scenarios of a table until their volumes are reached, and count what goes wrong.

Example: ``python -m tests.fuzz.torture --minutes 10 --jobs 2 --output build/torture.txt``.

Each scenario has an equal share of the time that is left when it begins. Every batch runs in a
fork, so that a crash or a hang is counted, with the number of its batch, and the next batch
follows. The same seed gives the same batches; only if the time ends before all volumes are reached,
how many there are depends on it.
"""

import argparse
import functools
import importlib
import json
import math
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from tests.helpers.processes import run_in_child

TABLE = "tests.fuzz.scenarios"
HANG_SECONDS = 300.0
MOST_FAULTS = 20


class Scenario(NamedTuple):
    """Something to try in numbered batches, and how many inputs are enough.

    ``run(batch, folder)`` returns how many inputs it tried and how many of them were refused, and
    raises an exception for anything that is wrong; ``prepare(batch)`` makes before the fork what
    several batches use.
    """

    run: Callable[[int, Path], tuple[int, int]]
    volume: int
    prepare: Callable[[int], object] = int


@dataclass
class Outcome:
    """What became of a scenario."""

    n_inputs: int = 0
    n_refused: int = 0
    n_batches: int = 0
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def counts(self):
        """Return the numbers of crashes, hangs and wrong answers."""
        errors = [fault.partition(": ")[2] for fault in self.faults]
        crashes = sum(error.startswith("died of") for error in errors)
        hangs = sum(error.startswith("still running") for error in errors)
        return crashes, hangs, len(errors) - crashes - hangs


def torture(name, scenario, *, seconds, seed=0, hang_seconds=HANG_SECONDS):
    """Run batches until the volume is reached, the time is over, or too much went wrong."""
    found, start = Outcome(), time.monotonic()
    while (
        time.monotonic() < start + seconds
        and found.n_inputs < scenario.volume
        and len(found.faults) < MOST_FAULTS
    ):
        number = 1_000_003 * seed + found.n_batches
        scenario.prepare(number)
        try:
            said = run_in_child(_run, scenario, number, seconds=hang_seconds, gigabytes=32.0)
        except AssertionError as error:
            found.faults.append(f"{name}, batch {found.n_batches}: {error}")
        else:
            n_inputs, n_refused = json.loads(said[-1])
            found.n_inputs += n_inputs
            found.n_refused += n_refused
        found.n_batches += 1
    found.seconds = time.monotonic() - start
    return found


def _run(step, scenario, number):
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        step(json.dumps(scenario.run(number, Path(folder))))


def _run_share(options, names, end, place):
    """Run a scenario for its share of the time."""
    scenario = importlib.import_module(options.table).SCENARIOS[names[place]]
    seconds = (end - time.monotonic()) / math.ceil((len(names) - place) / options.jobs)
    return torture(names[place], scenario, seconds=seconds, seed=options.seed)


def report(outcomes, seed):
    """Return the outcomes as a table, and below it what went wrong."""
    row = "{:22} {:>9} {:>9} {:>8} {:>6} {:>6} {:>8}".format
    lines = [row("scenario", "inputs", "refused", "crashes", "hangs", "wrong", "seconds")]
    lines += [
        row(name, found.n_inputs, found.n_refused, *found.counts(), round(found.seconds))
        for name, found in outcomes.items()
    ]
    lines.append(f"seed {seed}")
    lines += [fault for found in outcomes.values() for fault in found.faults]
    return "\n".join(lines) + "\n"


def main():
    """Run from the command line; fail if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="at most")
    parser.add_argument("--jobs", type=int, default=1, help="scenarios at a time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="scenarios (default: all)")
    parser.add_argument("--output", type=Path, help="file for the table")
    parser.add_argument("--table", default=TABLE, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.only or list(importlib.import_module(options.table).SCENARIOS)
    end = time.monotonic() + 60.0 * options.minutes
    share = functools.partial(_run_share, options, names, end)
    outcomes = {}
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("fork")) as pool:
        for name, outcomes[name] in zip(names, pool.map(share, range(len(names))), strict=True):
            sys.stdout.write(report({name: outcomes[name]}, options.seed).splitlines()[1] + "\n")
            sys.stdout.flush()
    text = report(outcomes, options.seed)
    sys.stdout.write(text)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text)
    return int(any(found.faults for found in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
