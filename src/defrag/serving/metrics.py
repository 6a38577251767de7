"""Counters that the processes of a server share, and their text for Prometheus.

Each worker counts in a row of memory that forked processes share; any of them can add up the rows.
Counters in files, as prometheus_client has them for several processes, cost nine times as much per
request, grow with every worker that ever ran, and end the process by SIGBUS on a full disk.
"""

from __future__ import annotations

import mmap
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
from prometheus_client import core, generate_latest

OTHER = "other"
"""Route name for paths without a route."""

_LOADS, _LOADED, _FAILED_LOADS, _RESTARTS = range(4)  # columns of the first row
_PROCESS, _CONNECTIONS = range(2)  # columns of the other rows
_DROPPED, _FIRST = 4, 5  # columns of all rows
_STATUSES = (200, 400, 401, 403, 404, 405, 408, 413, 415, 421, 422, 431, 500, 503)
_STATUS_PLACE = {status: place for place, status in enumerate(_STATUSES)}
_BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
_TIMES = len(_STATUSES) + 1  # counts of times follow those of statuses
_SUM = _TIMES + len(_BOUNDS) + 1
_PER_ROUTE = _SUM + 1
_MESSAGE = 2048


class Metrics:
    """Rows of int64 and a message, in memory that forked processes share.

    A number has one writer at a time: the process that has the row, or, in the first row, which
    belongs to the parents of the workers, the process that has the column. Readers may see numbers
    of slightly different times.

    The answers of each route and the inputs of each model are counted; rows of workers are
    numbered from 1.
    """

    def __init__(self, models: Sequence[str], routes: Sequence[str], n_workers: int = 1) -> None:
        self._model_at = {model: _FIRST + place * 2 for place, model in enumerate(models)}
        first = _FIRST + 2 * len(models)
        self._route_at = {
            route: first + place * _PER_ROUTE for place, route in enumerate((*routes, OTHER))
        }
        n_columns = first + len(self._route_at) * _PER_ROUTE
        size = 8 * (n_workers + 1) * n_columns
        memory = mmap.mmap(-1, size + _MESSAGE)
        self._all = np.frombuffer(memory, np.int64, size // 8).reshape(n_workers + 1, n_columns)
        # Views of single numbers are faster than those of numpy.
        self._rows = [row.data for row in self._all]
        self._text = memoryview(memory)[size:]
        self._row = self._rows[0]  # where the answers of a rehearsal are counted, and not shown

    def count_in(self, row: int, process: int) -> None:
        """Use a row from now on, for a process."""
        self._row = self._rows[row]
        self._row[_PROCESS] = process

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        row, at = self._row, self._route_at[route]
        row[at + _STATUS_PLACE.get(status, len(_STATUSES))] += 1
        row[at + _TIMES + bisect_left(_BOUNDS, seconds)] += 1
        row[at + _SUM] += int(seconds * 1e6)

    def predicted(self, model: str, n_inputs: int) -> None:
        """Count a prediction call and its inputs."""
        at = self._model_at[model]
        self._row[at] += 1
        self._row[at + 1] += n_inputs

    def connected(self, n_connections: int) -> None:
        """Set the number of open connections."""
        self._row[_CONNECTIONS] = n_connections

    def log_dropped(self) -> None:
        """Count a line of the log that could not be written."""
        self._row[_DROPPED] += 1

    def loaded(self, problem: str = "") -> int:
        """Count a load of the models, or a failed one; return the number of loads."""
        self.problem = problem
        if problem:
            self._rows[0][_FAILED_LOADS] += 1
        else:
            self._rows[0][_LOADED] = int(time.time())
            self._rows[0][_LOADS] += 1
        return self.loads

    def restarted(self) -> None:
        """Count a worker that died and was replaced."""
        self._rows[0][_RESTARTS] += 1

    def worker_ended(self, row: int) -> None:
        """Clear the process and the connections of a worker; its counters stay."""
        self._rows[row][_PROCESS] = self._rows[row][_CONNECTIONS] = 0

    @property
    def loads(self) -> int:
        """The number of loads that succeeded."""
        return self._rows[0][_LOADS]

    @property
    def loaded_at(self) -> int:
        """The time of the last load, in seconds since 1970."""
        return self._rows[0][_LOADED]

    @property
    def problem(self) -> str:
        """Why the last load failed; empty: it did not."""
        return bytes(self._text).partition(b"\0")[0].decode(errors="replace")

    @problem.setter
    def problem(self, text: str) -> None:
        self._text[:] = text.encode(errors="replace")[: _MESSAGE - 1].ljust(_MESSAGE, b"\0")

    def text(self) -> bytes:
        """Return all counters, in the text format of Prometheus."""
        return generate_latest(self)

    def collect(self) -> Iterator[core.Metric]:
        """Return the counters as families, as collectors of prometheus_client do."""
        top = self._all[0]
        workers = self._all[1:]
        sums = workers.sum(axis=0)
        alive = [(str(n), row) for n, row in enumerate(workers, 1) if row[_PROCESS]]
        for kind, name, text, value in (
            (core.CounterMetricFamily, "loads", "Loads of the models", top[_LOADS]),
            (core.CounterMetricFamily, "failed_loads", "Loads that failed", top[_FAILED_LOADS]),
            (core.GaugeMetricFamily, "loaded_timestamp_seconds", "Last load", top[_LOADED]),
            (core.CounterMetricFamily, "worker_restarts", "Workers replaced", top[_RESTARTS]),
            (core.CounterMetricFamily, "log_dropped", "Lost lines", self._all[:, _DROPPED].sum()),
            (core.GaugeMetricFamily, "workers", "Running workers", len(alive)),
        ):
            yield kind(f"defrag_{name}", text, value)
        connections = core.GaugeMetricFamily(
            "defrag_connections", "Open connections of each worker", labels=["worker"]
        )
        for number, row in alive:
            connections.add_metric([number], row[_CONNECTIONS])
        yield connections
        requests = core.CounterMetricFamily(
            "defrag_requests", "Answers (all workers)", labels=["route", "status"]
        )
        seconds = core.HistogramMetricFamily(
            "defrag_request_seconds", "Time to answer (all workers)", labels=["route"]
        )
        for route, at in self._route_at.items():
            for place, status in enumerate((*map(str, _STATUSES), "other")):
                if sums[at + place]:
                    requests.add_metric([route, status], sums[at + place])
            counts = accumulate(sums[at + _TIMES : at + _SUM])
            bounds = (*map(str, _BOUNDS), "+Inf")
            buckets = list(zip(bounds, counts, strict=True))
            seconds.add_metric([route], buckets, sums[at + _SUM] / 1e6)
        yield requests
        yield seconds
        for place, (name, text) in enumerate(
            (("defrag_predict_calls", "Calls of predict_topk"), ("defrag_inputs", "Texts and rows"))
        ):
            family = core.CounterMetricFamily(name, f"{text} (all workers)", labels=["model"])
            for model, at in self._model_at.items():
                family.add_metric([model], sums[at + place])
            yield family
