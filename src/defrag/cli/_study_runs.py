"""Runs of ``defrag reproduce``: loads data, plans studies and runs all jobs in one order."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from defrag._progress import progress_pulse
from defrag.cli._console import escaped, print_message
from defrag.cli._experiments import run_with_messages
from defrag.io import load_dataset
from defrag.lab.corpus import Corpus
from defrag.lab.planning import OVERHEAD, cut, plan, schedule
from defrag.lab.records import collect
from defrag.lab.results import Findings
from defrag.lab.runs import NOT_RUN, is_stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from defrag.lab.planning import Plan, Task
    from defrag.lab.records import Record, Store
    from defrag.lab.studies import Study

__all__ = ["Settings", "plan_studies", "run_studies"]

# Time limit of a run as a multiple of its budget, and its minimum in seconds, because a run
# also starts a process and measures.
_LIMIT_PER_BUDGET, _MIN_LIMIT = 4, 60.0


@dataclass(frozen=True)
class Settings:
    """Settings of all runs.

    Attributes
    ----------
    store : Store
        Where records are kept.
    budget : float or None
        CPU seconds of one run.
    seeds : int or None
        Number of seeds; None: that of the study.
    until : float or None
        Time of ``time.monotonic`` after which no run is started.
    retry : bool
        Whether failed runs are repeated.
    workers : int
        Number of concurrent runs.
    """

    store: Store
    budget: float | None
    seeds: int | None
    until: float | None
    retry: bool
    workers: int

    @property
    def limit(self) -> float | None:
        """Wall-clock seconds after which a run is stopped."""
        return None if self.budget is None else max(_MIN_LIMIT, _LIMIT_PER_BUDGET * self.budget)


@dataclass
class _Part:
    """Plans of a study, label names of its data sets, and remarks on what was left out."""

    study: Study
    plans: list[Plan] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def run_studies(
    studies: Sequence[Study], places: Iterable[str], settings: Settings
) -> list[Findings]:
    """Run studies on data sets and return the findings of each.

    A data set that cannot be read is left out with a warning.

    Parameters
    ----------
    studies : sequence of Study
        The studies.
    places : iterable of str
        Names of data sets.
    settings : Settings
        Budget, records and workers.
    """
    parts, tasks = _prepare(studies, places, settings)
    _announce(tasks, settings)
    pairs = run_with_messages(
        [task.job for task in tasks],
        [one.corpus for part in parts for one in part.plans],
        settings.store,
        limit=settings.limit,
        retry=settings.retry,
        workers=settings.workers,
        until=settings.until,
    )
    records = {job.key: record for job, record in pairs}
    return [_findings(part, records) for part in parts if part.plans or part.remarks]


def plan_studies(
    studies: Sequence[Study], places: Iterable[str], settings: Settings
) -> dict[str, Any]:
    """Return what :func:`run_studies` would do, for a JSON file.

    Returns
    -------
    plan : dict
        ``minutes``, estimated for all runs that are missing; ``rows``, by study and data set: the
        number of runs, how many of them are recorded, how many of the others are estimated not to
        be started in time, the methods of which no run is, and minutes; ``left_out``, what is
        sampled or not run, and why.
    """
    parts, tasks = _prepare(studies, places, settings)
    to_run = _missing(tasks, settings)
    n_started = len(to_run)
    if settings.until is not None:
        n_started = cut(to_run, settings.until - time.monotonic(), settings.workers)
    late = {task.job.key for task in to_run[n_started:]}
    absent = {task.job.key for task in to_run}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    counted: set[str] = set()
    in_time = {
        (task.study.name, task.job.data.name, task.job.method)
        for task in tasks
        if task.job.key not in late
    }
    for task in tasks:
        name, key = (task.study.name, task.job.data.name), task.job.key
        empty = {"runs": 0, "recorded": 0, "late": 0, "minutes": 0.0, "absent": []}
        row = rows.setdefault(name, {"study": name[0], "data": name[1], **empty})
        row["runs"] += 1
        row["recorded"] += key not in absent
        row["late"] += key in late
        if key in absent - counted:
            row["minutes"] += _minutes([task], settings)
        if (*name, task.job.method) not in in_time and task.job.method not in row["absent"]:
            row["absent"].append(task.job.method)
        counted.add(key)  # a run that two studies share is run once
    left_out = [
        f"{part.study.name}: {remark}"
        for part in parts
        for remark in dict.fromkeys(
            [*part.remarks, *(remark for one in part.plans for remark in one.remarks)]
        )
    ]
    return {
        "minutes": _minutes(to_run, settings),
        "rows": list(rows.values()),
        "left_out": left_out,
    }


def _prepare(
    studies: Sequence[Study], places: Iterable[str], settings: Settings
) -> tuple[list[_Part], list[Task]]:
    """Load the data, and return plans and jobs in their order."""
    parts = [_Part(study) for study in studies]
    for place in places:
        _plan_on(place, [part for part in parts if place in part.study.data], settings)
    return parts, schedule((part.study, one) for part in parts for one in part.plans)


def _missing(tasks: Sequence[Task], settings: Settings) -> list[Task]:
    """Return the tasks that are to be run, each run once."""
    found: dict[str, Task] = {}
    for task in tasks:
        if not is_stored(task.job, settings.store, limit=settings.limit, retry=settings.retry):
            found.setdefault(task.job.key, task)
    return list(found.values())


def _minutes(tasks: Sequence[Task], settings: Settings) -> float:
    """Return how long runs are estimated to take."""
    return sum(task.seconds + OVERHEAD for task in tasks) / 60 / settings.workers


def _plan_on(place: str, parts: Iterable[_Part], settings: Settings) -> None:
    """Load a data set and add its plans to all studies that use it."""
    try:
        with progress_pulse(f"loading {place}"):
            loaded = load_dataset(place)
            corpus = Corpus(place, loaded.train, loaded.test)
    except (OSError, ValueError, MemoryError) as error:
        remark = f"{place} is left out: {error}"
        typer.echo(f"warning: {escaped(remark)}", err=True)
        for part in parts:
            part.remarks.append(remark)
        return
    held_out: Corpus | None = None
    for part in parts:
        data = corpus
        if part.study.held_out:
            data = held_out = held_out or corpus.held_out()
        plans = plan(
            part.study, data, budget=settings.budget, seeds=settings.seeds, store=settings.store
        )
        part.plans += plans
        if loaded.label_names is not None:
            part.names[place] = loaded.label_names
        for remark in (remark for one in plans for remark in one.remarks):
            print_message(f"{part.study.name}: {remark}")


def _announce(tasks: Sequence[Task], settings: Settings) -> None:
    """Print how long the runs are estimated to take."""
    to_run = _missing(tasks, settings)
    print_message(
        f"{len(to_run)} runs to do, about {_minutes(to_run, settings):.0f} minutes, "
        f"{settings.workers} at a time"
    )


def _findings(part: _Part, records: dict[str, Record]) -> Findings:
    """Return the results of a study in its own order."""
    results, remarks = [], list(part.remarks)
    for one in part.plans:
        pairs = [(job, records[job.key]) for job in one.jobs]
        results += collect(pair for pair in pairs if pair[1]["status"] != NOT_RUN)
        remarks += [*one.remarks, *_describe_late(one, records)]
    return Findings(part.study, results, list(dict.fromkeys(remarks)), part.names)


def _describe_late(planned: Plan, records: dict[str, Record]) -> list[str]:
    """Return sentences about the jobs of a plan that were not started."""
    wanted = Counter(job.method for job in planned.jobs)
    late = Counter(
        job.method for job in planned.jobs if records[job.key]["status"] == NOT_RUN
    )  # fmt: skip
    seconds = dict(zip((job.method for job in planned.jobs), planned.seconds, strict=True))
    name = planned.corpus.facts.name
    remarks = []
    absent = [method for method in late if late[method] == wanted[method]]
    if absent:
        listed = "; ".join(f"{method} ({seconds[method]:.0f} s)" for method in absent)
        remarks.append(
            f"not started on {name}, because the time of --within was over (estimated seconds of a "
            f"run in parentheses): {listed}. The same command continues."
        )
    fewer = [method for method in late if late[method] < wanted[method]]
    if fewer:
        remarks.append(
            f"fewer seeds on {name} than the {max(wanted.values())} of the study, because the time "
            f"of --within was over: {'; '.join(fewer)}."
        )
    return remarks
