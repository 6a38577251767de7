"""Running studies: the jobs of each on its data sets within a budget, their order, their results.

``defrag reproduce`` calls :func:`run_studies` and :func:`plan_studies`; what they are made of
follows below, from plans to the order of all jobs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from defrag._progress import progress_pulse
from defrag.io import load_dataset
from defrag.lab import peers
from defrag.lab.corpus import Corpus, place_of
from defrag.lab.peers import PEERS, TEXT_PEERS, WORD_VECTORS, missing_peer
from defrag.lab.records import Job, Record, Store, collect
from defrag.lab.results import Findings
from defrag.lab.runs import NOT_RUN, Interrupted, Messages, is_stored, run_all
from defrag.lab.studies import Line, Study, suited
from defrag.lab.texts import NGRAM_SETS, TextCorpus, ngram_corpus
from defrag.presets import MULTIPLE, usual
from defrag.specs import Spec, build

ALL_PEERS = PEERS | TEXT_PEERS
"""What tables call all other programs."""

SAMPLE = 4
"""One of so many training points is used for methods that exceed the budget."""

SAMPLE_TEST = 20_000
"""So many test points, at most, are used with a sample of the training points."""

OVERHEAD = 2.5
"""CPU seconds of a run beside training and prediction: a process is started, imports the package,
computes metrics and writes the model file."""

# Seconds of runs relative to what the estimators say, by classifier: means of the records of
# EURLex-4K and debian.
_MEASURED = {
    "label_tree": 0.2, "parabel": 0.4, "bonsai": 0.5, "plt": 0.6, "dismec": 0.35,
    "ppd_sparse": 0.35, "proxml": 0.35, "lpsr": 0.35, "fastxml": 0.7, "pfastrexml": 1.4,
    "craftml": 0.7, "sleec": 1.1, "annexml": 0.6, "leml": 0.65,
}  # fmt: skip

# A further seed of a method is as urgent as the first one of a method that costs so much more.
_SEED_WEIGHT = 4.0

# Time limit of a run as a multiple of its budget, and its minimum in seconds, because a run
# also starts a process and measures.
_LIMIT_PER_BUDGET, _MIN_LIMIT = 4, 60.0


@dataclass(frozen=True)
class Settings:
    """Settings of all runs."""

    store: Store
    # CPU seconds of one run.
    budget: float | None
    # Number of seeds; None: that of the study.
    seeds: int | None
    # Time of ``time.monotonic`` after which no run is started.
    until: float | None
    # Whether failed runs are repeated.
    retry: bool = False
    # Number of concurrent runs.
    workers: int = 1
    messages: Messages = field(default_factory=Messages)

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

    A data set that cannot be read is left out with a warning. Raises `Interrupted` with the
    findings so far if the user interrupts the runs.
    """
    parts, tasks = _prepare(studies, places, settings)
    to_run, n_started = _to_run(tasks, settings)
    late = len(to_run) - n_started
    settings.messages.say(
        f"{n_started} runs to do, about {_minutes(to_run[:n_started], settings):.0f} minutes, "
        f"{settings.workers} at a time" + (f"; {late} more need a larger --within" if late else "")
    )
    corpora = [one.corpus for part in parts for one in part.plans]
    interrupted = False
    try:
        pairs = run_all(
            [task.job for task in tasks],
            corpora,
            settings.store,
            messages=settings.messages,
            limit=settings.limit,
            retry=settings.retry,
            workers=settings.workers,
            until=settings.until,
        )
    except Interrupted as stopped:
        pairs, interrupted = stopped.done, True
    records = {job.key: record for job, record in pairs}
    findings = [_findings(part, records) for part in parts if part.plans or part.remarks]
    if interrupted:
        raise Interrupted(findings)
    return findings


