"""Run the scenarios of a table until their volumes are reached, and count what goes wrong.

Example: ``python -m tests.fuzz.torture --minutes 10 --jobs 2 --output build/torture.txt``.

Each scenario has an equal share of the time that is left. Batches run in processes of their own, so
that a crash or a hang is counted, with the number of its batch, and the next batch follows. The
same seed gives the same batches; only if the time ends before all volumes are reached, how many
there are depends on it.
"""

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
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

TABLE = "tests.fuzz.scenarios"
HANG_SECONDS = 300.0
POLL_SECONDS = 1.0
MOST_FAULTS = 20


class Tried(NamedTuple):
    """What a batch tried: how many inputs, how many were refused, and of which kind they were."""

    n_inputs: int
    n_refused: int = 0
    kind: str = ""


@dataclass(frozen=True)
class Scenario:
    """Something to try in numbered batches, and how many inputs are enough.

    ``run(batch, folder)`` raises an exception for anything that is wrong.
    """

    run: Callable[[int, Path], Tried]
    volume: int


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
    next_batch: int = 0
    faults: list[str] = field(default_factory=list)
    of_kind: Counter[str] = field(default_factory=Counter)

    @property
    def n_faults(self):
        """Number of batches in which anything went wrong."""
        return self.n_crashes + self.n_hangs + self.n_wrong

    def count(self, said):
        """Count a batch that came to its end."""
        self.n_inputs += said["inputs"]
        self.n_refused += said["refused"]
        if said["kind"]:
            self.of_kind[said["kind"]] += said["inputs"]


class Torture:
    """Scenarios, each with an equal share of the time that is left when it begins."""

    def __init__(self, jobs, seconds, say=lambda _line: None):
        self.outcomes = {job.name: Outcome() for job in jobs}
        self._jobs, self._say, self._n_waiting = jobs, say, len(jobs)
        self._end = time.monotonic() + seconds

    def run(self, n_jobs):
        """Run batches in as many processes until the time is over or all volumes are reached."""
        with ThreadPoolExecutor(n_jobs) as pool:
            try:
                list(pool.map(lambda job: self._work(job, n_jobs), self._jobs))
            except KeyboardInterrupt:
                self._end = 0.0  # what was counted is reported
        return self.outcomes

    def _work(self, job, n_jobs):
        found, start = self.outcomes[job.name], time.monotonic()
        end = start + (self._end - start) / -(-self._n_waiting // n_jobs)
        self._n_waiting -= 1
        while self._has_time(end) and not _is_done(job, found):
            self._run_child(job, found, end)
        found.seconds = time.monotonic() - start
        self._say(f"{job.name:22} {found.n_inputs:9,} of {job.scenario.volume:9,} in "
                  f"{found.seconds:5.0f} s, {found.n_faults} faults")  # fmt: skip

    def _has_time(self, end):
        return time.monotonic() < min(end, self._end)

    def _run_child(self, job, found, end):
        """Run batches in one process until one fails, or ends after this time."""
        heard, begun = time.monotonic(), found.next_batch
        with _Child(job, begun) as child:
            while self._has_time(end):
                try:
                    line = child.lines.get(timeout=min(POLL_SECONDS, job.hang_seconds))
                except queue.Empty:
                    if time.monotonic() < heard + job.hang_seconds:
                        continue
                    found.n_hangs += 1
                    fault = "no end"
                    break
                if not line:
                    found.n_crashes += 1
                    fault = child.cause()
                    break
                heard, said = time.monotonic(), json.loads(line)
                begun = said["batch"]
                if "wrong" in said:
                    found.n_wrong += 1
                    fault = said["wrong"]
                    break
                if "inputs" in said:
                    found.next_batch = begun + 1
                    found.count(said)
                    if _is_done(job, found):
                        return
            else:
                return
        found.next_batch = begun + 1
        found.faults.append(f"{job.name}, batch {begun}: {fault}")


def _is_done(job, found):
    """Return whether the volume is reached, or so much went wrong that it would for ever."""
    return found.n_inputs >= job.scenario.volume or found.n_faults >= MOST_FAULTS


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
                tried = scenario.run(1_000_003 * job.seed + batch, Path(folder))
                said = {"batch": batch, "inputs": tried.n_inputs, "refused": tried.n_refused,
                        "kind": tried.kind}  # fmt: skip
            except Exception:  # noqa: BLE001 - the parent counts it
                said = {"batch": batch, "wrong": traceback.format_exc()[-2000:]}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
        batch += 1


def report(outcomes, seed):
    """Return the outcomes as a table; below it the rarest kinds, and what went wrong."""
    names = ("scenario", "inputs", "refused", "crashes", "hangs", "wrong", "seconds")
    lines = ["{:22} {:>9} {:>9} {:>8} {:>6} {:>6} {:>8}".format(*names)]
    for name, found in outcomes.items():
        lines.append(f"{name:22} {found.n_inputs:9} {found.n_refused:9} {found.n_crashes:8} "
                     f"{found.n_hangs:6} {found.n_wrong:6} {found.seconds:8.0f}")  # fmt: skip
    for name, found in outcomes.items():
        if found.of_kind:
            kind, least = min(found.of_kind.items(), key=lambda pair: pair[1])
            lines.append(f"{name}: {len(found.of_kind)} kinds, least per kind {least} ({kind})")
    lines.append(f"seed {seed}")
    lines += [fault for found in outcomes.values() for fault in found.faults]
    return "\n".join(lines) + "\n"


def _say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main():
    """Run from the command line; fail if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="at most")
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
    jobs = [Job(name, options.seed, options.table) for name in names]
    outcomes = Torture(jobs, 60.0 * options.minutes, say=_say).run(options.jobs)
    text = report(outcomes, options.seed)
    sys.stdout.write(text)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text)
    return int(any(found.n_faults for found in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
