"""A generation: one load of the models, and the workers that serve them.

A generation is a process: it loads and tests the models, then forks the workers, which share its
memory. It replaces workers that die, and exits with its workers.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from defrag.classifiers._base import Classifier
from defrag.persistence import load
from defrag.serving.app import app_of
from defrag.serving.logs import Log
from defrag.serving.metrics import RESTARTS, forget_worker
from defrag.serving.models import ServedModel
from defrag.serving.processes import RETIRE, SIGNALS, fork
from defrag.serving.rehearsal import rehearse
from defrag.serving.server import Server, server_config
from defrag.serving.service import Service
from defrag.text import TextClassifier

if TYPE_CHECKING:
    import socket

    import uvicorn

    from defrag.serving.board import Board
    from defrag.serving.settings import Settings

__all__ = ["Generation", "load_model"]

_MIN_LIFETIME = 1.0
_POLL = 0.5


def load_model(name: str, path: str) -> ServedModel:
    """Load a model and test it with a prediction.

    The file is read, not mapped: forked workers share the memory anyway, and later changes of the
    file, such as overwriting in place, do not affect them.

    Raises
    ------
    OSError, ValueError
        If the file is not a classifier, or if the classifier cannot predict.
    """
    modified = datetime.fromtimestamp(Path(path).stat().st_mtime, tz=timezone.utc)
    classifier = load(path, mmap=False)
    if not isinstance(classifier, (Classifier, TextClassifier)):
        raise ValueError(  # noqa: TRY004 - the file is wrong, not the type of an argument
            f"{path}: is a {type(classifier).__name__}, not a classifier"
        )
    model = ServedModel(name, classifier, modified=modified)
    model.warm_up()
    return model


class Generation:
    """The workers of one load of the models; ``run`` is the main function of the process.

    Parameters
    ----------
    settings : Settings
        Models, limits, number of workers.
    listener : socket
        Where the workers listen.
    board : Board
        Where the workers count.
    first_row : int
        The row of the first worker.
    """

    def __init__(
        self, settings: Settings, listener: socket.socket, board: Board, first_row: int
    ) -> None:
        self._settings = settings
        self._listener = listener
        self._board = board
        self._first_row = first_row
        self._log = Log(json_lines=settings.json_log)
        self._workers: dict[int, int] = {}  # row by process id
        self._started_at: dict[int, float] = {}  # start time by row

    def run(self, report: int) -> None:
        """Load the models, fork the workers, report to a file descriptor, and supervise.

        The report is an empty line if the workers listen, otherwise the error.
        """
        parent = os.getppid()
        try:
            config, service = self._load()
            # The garbage collector does not touch frozen objects, so that their pages stay shared.
            gc.collect()
            gc.freeze()
            self._start_all(config, service)
        except (OSError, ValueError) as error:
            problem = " ".join(str(error).split()) or type(error).__name__
            os.write(report, f"{problem}\n".encode(errors="replace"))
            return
        os.write(report, b"\n")
        os.close(report)
        while os.getppid() == parent:
            found = signal.sigtimedwait(SIGNALS, _POLL)
            if found is not None and found.si_signo in {signal.SIGTERM, RETIRE}:
                self._end(found.si_signo)
                return
            self._replace_ended(config, service)
        self._end(signal.SIGTERM)

    def _load(self) -> tuple[uvicorn.Config, Service]:
        settings = self._settings
        models = [load_model(name, path) for name, path in settings.models.items()]
        service = Service(
            models,
            limits=settings.limits,
            token=settings.token,
            vocabulary=settings.read_vocabulary(),
            board=self._board,
        )
        config = server_config(app_of(service), service)
        rehearse(config, service)
        service.log = self._log
        return config, service

    def _start_all(self, config: uvicorn.Config, service: Service) -> None:
        read, write = os.pipe()
        for row in range(self._first_row, self._first_row + self._settings.workers):
            self._start(config, service, row, write)
        os.close(write)
        for _ in range(self._settings.workers):
            if not os.read(read, 1):
                self._end(signal.SIGTERM)
                raise ValueError("a worker ended before it listened")
        os.close(read)

    def _start(
        self, config: uvicorn.Config, service: Service, row: int, announce: int | None
    ) -> None:
        def work() -> None:
            service.metrics.count_in(row, os.getpid())

            def started() -> None:
                if announce is not None:
                    os.write(announce, b".")
                    os.close(announce)

            Server(config, service, started).run(sockets=[self._listener])

        self._workers[fork(work)] = row
        self._started_at[row] = time.monotonic()

    def _replace_ended(self, config: uvicorn.Config, service: Service) -> None:
        for process, row, code in self._reap():
            self._log.event("worker ended", process=process, code=code)
            self._board.row(0)[RESTARTS] += 1
            if time.monotonic() - self._started_at[row] < _MIN_LIFETIME:
                time.sleep(_MIN_LIFETIME)  # avoids a busy loop if workers die at once
            self._start(config, service, row, None)

    def _reap(self) -> list[tuple[int, int, int]]:
        """Remove workers that have exited; return their processes, rows and exit codes."""
        ended = []
        for process, row in list(self._workers.items()):
            found, status = os.waitpid(process, os.WNOHANG)
            if found:
                del self._workers[process]
                forget_worker(self._board, row)
                ended.append((process, row, os.waitstatus_to_exitcode(status)))
        return ended

    def _end(self, number: int) -> None:
        """Forward a signal to the workers and wait; a second signal is forwarded too."""
        for process in self._workers:
            os.kill(process, number)
        while self._workers:
            self._reap()
            found = signal.sigtimedwait(SIGNALS, _POLL) if self._workers else None
            if found is not None and found.si_signo == signal.SIGTERM:
                for process in self._workers:
                    os.kill(process, signal.SIGTERM)
