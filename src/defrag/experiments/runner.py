"""Running jobs: each in a process, and only what the store does not have."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

from defrag.experiments.attempt import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from defrag.experiments.corpus import Corpus
    from defrag.experiments.job import Job
    from defrag.experiments.store import Record, Store

__all__ = ["NOT_RUN", "is_stored", "run_jobs"]

NOT_RUN = "not run"
"""Status of a run that was not started."""

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_jobs(
    jobs: Iterable[Job],
    corpus: Corpus,
    store: Store,
    *,
    limit: float | None = None,
    retry: bool = False,
    workers: int = 1,
    until: float | None = None,
) -> Iterator[tuple[Job, Record]]:
    """Run the jobs on a corpus that the store does not have, and yield all records.

    Parameters
    ----------
    jobs : iterable of Job
        Jobs on this corpus.
    corpus : Corpus
        The data.
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
        started has the status ``NOT_RUN`` and is not kept.
    """
    wanted = list(jobs)
    for job in wanted:
        if job.data.fingerprint != corpus.facts.fingerprint:
            raise ValueError(f"the job {job.method!r} is about {job.data.name}, "
                             f"not about {corpus.facts.name}")  # fmt: skip
    missing = [job for job in wanted if not is_stored(job, store, limit=limit, retry=retry)]
    if not missing:  # the processes' files need not be written
        for job in wanted:
            yield job, _of(store, job)
        return
    with corpus.shared() as folder, closing(_Crew(folder, store, limit, workers, until)) as crew:
        running = {job.key: crew.submit(job) for job in missing}
        for job in wanted:
            was_run = job.key not in running or running[job.key].result()
            yield job, _of(store, job) if was_run else _not_run(job)


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


def _of(store: Store, job: Job) -> Record:
    record = store.get(job.key)
    if record is None:  # pragma: no cover - it was stored a line before
        raise KeyError(job.key)
    return record


def _not_run(job: Job) -> Record:
    return {**job.to_json(), "status": NOT_RUN, "error": "was not started"}


class _Crew:
    """Threads that wait for processes; closing ends what still runs, and records nothing of it."""

    def __init__(
        self, folder: Path, store: Store, limit: float | None, workers: int, until: float | None
    ) -> None:
        self._folder, self._store, self._limit = folder, store, limit
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

    def submit(self, job: Job) -> Future[bool]:
        """Run a job when a thread is free, keep its record, and say whether it was run."""
        return self._threads.submit(self._work, job)

    def _work(self, job: Job) -> bool:
        if self._until is not None and time.monotonic() >= self._until:
            return False
        process = _start(job, self._folder, shown=self._shown)
        with self._lock:
            self._processes.add(process)
            if self._stopped.is_set():
                process.kill()
        result = _wait(process, job, self._limit)
        with self._lock:
            self._processes.discard(process)
            if not self._stopped.is_set():
                self._store.append({**job.to_json(), **result, "finished": now()})
        return True


def _start(job: Job, folder: Path, *, shown: bool) -> subprocess.Popen[str]:
    """Start the process of a job."""
    environment = {**os.environ, **dict.fromkeys(_THREADS, str(max(1, job.n_jobs)))}
    return subprocess.Popen(  # noqa: S603 - this program itself
        [sys.executable, "-m", "defrag.experiments.worker", os.fspath(folder)],
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