def plan_studies(
    studies: Sequence[Study], places: Iterable[str], settings: Settings
) -> dict[str, Any]:
    """Return what :func:`run_studies` would do, for a JSON file.

    - Returns ``plan``: ``minutes``, estimated for the runs that are started; ``rows``, by study and
      data set: the number of runs, how many of them are recorded, how many of the others are
      estimated not to be started in time, the methods of which no run is, and minutes;
      ``left_out``, what is sampled or not run, and why.
    """
    parts, tasks = _prepare(studies, places, settings)
    to_run, n_started = _to_run(tasks, settings)
    late = {task.job.key for task in to_run[n_started:]}
    absent = {task.job.key for task in to_run}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    counted: set[str] = set()
    started = {(task.study.name, task.job.data.name, task.job.method)
               for task in tasks if task.job.key not in late}  # fmt: skip
    for task in tasks:
        name, key = (task.study.name, task.job.data.name), task.job.key
        empty = {"runs": 0, "recorded": 0, "late": 0, "minutes": 0.0, "absent": []}
        row = rows.setdefault(name, {"study": name[0], "data": name[1], **empty})
        row["runs"] += 1
        row["recorded"] += key not in absent
        row["late"] += key in late
        if key in absent - counted:
            row["minutes"] += _minutes([task], settings)
        if (*name, task.job.method) not in started and task.job.method not in row["absent"]:
            row["absent"].append(task.job.method)
        counted.add(key)  # a run that two studies share is run once
    left_out = dict.fromkeys(
        f"{part.study.name}: {remark}"
        for part in parts
        for remark in chain(part.remarks, *(one.remarks for one in part.plans))
    )
    minutes = _minutes(to_run[:n_started], settings)
    return {"minutes": minutes, "rows": list(rows.values()), "left_out": list(left_out)}


def _prepare(
    studies: Sequence[Study], places: Iterable[str], settings: Settings
) -> tuple[list[_Part], list[Task]]:
    """Load the data, and return plans and jobs in their order."""
    parts = [_Part(study) for study in studies]
    for place in places:
        for texts in (False, True):
            own = [one for one in parts if one.study.texts == texts
                   and place in (*one.study.data, *one.study.further)]  # fmt: skip
            if own:
                _plan_on(place, own, settings)
    return parts, schedule(one for part in parts for one in part.plans)


def _to_run(tasks: Sequence[Task], settings: Settings) -> tuple[list[Task], int]:
    """Return what is to be run, each run once, and how many are estimated to start in time."""
    found: dict[str, Task] = {}
    for task in tasks:
        if not is_stored(task.job, settings.store, limit=settings.limit, retry=settings.retry):
            found.setdefault(task.job.key, task)
    to_run = list(found.values())
    if settings.until is None:
        return to_run, len(to_run)
    return to_run, cut(to_run, settings.until - time.monotonic(), settings.workers)


def _minutes(tasks: Sequence[Task], settings: Settings) -> float:
    """Return how long runs are estimated to take."""
    return sum(task.seconds + OVERHEAD for task in tasks) / 60 / settings.workers


def _load(place: str, *, texts: bool) -> tuple[Corpus, Any]:
    """Return a data set, and the names of its labels if they are known."""
    if texts:
        return TextCorpus(place), None
    if place in NGRAM_SETS:
        return ngram_corpus(place), None
    loaded = load_dataset(place)
    corpus = Corpus(place, loaded.train, loaded.test, **loaded.propensity)
    return corpus, loaded.label_names


def _plan_on(place: str, parts: Sequence[_Part], settings: Settings) -> None:
    """Load a data set and add its plans to all studies that use it."""
    try:
        with progress_pulse(f"loading {place}"):
            corpus, label_names = _load(place, texts=parts[0].study.texts)
    except (OSError, ValueError, MemoryError) as error:
        remark = f"{place} is left out: {error}"
        settings.messages.warn(remark)
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
        if label_names is not None:
            part.names[place] = label_names
        for remark in (remark for one in plans for remark in one.remarks):
            settings.messages.say(f"{part.study.name}: {remark}")


