"""Running jobs: each in a process, and only what the store does not have.

A process of its own makes the peak memory that of the run, and a run that fails, or that the
system kills, ends nothing else. :func:`work` is that process. Called by ``planning`` for studies,
and by ``defrag compare``.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from defrag._progress import logger, progress_pulse
from defrag.io import Split
from defrag.lab.corpus import Corpus, read_shared
from defrag.lab.measures import K, measure, run
from defrag.lab.records import Job, Record, Result, Store, machine, versions
from defrag.lab.texts import TextFiles, read_files
from defrag.metrics import Predictions, Truth, align
from defrag.metrics._ranked import top_columns

# --- An attempt at a run: its result, or the error that ended it, as part of a record.

Attempt = tuple[dict[str, Any], Any, Any]
"""The result of a run, the model and what it has predicted; the latter None after an error."""

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


def attempt(job: dict[str, Any], train: Split | TextFiles, test: Split | None) -> Attempt:
    """Run a job in this process; ``job`` is that of :func:`defrag.lab.measures.run`.

    The result has a status, the warnings or the error, versions and machine; ``passing`` if the
    error is that of a full disk, which says nothing about the job.
    """
    model = found = None
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            values, model, found = run(job, train, test)
        messages = sorted({str(warning.message) for warning in caught})
        result: dict[str, Any] = {"status": "done", **values, "warnings": messages}
    except Exception as error:  # noqa: BLE001 - any error becomes part of the record
        result = {"status": "failed", "error": _one_line(error)}
        if isinstance(error, OSError) and error.errno in _NO_SPACE:
            result["passing"] = True
    return {**result, "versions": versions(), "machine": machine()}, model, found


def predicted(
    name: str, found: Predictions, corpus: Corpus, label_names: Sequence[str] | None = None
) -> Result:
    """Return what the predictions of another program are worth, as the result of a method.

    The arguments are the name of the program, what it predicted for the test points, the corpus,
    and the names of its labels.
    """
    train, test = corpus.train, corpus.test
    truth = Truth(f"the test points of {corpus.facts.name}", test.Y)
    scores = align(found, truth, None, label_names).scores
    labels = top_columns(scores, max(K))
    measured = measure(labels, train, test, corpus.facts.constants)
    record = {"method": name, "data": asdict(corpus.facts), "seed": 0, "n_jobs": 1,
              "estimator": {"kind": "predictions", "parameters": {"file": found.name}},
              "status": "done", **measured, "versions": versions(), "machine": machine(),
              "finished": now()}  # fmt: skip
    return Result(name, corpus.facts.name, [record])


def now() -> str:
    """Return the time for a record."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _one_line(error: BaseException) -> str:
    """Return an error in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"


NOT_RUN = "not run"
"""Status of a run that was not started, or not finished before an interrupt."""


class Interrupted(KeyboardInterrupt):
    """The user has interrupted runs; ``done`` is what there is to show of them all the same."""

    def __init__(self, done: Any) -> None:
        super().__init__()
        self.done = done


UNKEPT = "unkept"
"""Field of a record that could not be written to the store: why."""

_WORK = "from defrag.lab.runs import work; work()"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


def run_jobs(
    jobs: Iterable[Job],
    corpus: Corpus | Sequence[Corpus],
    store: Store,
    *,
    limit: float | None = None,
    retry: bool = False,
    workers: int = 1,
    until: float | None = None,
) -> Iterator[tuple[Job, Record]]:
    """Run the jobs that the store does not have, and yield all records.

    Parameters
    ----------
    jobs : iterable of Job
        What to run. Jobs with the same key are run once.
    corpus : Corpus or sequence of Corpus
        The data of the jobs.
    store : Store
        Where records are looked up and kept. A record is kept before it is yielded.
    limit : float, optional
        Seconds after which a run is ended and recorded as failed.
    retry : bool, default=False
        Whether runs that have failed are run again. Those that were ended by a lower limit
        always are.
    workers : int, default=1
        Number of runs at a time. Runs disturb each other's times a little.
    until : float, optional
        Time of ``time.monotonic`` after which no run is started.

    Yields
    ------
    job, record : Job, dict
        In the order of the jobs, each as soon as it is known. The record of a run that was not
        started has the status ``NOT_RUN`` and is not kept. A record that the disk has no room
        for has a field ``UNKEPT`` with the reason, and the next run starts all the same.
    """
    wanted = list(jobs)
    corpora = [corpus] if isinstance(corpus, Corpus) else list(corpus)
    known = {one.facts.fingerprint: one for one in corpora}
    for job in wanted:
        if job.data.fingerprint not in known:
            names = " or ".join(one.facts.name for one in corpora)
            raise ValueError(f"the job {job.method!r} has the data {job.data.name}, not {names}")
    missing = {
        job.key: job for job in wanted if not is_stored(job, store, limit=limit, retry=retry)
    }
    with ExitStack() as stack:
        # The processes' files are written for the corpora that something is run on.
        folders = {
            name: _shared(known[name], stack)
            for name in dict.fromkeys(job.data.fingerprint for job in missing.values())
        }
        crew = stack.enter_context(closing(_Crew(store, limit, workers, until)))
        running = {
            key: crew.submit(job, folders[job.data.fingerprint]) for key, job in missing.items()
        }
        for job in wanted:
            yield job, running[job.key].result() if job.key in running else _kept(job, store)


@dataclass(frozen=True)
class Messages:
    """Where messages about runs go: functions of a text. The default is the logger ``defrag``."""

    say: Callable[[str], None] = logger.info
    warn: Callable[[str], None] = logger.warning


def run_all(
    jobs: Sequence[Job],
    corpus: Corpus | Sequence[Corpus],
    store: Store,
    *,
    messages: Messages | None = None,
    limit: float | None = None,
    retry: bool = False,
    workers: int = 1,
    until: float | None = None,
) -> list[tuple[Job, Record]]:
    """Run jobs with messages about progress, known records and failures; see :func:`run_jobs`.

    Raises `Interrupted` with the records of all jobs, in which those that have not ended are not
    run.
    """
    said = messages or Messages()
    pairs = []
    known = sum(is_stored(job, store, limit=limit, retry=retry) for job in jobs)
    said.say(f"{len(jobs)} runs, {known} of them in {store.folder} already")
    outdated = store.n_outdated()
    if outdated:
        said.warn(
            f"{outdated} records in {store.folder} were made by other code of defrag: they are not "
            "used, and their runs are run again"
        )
    running = run_jobs(jobs, corpus, store, limit=limit, retry=retry, workers=workers, until=until)
    for place, job in enumerate(jobs, 1):
        name = f"{job.method} on {job.data.name}, seed {job.seed}"
        try:
            with progress_pulse(f"[{place}/{len(jobs)}] {name}"):
                pair = next(running)
        except KeyboardInterrupt:
            raise Interrupted([(one, _kept(one, store)) for one in jobs]) from None
        pairs.append(pair)
        record = pair[1]
        if UNKEPT in record:
            said.warn(f"the record of {name} could not be written: {record[UNKEPT]}")
        if record["status"] == "done":
            said.say(
                f"[{place}/{len(jobs)}] {name}: "
                f"P@1 {record['metrics'].get('P@1', float('nan')):.2f}, "
                f"training {record['training']['cpu']:.1f} s"
            )
        elif record["status"] != NOT_RUN:
            said.warn(f"{name} failed: {record['error']}")
    return pairs


def is_stored(job: Job, store: Store, *, limit: float | None = None, retry: bool = False) -> bool:
    """Return whether a job need not be run; the arguments are those of :func:`run_jobs`."""
    record = store.get(job.key)
    if record is None:
        return False
    if record["status"] == "done":
        return True
    ended_by = record.get("limit")
    cut = ended_by is not None and (limit is None or limit > ended_by)
    return not (retry or cut)


def _kept(job: Job, store: Store) -> Record:
    """Return the record of a job, or one that says that it was not run."""
    return store.get(job.key) or _not_run(job)


def _not_run(job: Job) -> Record:
    return {**job.to_json(), "status": NOT_RUN, "error": "was not started"}


def _shared(corpus: Corpus, stack: ExitStack) -> Path | OSError:
    """Return the folder of a corpus, or why it could not be written."""
    try:
        return stack.enter_context(corpus.shared())
    except OSError as error:
        return error


class _Crew:
    """Threads that wait for processes; closing ends what still runs, and records nothing of it."""

    def __init__(
        self, store: Store, limit: float | None, workers: int, until: float | None
    ) -> None:
        self._store, self._limit = store, limit
        self._until = until
        self._threads = ThreadPoolExecutor(workers)
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._processes: set[subprocess.Popen[str]] = set()
        # Bars of several runs would be drawn over each other.
        self._shown = workers == 1 and sys.stderr.isatty()

    def close(self) -> None:
        """End all processes and threads."""
        self._stopped.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for process in self._processes:
                process.kill()
        self._threads.shutdown(wait=True)

    def submit(self, job: Job, folder: Path | OSError) -> Future[Record]:
        """Run a job when a thread is free, keep its record and return it."""
        return self._threads.submit(self._work, job, folder)

    def _work(self, job: Job, folder: Path | OSError) -> Record:
        if self._until is not None and time.monotonic() >= self._until:
            return _not_run(job)
        if isinstance(folder, OSError):
            return {**job.to_json(), "status": "failed", "error": str(folder)}
        process = _start(job, folder, shown=self._shown)
        with self._lock:
            self._processes.add(process)
            if self._stopped.is_set():
                process.kill()
        result = _wait(process, job, self._limit)
        record = {**job.to_json(), "versions": versions(), **result, "finished": now()}
        with self._lock:
            self._processes.discard(process)
            if not self._stopped.is_set() and not record.pop("passing", False):
                try:
                    self._store.append(record)
                except OSError as error:
                    record[UNKEPT] = str(error)
        return record


def _start(job: Job, folder: Path, *, shown: bool) -> subprocess.Popen[str]:
    environment = {**os.environ, **dict.fromkeys(_THREADS, str(max(1, job.n_jobs)))}
    return subprocess.Popen(  # noqa: S603 - this program itself
        [sys.executable, "-c", _WORK, os.fspath(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None if shown else subprocess.PIPE,
        env=environment,
        text=True,
    )


def _wait(process: subprocess.Popen[str], job: Job, limit: float | None) -> dict[str, Any]:
    """Return the result of a process, or why there is none."""
    try:
        out, err = process.communicate(json.dumps(job.to_json()), timeout=limit)
        return _result(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return {"status": "failed", "error": f"took longer than {limit:g} s", "limit": limit}


def _result(code: int, out: str, err: str | None) -> dict[str, Any]:
    if code == 0:
        found: dict[str, Any] = json.loads(out)
        return found
    if code in {130, -signal.SIGINT}:
        raise KeyboardInterrupt
    if code < 0:
        name = signal.Signals(-code).name
        hint = " (out of memory?)" if code == -signal.SIGKILL else ""
        return {"status": "failed", "error": f"the process was ended by {name}{hint}"}
    last = (err or "").strip().splitlines()[-1:] or ["no message"]
    return {"status": "failed", "error": f"the process ended with code {code}: {last[0]}"}


def work() -> None:
    """Run the job on standard input and write its result to standard output, both as JSON.

    The first argument is the folder of the data.
    """
    # Only results go to standard output; everything that libraries print goes to stderr.
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    job = json.load(sys.stdin)
    try:
        folder = Path(sys.argv[1])
        files = read_files(folder)
        data = read_shared(folder) if files is None else (files, None)
        result, _, _ = attempt(job, *data)
    except KeyboardInterrupt:
        sys.exit(130)
    with results:
        json.dump(result, results)
