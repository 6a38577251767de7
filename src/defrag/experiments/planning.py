"""Plans: the jobs of a study on a data set, within a budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from defrag.experiments.job import Job
from defrag.experiments.specs import build

if TYPE_CHECKING:
    from defrag.experiments.corpus import Corpus
    from defrag.experiments.store import Store
    from defrag.experiments.studies import Study

__all__ = ["Plan", "plan"]

# The estimate is right within a factor of two.
_DOUBT = 2.0


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
) -> Plan:
    """Return the jobs of a study.

    Parameters
    ----------
    study : Study
        The study.
    corpus : Corpus
        All points of a data set; they are sampled if the study says so and there is a budget.
    budget : float, optional
        Seconds of one run. A method whose training is estimated to take more than twice as
        long is left out, unless the store has its record; None for no limit.
    seeds : int, optional
        Number of seeds, if not that of the study.
    store : Store, optional
        Where records may be.
    """
    n_points = study.samples.get(corpus.facts.name)
    result = Plan(corpus)
    if budget is not None and n_points is not None and n_points < corpus.facts.points:
        result.corpus = corpus.sampled(n_points)
        result.remarks.append(
            f"{corpus.facts.name}: {n_points:,} of {corpus.facts.points:,} training points"
        )
    for line in study.lines:
        method = line.method()
        jobs = [
            Job(method.name, result.corpus.facts, method.spec, seed, 1, study.measures)
            for seed in range(study.seeds if seeds is None else seeds)
        ]
        if budget is not None:
            train = result.corpus.train
            seconds = build(method.spec).training_cost(train.X, train.Y).seconds
            missing = [job for job in jobs if store is None or store.get(job.key) is None]
            if missing and seconds > _DOUBT * budget:
                result.remarks.append(
                    f"{method.name} on {result.corpus.facts.name} is left out: training is "
                    f"estimated at {seconds:,.0f} s, the budget of a run is {budget:g} s"
                )
                jobs = [job for job in jobs if job not in missing]
        result.jobs += jobs
    return result
