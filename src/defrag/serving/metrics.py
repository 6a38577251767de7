"""Counters of all workers, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from defrag.serving.board import COLUMNS, Board

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "FAILED_LOADS", "LOADED", "LOADS", "OTHER", "RESTARTS", "Metrics", "forget_worker",
]  # fmt: skip

LOADS, LOADED, FAILED_LOADS, RESTARTS = range(4)
"""Columns of row 0: number of loads, time of the last, failed loads, worker restarts."""

_PROCESS, _CONNECTIONS, _FIRST = range(3)
_STATUSES = (200, 400, 401, 403, 404, 405, 408, 413, 415, 422, 500, 503)
_STATUS_PLACE = {status: place for place, status in enumerate(_STATUSES)}
_BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
_PER_ROUTE = len(_STATUSES) + 1 + len(_BOUNDS) + 1 + 1  # other statuses, above all bounds, sum
OTHER = "other"
"""Route name for paths without a route."""


class Metrics:
    """Counters of one worker, and sums over all.

    Parameters
    ----------
    board : Board
        Where the workers count.
    models : sequence of str
        Names of the models.
    """

    def __init__(self, board: Board, models: Sequence[str]) -> None:
        self._board = board
        self._model_at = {model: _FIRST + place * 2 for place, model in enumerate(models)}
        self._route_at: dict[str, int] = {}
        self._end = _FIRST + len(models) * 2
        # Before `count_in`, counts are discarded.
        self._row = memoryview(bytearray(8 * COLUMNS)).cast("q")

    def add_routes(self, paths: Sequence[str]) -> None:
        """Register routes whose answers are counted separately."""
        for path in (*paths, OTHER):
            if path not in self._route_at:
                self._route_at[path] = self._end
                self._end += _PER_ROUTE
        if self._end > COLUMNS:
            raise ValueError(f"too many models to count: {len(self._model_at)}")

    def count_in(self, row: int, process: int) -> None:
        """Use a row of the board from now on, for a process."""
        self._row = self._board.row(row)
        self._row[_PROCESS] = process

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        at = self._route_at[route if route in self._route_at else OTHER]
        row = self._row
        row[at + _STATUS_PLACE.get(status, len(_STATUSES))] += 1
        at += len(_STATUSES) + 1
        row[at + bisect_left(_BOUNDS, seconds)] += 1
        row[at + len(_BOUNDS) + 1] += int(seconds * 1e6)

    def predicted(self, model: str, n_inputs: int) -> None:
        """Count a prediction call and its inputs."""
        at = self._model_at[model]
        self._row[at] += 1
        self._row[at + 1] += n_inputs

    def connected(self, n_connections: int) -> None:
        """Set the number of open connections."""
        self._row[_CONNECTIONS] = n_connections

    def text(self) -> str:
        """Return all counters, in the text format of Prometheus."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        rows = self._board.rows()
        sums = [
            sum(column) for column in zip(*(row[: self._end].tolist() for row in rows), strict=True)
        ]
        top = self._board.row(0)
        yield from _series("loads_total", "counter", "Loads of the models", {"": top[LOADS]})
        yield from _series(
            "failed_loads_total", "counter", "Loads that failed", {"": top[FAILED_LOADS]}
        )
        yield from _series(
            "loaded_timestamp_seconds", "gauge", "Time of the last load", {"": top[LOADED]}
        )
        yield from _series(
            "worker_restarts_total", "counter", "Workers that died and were replaced",
            {"": top[RESTARTS]},
        )  # fmt: skip
        alive = [(number, row) for number, row in enumerate(rows, 1) if row[_PROCESS]]
        yield from _series("workers", "gauge", "Running workers", {"": len(alive)})
        yield from _series(
            "connections", "gauge", "Open connections of each worker",
            {f'worker="{number}"': row[_CONNECTIONS] for number, row in alive},
        )  # fmt: skip
        yield from self._route_lines(sums)
        for place, (name, text) in enumerate(
            (("predict_calls_total", "Calls of predict_topk"), ("inputs_total", "Texts and rows"))
        ):
            values = {f'model="{_quoted(m)}"': sums[at + place] for m, at in self._model_at.items()}
            yield from _series(name, "counter", f"{text} (all workers)", values)

    def _route_lines(self, sums: list[int]) -> Iterator[str]:
        requests = {
            f'route="{route}",status="{status}"': sums[at + place]
            for route, at in self._route_at.items()
            for place, status in enumerate((*_STATUSES, "other"))
            if sums[at + place]
        }
        yield from _series("requests_total", "counter", "Answers (all workers)", requests)
        name = "defrag_request_seconds"
        yield f"# HELP {name} Time to answer (all workers)"
        yield f"# TYPE {name} histogram"
        for route, at in self._route_at.items():
            start = at + len(_STATUSES) + 1
            total = 0
            for place, bound in enumerate((*_BOUNDS, "+Inf")):
                total += sums[start + place]
                yield f'{name}_bucket{{route="{route}",le="{bound}"}} {total}'
            yield f'{name}_sum{{route="{route}"}} {sums[start + len(_BOUNDS) + 1] / 1e6}'
            yield f'{name}_count{{route="{route}"}} {total}'


def forget_worker(board: Board, row: int) -> None:
    """Clear the process and the connections of a worker that ended; its counters stay."""
    board.row(row)[_PROCESS] = 0
    board.row(row)[_CONNECTIONS] = 0


def _series(name: str, kind: str, text: str, values: dict[str, int]) -> Iterator[str]:
    yield f"# HELP defrag_{name} {text}"
    yield f"# TYPE defrag_{name} {kind}"
    for labels, value in values.items():
        yield f"defrag_{name}{{{labels}}} {value}" if labels else f"defrag_{name} {value}"


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
