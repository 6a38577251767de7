"""Run the scenarios of a table for a while and count what goes wrong.

Example: ``python -m tests.fuzz.torture --minutes 10 --jobs 2 --output build/torture.txt``.

Every scenario gets the same share of the time and runs in processes of its own, so that a crash
or a hang is counted, with the number of its batch, and the next batch follows. The same seed
gives the same batches; how many there are depends on the time.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = "tests.fuzz.scenarios"
HANG_SECONDS = 300.0
MOST_FAULTS = 20


@dataclass(frozen=True)
class Scenario:
    """Something to try in numbered batches, and how often at most.

    ``run(batch, folder)`` returns how many inputs it tried and how many of them were refused, and
    raises an exception for anything that is wrong.
    """

    run: Callable[[int, Path], tuple[int, int]]
    most_inputs: int


@dataclass(frozen=True)
class Job:
    """A scenario of a table, and how its batches are run."""

    name: str
    seed: int = 0
    table: str = TABLE
    hang_seconds: float = HANG_SECONDS

    @property
    def scenario(self):
        """The scenario."""
        return importlib.import_module(self.table).SCENARIOS[self.name]

    def command(self, first):
        """Return the command of a process that runs batches."""
        return [sys.executable, "-m", "tests.fuzz.torture", "--child", self.name, "--first",
                str(first), "--seed", str(self.seed), "--table", self.table]  # fmt: skip


@dataclass
class Outcome:
    """What became of a scenario."""

    n_inputs: int = 0
    n_refused: int = 0
    n_crashes: int = 0
    n_hangs: int = 0
    n_wrong: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    @property
    def n_faults(self):
        """Number of batches in which anything went wrong."""
        return self.n_crashes + self.n_hangs + self.n_wrong


def torture(job, seconds):
    """Run batches of a scenario until the time is over or enough inputs were tried."""
    found, start, batch = Outcome(), time.monotonic(), 0
    most = job.scenario.most_inputs
    while found.n_inputs < most and found.n_faults < MOST_FAULTS:
        end = start + seconds
        if time.monotonic() >= end:
            break
        batch = _run_child(job, found, batch, end)
    found.seconds = time.monotonic() - start
    return found


def _run_child(job, found, batch, end):
    """Run batches in one process until it fails; return the number of the next batch."""
    begun = None
    with _Child(job, batch) as child:
        while (left := end - time.monotonic()) > 0 and found.n_inputs < job.scenario.most_inputs:
            try:
                line = child.lines.get(timeout=min(left, job.hang_seconds))
            except queue.Empty:
                if left > job.hang_seconds:
                    found.n_hangs += 1
                    found.faults.append(f"{job.name}, batch {begun}: no end")
                break
            if not line:
                found.n_crashes += 1
                found.faults.append(f"{job.name}, batch {begun}: {child.cause()}")
                break
            said = json.loads(line)
            begun = said["batch"]
            found.n_inputs += said.get("inputs", 0)
            found.n_refused += said.get("refused", 0)
            if "wrong" in said:
                found.n_wrong += 1
                found.faults.append(f"{job.name}, batch {begun}: {said['wrong']}")
                break
    return batch if begun is None else begun + 1


class _Child:
    """A process that runs batches, and what it says; it ends with all that it has started."""

    def __init__(self, job, batch):
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed at the end
        self._process = subprocess.Popen(
            job.command(batch), stdout=subprocess.PIPE, stderr=self._errors, text=True,
            start_new_session=True,
        )  # fmt: skip
        self.lines = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def cause(self):
        """Return why the process ended."""
        code = self._process.wait()
        self._errors.seek(0)
        cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"{cause}\n{self._errors.read()[-2000:]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._reader.join()
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()


def run_batches(job, first):
    """Run batches without end in this process, and say what became of each."""
    warnings.simplefilter("ignore")
    scenario, batch = job.scenario, first
    while True:
        sys.stdout.write(json.dumps({"batch": batch}) + "\n")
        sys.stdout.flush()
        with tempfile.TemporaryDirectory() as folder:
            try:
                n_inputs, n_refused = scenario.run(1_000_003 * job.seed + batch, Path(folder))
                said = {"batch": batch, "inputs": n_inputs, "refused": n_refused}
            except Exception:  # noqa: BLE001 - the parent counts it
                said = {"batch": batch, "wrong": traceback.format_exc()[-2000:]}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
        batch += 1


def report(outcomes, seed):
    """Return the outcomes as a table, and what went wrong below it."""
    names = ("scenario", "inputs", "refused", "crashes", "hangs", "wrong", "seconds")
    lines = ["{:22} {:>9} {:>9} {:>8} {:>6} {:>6} {:>8}".format(*names)]
    for name, found in outcomes.items():
        lines.append(f"{name:22} {found.n_inputs:9} {found.n_refused:9} {found.n_crashes:8} "
                     f"{found.n_hangs:6} {found.n_wrong:6} {found.seconds:8.0f}")  # fmt: skip
    lines.append(f"seed {seed}")
    lines += [fault for found in outcomes.values() for fault in found.faults]
    return "\n".join(lines) + "\n"


def main():
    """Run from the command line; fail if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="for all scenarios together")
    parser.add_argument("--jobs", type=int, default=1, help="scenarios at a time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="scenarios (default: all)")
    parser.add_argument("--output", type=Path, help="file for the table")
    parser.add_argument("--table", default=TABLE, help=argparse.SUPPRESS)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_batches(Job(options.child, options.seed, options.table), options.first)
    names = options.only or list(importlib.import_module(options.table).SCENARIOS)
    seconds = 60.0 * options.minutes * min(options.jobs, len(names)) / len(names)
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = [Job(name, options.seed, options.table) for name in names]
        found = pool.map(lambda job: torture(job, seconds), jobs)
        outcomes = dict(zip(names, found, strict=True))
    text = report(outcomes, options.seed)
    sys.stdout.write(text)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text)
    return int(any(found.n_faults for found in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
