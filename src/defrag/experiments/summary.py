"""Means and deviations over seeds."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from defrag.experiments.job import Job
    from defrag.experiments.store import Record

__all__ = ["Result", "Statistic", "collect", "summarise", "values_of"]


@dataclass(frozen=True)
class Statistic:
    """A mean over seeds.

    Attributes
    ----------
    mean : float
        The mean.
    deviation : float or None
        The standard deviation of a single run (n - 1 in the denominator); None for one run.
    n : int
        Number of runs.
    """

    mean: float
    deviation: float | None
    n: int


def values_of(record: Record) -> dict[str, float]:
    """Return the numbers of a record that tables show, by name.

    Metrics have their own names; ``train_cpu``, ``train_wall``, ``predict_cpu``,
    ``predict_wall`` are seconds, ``predict_ms`` CPU milliseconds per point, ``peak_memory`` and
    ``model_bytes`` bytes, ``dimension`` the number of features that the model sees.
    """
    if record["status"] != "done":
        return {}
    training, prediction = record["training"], record["prediction"]
    groups = record.get("groups") or {}
    values = {
        **record["metrics"],
        **groups.get("quality", {}),
        "train_cpu": training["cpu"],
        "train_wall": training["wall"],
        "predict_cpu": prediction["cpu"],
        "predict_wall": prediction["wall"],
        "predict_ms": 1e3 * prediction["cpu"] / max(1, record["data"]["test_points"]),
        "peak_memory": record["peak_memory"],
        "model_bytes": record["model_bytes"],
        "dimension": groups.get("n_clusters") or record["data"]["features"],
        "cluster_cpu": groups.get("cpu") or 0.0,
    }
    values["learn_cpu"] = values["train_cpu"] - values["cluster_cpu"]
    return {name: float(value) for name, value in values.items() if value is not None}


def summarise(records: Iterable[Record]) -> dict[str, Statistic]:
    """Return mean and deviation of every number that all records of a method have.

    Parameters
    ----------
    records : iterable of dict
        Records of one method on one corpus, with different seeds; failed runs do not count.
    """
    rows = [values for record in records if (values := values_of(record))]
    names = [name for name in (rows[0] if rows else {}) if all(name in row for row in rows)]
    result = {}
    for name in names:
        numbers = [row[name] for row in rows]
        deviation = statistics.stdev(numbers) if len(numbers) > 1 else None
        result[name] = Statistic(statistics.fmean(numbers), deviation, len(numbers))
    return result


@dataclass(frozen=True)
class Result:
    """The runs of one method on one corpus.

    Attributes
    ----------
    method : str
        What tables call it.
    data : str
        Name of the corpus.
    records : list of dict
        One record per seed.
    """

    method: str
    data: str
    records: list[Record]

    @property
    def statistics(self) -> dict[str, Statistic]:
        """Means and deviations over the seeds that did not fail."""
        return summarise(self.records)

    @property
    def errors(self) -> list[str]:
        """The different errors of runs that failed."""
        failed = [record for record in self.records if record["status"] != "done"]
        return sorted({record["error"] for record in failed})


def collect(pairs: Iterable[tuple[Job, Record]]) -> list[Result]:
    """Return the runs by method and corpus, in the order of their first jobs."""
    results: dict[tuple[str, str], Result] = {}
    for job, record in pairs:
        found = results.setdefault(
            (job.method, job.data.name), Result(job.method, job.data.name, [])
        )
        found.records.append(record)
    return list(results.values())
