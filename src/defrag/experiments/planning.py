"""Plans: the jobs of a study on a data set, within a budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from defrag.experiments.job import Job
from defrag.experiments.peers import PEERS, missing_peer
from defrag.experiments.specs import training_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.experiments.corpus import Corpus
    from defrag.experiments.store import Store
    from defrag.experiments.studies import Line, Study

__all__ = ["SAMPLE", "Plan", "plan"]

SAMPLE = 4
"""One of so many training points is used for methods that exceed the budget."""


@dataclass
class Plan:
    """Jobs of a study on one corpus, and what was left out.

    Attributes
    ----------
    corpus : Corpus
        The data, or a sample of them.
    jobs : list of Job
        What to run.
    remarks : list of str
        What is sampled or left out, and why.
    """

    corpus: Corpus
    jobs: list[Job] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def plan(
    study: Study,
    corpus: Corpus,
    *,
    budget: float | None = None,
    seeds: int | None = None,
    store: Store | None = None,
) -> list[Plan]:
    """Return the jobs of a study, on all training points and on a sample of them.

    A classifier is run on all points if the training of each of its variants is estimated to
    fit the budget. Otherwise all its variants, which are compared with each other, are run on a
    sample, together with the first method of the study; those that exceed the budget even there
    are left out. Records that are in the store are used whatever the budget.

    Parameters
    ----------
    study : Study
        The study.
    corpus : Corpus
        All points of a data set.
    budget : float, optional
        Seconds of one training; None for no limit.
    seeds : int, optional
        Number of seeds, if not that of the study.
    store : Store, optional
        Where records may be.
    """
    n_seeds = study.seeds if seeds is None else seeds
    whole = Plan(corpus)
    dear: list[Line] = []
    for family in _families(study.lines):
        reason = missing_peer(family[0].classifier) if family[0].classifier in PEERS else None
        jobs = _jobs(study, family, corpus, n_seeds)
        if reason is not None and not _known(jobs, store):
            whole.remarks.append(f"{PEERS[family[0].classifier]} is left out: {reason}")
        elif budget is None or _known(jobs, store) or _slowest(family, corpus) <= budget:
            whole.jobs += jobs
        else:
            dear += family
    if budget is None or not dear:
        return [whole]
    return [whole, _sampled(study, dear, corpus, n_seeds, budget)]


def _sampled(study: Study, dear: list[Line], corpus: Corpus, n_seeds: int, budget: float) -> Plan:
    """Return the plan of the lines that are too slow on all points."""
    facts = corpus.facts
    sample = corpus.sampled(max(1, facts.points // SAMPLE))
    result = Plan(sample)
    chosen = []
    for line in dear:
        seconds = training_seconds(line.method().spec, sample.train)
        if seconds <= budget:
            chosen.append(line)
        else:
            result.remarks.append(
                f"{line.name} on {facts.name} is left out: training on {sample.facts.points:,} "
                f"points is estimated at {seconds:,.0f} s, the budget of a run is {budget:g} s"
            )
    if chosen:
        names = ", ".join(dict.fromkeys(line.classifier.partition(":")[0] for line in chosen))
        result.remarks.insert(
            0,
            f"{names}: on {sample.facts.points:,} of the {facts.points:,} training points of "
            f"{facts.name}, because training on all is estimated at more than {budget:g} s",
        )
        first = study.lines[:1] if study.lines[0] not in chosen else []
        result.jobs = _jobs(study, [*first, *chosen], sample, n_seeds)
    return result


def _families(lines: Sequence[Line]) -> list[list[Line]]:
    """Return the lines by classifier, in the order of its first line."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.classifier, []).append(line)
    return list(found.values())


def _jobs(study: Study, lines: Sequence[Line], corpus: Corpus, n_seeds: int) -> list[Job]:
    methods = [line.method() for line in lines]
    return [
        Job(method.name, corpus.facts, method.spec, seed, 1, study.measures)
        for method in methods
        for seed in range(n_seeds)
    ]


def _known(jobs: Sequence[Job], store: Store | None) -> bool:
    return store is not None and all(store.get(job.key) is not None for job in jobs)


def _slowest(lines: Sequence[Line], corpus: Corpus) -> float:
    return max(training_seconds(line.method().spec, corpus.train) for line in lines)
