"""Plans: the jobs of a study on a data set, within a budget, and the order of all jobs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from defrag.lab import peers
from defrag.lab.peers import PEERS, missing_peer
from defrag.lab.records import Job
from defrag.specs import build

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from defrag.lab.corpus import Corpus
    from defrag.lab.records import Store
    from defrag.lab.studies import Line, Study
    from defrag.specs import Spec

__all__ = ["OVERHEAD", "Plan", "Task", "cut", "plan", "schedule"]

SAMPLE = 4
"""One of so many training points is used for methods that exceed the budget."""

SAMPLE_TEST = 20_000
"""So many test points, at most, are used with a sample of the training points."""

OVERHEAD = 2.5
"""CPU seconds of a run beside training and prediction: a process is started, imports the package,
computes metrics and writes the model file."""

# A further seed of a method is as urgent as the first one of a method that costs so much more.
_SEED_WEIGHT = 4.0

# Further seeds of an urgent study whose runs take at most so many seconds come early.
_CHEAP = 8.0


@dataclass
class Plan:
    """Jobs of a study on one corpus, and what was left out.

    Attributes
    ----------
    corpus : Corpus
        The data, or a sample of them.
    jobs : list of Job
        What to run.
    seconds : list of float
        Estimated CPU seconds of each job.
    remarks : list of str
        What is sampled or left out, and why.
    """

    corpus: Corpus
    jobs: list[Job] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def add(self, study: Study, lines: Iterable[Line], n_seeds: int | None = None) -> None:
        """Add the jobs of some lines, one per seed; without a number, those of the study."""
        for line in lines:
            method = line.method()
            seconds = run_seconds(method.spec, self.corpus)
            for seed in range(n_seeds or line.seeds or study.seeds):
                self.jobs.append(
                    Job(method.name, self.corpus.facts, method.spec, seed, 1, study.measures)
                )
                self.seconds.append(seconds)


@dataclass(frozen=True)
class Task:
    """A job of a plan, for the order of the jobs of several studies.

    Attributes
    ----------
    study : Study
        The study.
    job : Job
        The job.
    seconds : float
        Its estimated CPU seconds.
    """

    study: Study
    job: Job
    seconds: float

    @property
    def place(self) -> str:
        """Name of the data set, also where the job is about a part of it."""
        return self.job.data.name.split(", ")[0]

    @property
    def is_whole(self) -> bool:
        """Whether the job is about the whole data set."""
        return self.place == self.job.data.name


def schedule(plans: Iterable[tuple[Study, Plan]]) -> list[Task]:
    """Return the jobs of plans in the order in which they are run.

    1. One seed of every study that is ``urgent``, so that each data set has the methods that are
       compared most often.
    2. One seed on the first data set of every study, which is that of the paper.
    3. Further seeds of urgent studies, where a run is cheap.
    4. One seed on the second data set, the study that takes least time first.
    5. Everything else.

    Within each step cheap runs come before expensive ones, so that time that ends early cuts as
    few rows as possible; in the last one a further seed waits for all methods that cost less than
    four times as much. Samples are part of the last step, unless they are of the first two data
    sets.

    Parameters
    ----------
    plans : iterable of (Study, Plan)
        Plans by study.
    """
    tasks = [
        Task(study, job, seconds)
        for study, planned in plans
        for job, seconds in zip(planned.jobs, planned.seconds, strict=True)
    ]
    totals: defaultdict[tuple[str, str], float] = defaultdict(float)
    for task in tasks:
        totals[task.study.name, task.place] += task.seconds

    def urgency(task: Task) -> tuple[int, float, float]:
        first, urgent = task.job.seed == 0, task.study.urgent and task.is_whole
        total = totals[task.study.name, task.place]
        if first and urgent:
            return 0, 0.0, task.seconds
        if first and task.place == task.study.data[0]:
            return 1, 0.0, task.seconds
        if urgent and task.seconds <= _CHEAP:
            return 2, 0.0, task.seconds
        if first and task.place in task.study.data[1:2]:
            return 3, total, task.seconds
        return 4, 0.0, task.seconds * _SEED_WEIGHT**task.job.seed

    return sorted(tasks, key=urgency)


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

    A classifier is run on all points if each of its variants is estimated to fit the budget.
    Otherwise all its variants, which are compared with each other, are run on a sample, together
    with the first method of the study; those that exceed the budget even there are left out.
    Records that are in the store are used whatever the budget.

    Parameters
    ----------
    study : Study
        The study.
    corpus : Corpus
        All points of a data set.
    budget : float, optional
        CPU seconds of one run; None for no limit.
    seeds : int, optional
        Number of seeds, if not that of the study.
    store : Store, optional
        Where records may be.
    """
    whole = Plan(corpus)
    dear: list[Line] = []
    for family in _families(study.lines):
        part = Plan(corpus)
        part.add(study, family, seeds)
        known = store is not None and all(store.get(job.key) is not None for job in part.jobs)
        reason = missing_peer(family[0].classifier) if family[0].classifier in PEERS else None
        if reason is not None and not known:
            whole.remarks.append(f"{PEERS[family[0].classifier]} is left out: {reason}")
        elif budget is None or known or max(part.seconds) <= budget:
            whole.jobs += part.jobs
            whole.seconds += part.seconds
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
    sample = corpus.sampled(max(1, facts.points // SAMPLE), SAMPLE_TEST)
    result = Plan(sample)
    chosen = []
    for line in dear:
        seconds = run_seconds(line.method().spec, sample)
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

    Parameters
    ----------
    spec : Spec
        An estimator, whose prediction takes little beside its training, or one of the other
        programs.
    corpus : Corpus
        The data.
    """
    train = corpus.train
    if spec["kind"] in PEERS:
        return peers.run_seconds(spec["kind"], train.X, train.Y, corpus.facts.test_points)
    seconds: float = build(spec)._training_cost(train.X, train.Y).seconds
    return seconds


def _families(lines: Sequence[Line]) -> list[list[Line]]:
    """Return the lines by classifier, in the order of its first line."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.classifier, []).append(line)
    return list(found.values())