def _findings(part: _Part, records: dict[str, Record]) -> Findings:
    """Return the results of a study in its own order."""
    results, remarks = [], list(part.remarks)
    for one in part.plans:
        runs = [(job.method, job.data.name, records[job.key]) for job in one.jobs]
        results += collect(run for run in runs if run[2]["status"] != NOT_RUN)
        remarks += [*one.remarks, *_describe_late(one, records)]
    return Findings(part.study, results, list(dict.fromkeys(remarks)), part.names)


def _describe_late(planned: Plan, records: dict[str, Record]) -> list[str]:
    """Return sentences about the jobs of a plan that were not started."""
    wanted = Counter(job.method for job in planned.jobs)
    late = Counter(job.method for job in planned.jobs if records[job.key]["status"] == NOT_RUN)
    seconds = {task.job.method: task.seconds for task in planned.tasks}
    name = planned.corpus.facts.name
    remarks = []
    absent = [method for method in late if late[method] == wanted[method]]
    if absent:
        listed = "; ".join(f"{method} ({seconds[method]:.0f} s)" for method in absent)
        remarks.append(
            f"not started on {name}, because the time of --within was over or the command was "
            f"interrupted (estimated seconds of a run in parentheses): {listed}. The same command "
            "continues."
        )
    fewer = [method for method in late if late[method] < wanted[method]]
    if fewer:
        remarks.append(
            f"fewer seeds on {name} than the {max(wanted.values())} of the study, because the time "
            f"of --within was over or the command was interrupted: {'; '.join(fewer)}."
        )
    return remarks


# --- Plans: the jobs of a study on one corpus.


@dataclass(frozen=True)
class Task:
    """A job of a study with its estimated CPU seconds."""

    study: Study
    job: Job
    seconds: float


@dataclass
class Plan:
    """Jobs of a study on one corpus or a sample of it.

    ``remarks`` say what is sampled or left out, and why.
    """

    corpus: Corpus
    tasks: list[Task] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def jobs(self) -> list[Job]:
        """The jobs of the tasks."""
        return [task.job for task in self.tasks]

    def add(self, study: Study, lines: Iterable[Line], n_seeds: int | None = None) -> None:
        """Add the jobs of some lines, one per seed; without a number, those of the study."""
        facts = self.corpus.facts
        for line in lines:
            spec = suited(line.spec(), facts.name, facts.constants)
            seconds = run_seconds(spec, self.corpus)
            for seed in range(n_seeds or line.seeds or study.seeds_on(place_of(facts.name))):
                job = Job(line.name, facts, spec, seed, 1, study.measures)
                self.tasks.append(Task(study, job, seconds))


def schedule(plans: Iterable[Plan]) -> list[Task]:
    """Return the jobs of plans in the order in which they are run.

    The tables and figures of the paper, then our own; of both, one seed of every method on the
    first data set of its study, which is that of the paper, then everything else. Cheap runs come
    before expensive ones, so that time that ends early cuts as few rows as possible; a further seed
    waits for all methods that cost less than four times as much.
    """

    def urgency(task: Task) -> tuple[bool, bool, float]:
        later = task.job.seed > 0 or place_of(task.job.data.name) != task.study.data[0]
        return not task.study.of_paper, later, task.seconds * _SEED_WEIGHT**task.job.seed

    return sorted((task for planned in plans for task in planned.tasks), key=urgency)


def cut(tasks: Sequence[Task], seconds: float, workers: int) -> int:
    """Return how many tasks are estimated to start within some seconds on the clock."""
    total = 0.0
    for place, task in enumerate(tasks):
        if total >= seconds * workers:
            return place
        total += task.seconds + OVERHEAD
    return len(tasks)


