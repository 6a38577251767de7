"""Running jobs: one process after the other, and only what the store does not have."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from defrag.experiments.attempt import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from defrag.experiments.corpus import Corpus
    from defrag.experiments.job import Job
    from defrag.experiments.store import Record, Store

__all__ = ["is_stored", "run_jobs"]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_jobs(
    jobs: Iterable[Job],
    corpus: Corpus,
    store: Store,
    *,
    limit: float | None = None,
    retry: bool = False,
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

    Yields
    ------
    job, record : Job, dict
        In the order of the jobs, each as soon as it is known.
    """
    wanted = list(jobs)
    for job in wanted:
        if job.data.fingerprint != corpus.facts.fingerprint:
            raise ValueError(f"the job {job.method!r} is about {job.data.name}, "
                             f"not about {corpus.facts.name}")  # fmt: skip
    if all(is_stored(job, store, limit=limit, retry=retry) for job in wanted):
        for job in wanted:
            yield job, _of(store, job)
        return
    with corpus.shared() as folder:
        for job in wanted:
            if not is_stored(job, store, limit=limit, retry=retry):
                store.append({**job.to_json(), **_run(job, folder, limit)})
            yield job, _of(store, job)


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


def _run(job: Job, folder: Path, limit: float | None) -> dict[str, Any]:
    """Run a job in a process and return the rest of its record."""
    shown = sys.stderr.isatty()
    environment = {**os.environ, **dict.fromkeys(_THREADS, str(max(1, job.n_jobs)))}
    process = subprocess.Popen(  # noqa: S603 - this program itself
        [sys.executable, "-m", "defrag.experiments.worker", os.fspath(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None if shown else subprocess.PIPE,
        env=environment,
        text=True,
    )
    try:
        out, err = process.communicate(json.dumps(job.to_json()), timeout=limit)
        result = _result(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        result = {"status": "failed", "error": f"took longer than {limit:g} s", "limit": limit}
    finally:
        # Also after Ctrl-C: no run goes on without anybody to keep its result.
        process.kill()
        process.communicate()
    return {**result, "finished": now()}


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