def plan(
    study: Study,
    corpus: Corpus,
    *,
    budget: float | None = None,
    seeds: int | None = None,
    store: Store | None = None,
) -> list[Plan]:
    """Return the jobs of a study, on all training points and on a sample of them.

    A classifier is run on all points if each of its variants is estimated to fit the budget (CPU
    seconds of one run). Otherwise all its variants, which are compared with each other, are run on
    a sample, together with the first method of the study; those that exceed the budget even there
    are left out. Records in the store are used for any budget.
    """
    whole = Plan(corpus)
    dear: list[Line] = []
    for family in _families([line for line in study.lines if _fits(line, corpus)]):
        part = Plan(corpus)
        part.add(study, family, seeds)
        known = store is not None and all(store.get(job.key) is not None for job in part.jobs)
        word = program_of(family[0])
        reason = missing_peer(word) if word else None
        if reason is not None and not known:
            name = ALL_PEERS.get(word, family[0].name)
            whole.remarks.append(f"{name} is left out: {reason}")
        elif budget is None or known or max(task.seconds for task in part.tasks) <= budget:
            whole.tasks += part.tasks
        else:
            dear += family
    if budget is None or not dear:
        return [whole]
    return [whole, _sampled(study, dear, corpus, seeds, budget)]


def _sampled(
    study: Study, dear: list[Line], corpus: Corpus, seeds: int | None, budget: float
) -> Plan:
    """Return the plan of the lines that are too slow on all points."""
    facts = corpus.facts
    if isinstance(corpus, TextCorpus):
        said = f"on {facts.name} is left out: a run is estimated at"
        slow = [(line.name, run_seconds(line.spec(), corpus)) for line in dear]
        return Plan(corpus, remarks=[
            f"{name} {said} {seconds:,.0f} s, the budget of a run is {budget:g} s"
            for name, seconds in slow
        ])  # fmt: skip
    sample = corpus.sampled(max(1, facts.points // SAMPLE), SAMPLE_TEST)
    result = Plan(sample)
    chosen = []
    for line in dear:
        seconds = run_seconds(line.spec(), sample)
        if seconds <= budget:
            chosen.append(line)
        else:
            result.remarks.append(
                f"{line.name} on {facts.name} is left out: a run on {sample.facts.points:,} "
                f"points is estimated at {seconds:,.0f} s, the budget of a run is {budget:g} s"
            )
    if chosen:
        names = ", ".join(dict.fromkeys(line.classifier.partition(":")[0] for line in chosen))
        result.remarks.insert(
            0,
            f"{names}: on {sample.facts.points:,} of the {facts.points:,} training points of "
            f"{facts.name}, because a run on all is estimated at more than {budget:g} s",
        )
        first = study.lines[:1] if study.lines[0] not in chosen else []
        result.add(study, [*first, *chosen], seeds)
    return result


def run_seconds(spec: Spec, corpus: Corpus) -> float:
    """Return an estimate of the CPU seconds of a run, right within a factor of two or so.

    The prediction of an estimator takes little beside its training; that of another program counts.
    """
    if isinstance(corpus, TextCorpus):
        return corpus.seconds(spec)
    train = corpus.train
    if spec["kind"] in PEERS:
        return peers.run_seconds(spec["kind"], train.X, train.Y, corpus.facts.test_points)
    if spec["kind"] == "preset":
        return MULTIPLE * usual().base._training_cost(train.X, train.Y).seconds
    seconds: float = build(spec)._training_cost(train.X, train.Y).seconds
    inner = spec
    while isinstance(inner["parameters"].get("base"), dict):
        inner = inner["parameters"]["base"]
    return seconds * _MEASURED.get(inner["kind"], 1.0)


def _fits(line: Line, corpus: Corpus) -> bool:
    """Return whether a line is for a data set, which has what it needs."""
    if line.data and place_of(corpus.facts.name) not in line.data:
        return False
    return not line.names or (isinstance(corpus, TextCorpus) and bool(corpus.files.thesaurus))


def _families(lines: Sequence[Line]) -> list[list[Line]]:
    """Return the lines by classifier and program, in the order of the first line of each."""
    found: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        found.setdefault((line.classifier, program_of(line)), []).append(line)
    return list(found.values())


def program_of(line: Line) -> str:
    """Return the word of the other program that a line needs, or an empty string."""
    if line.classifier in ALL_PEERS:
        return line.classifier
    return WORD_VECTORS if WORD_VECTORS in line.groups else ""
