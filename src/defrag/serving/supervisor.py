"""The processes of a server: a supervisor, a process per load of the models, and its workers.

The supervisor holds the socket and never loads a model, so that nothing a model file does can end
it or make it grow. A generation is a process that loads and tests the models, then forks workers,
which share its memory: a worker costs a few megabytes, and one that dies is replaced by the same
model even if its file is broken by now. The supervisor retires a generation when the workers of the
next one listen. See docs/decisions/023-serving.md for what was tried instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from defrag.classifiers._base import Classifier
from defrag.persistence import load
from defrag.serving.app import ROUTES, Service, app_of
from defrag.serving.corrections import Corrections, count_lines
from defrag.serving.logs import Log
from defrag.serving.loop import Loop, read_documents, train_file_again
from defrag.serving.metrics import Metrics
from defrag.serving.models import ServedModel
from defrag.serving.requests import json_bytes
from defrag.serving.settings import Settings
from defrag.serving.subjects import read_subjects
from defrag.serving.workers import RETIRE, Worker, rehearse, worker_config
from defrag.text import TextClassifier

_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, RETIRE}
"""Signals that parents block and receive by ``sigtimedwait``, without handlers."""

_STOP = {signal.SIGINT, signal.SIGTERM}
_MAX_GENERATIONS = 4
"""Maximum number of generations: one that serves, one that loads, two that are ending."""

_POLL = 0.1
_RETRY = 5.0
_SECONDS_TO_END = 20.0
_MIN_LIFETIME = 1.0
_SPARE_FILES = 64


@dataclass
class _Child:
    process: int
    place: int  # of its rows of counters
    report: int


class Supervisor:
    """Serves models until SIGINT or SIGTERM; SIGHUP or a changed file reloads them.

    - ``settings``: models, address, limits and number of workers.
    - ``announce``: called with the port when the first workers listen.
    """

    def __init__(self, settings: Settings, announce: Callable[[int], None]) -> None:
        limits = settings.limits
        files = max(1, _raise_file_limit() - _SPARE_FILES)
        limits = replace(limits, max_connections=min(limits.max_connections, files))
        self.settings = replace(settings, limits=limits)
        self._announce = announce
        self.metrics = Metrics(
            list(settings.models), ROUTES, n_workers=_MAX_GENERATIONS * settings.workers
        )
        self.log = Log(json_lines=settings.json_log, dropped=self.metrics.log_dropped)
        self._free = list(range(_MAX_GENERATIONS))
        self._current: _Child | None = None
        self._loading: _Child | None = None
        self._retired: list[_Child] = []
        self.takes: dict[str, str] = {}  # what each model takes, from the first load on
        self._trainer: int | None = None
        # Corrections that are in the model, or will be; a file that is newer than them has them.
        self._n_trained = _n_known(settings)
        self._wanted = False
        self._not_before = 0.0
        self._loaded_files = self._last_files = self._look()

    def run(self) -> None:
        """Serve until a signal arrives.

        Raises OSError, ValueError if the models cannot be loaded at the start, or the address
        cannot be used.
        """
        for path in self.settings.models.values():
            os.stat(path)  # noqa: PTH116 - the error has the name of the file
        self.listener = _listen(self.settings.host, self.settings.port)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self._load()
            self._supervise()
        finally:
            self._end()
            self.listener.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _supervise(self) -> None:
        watch = self.settings.watch
        last_look = time.monotonic()
        while True:
            number = _next_signal(_POLL if self._loading else min(watch or 1.0, 1.0))
            if number in _STOP:
                return
            self._wanted = self._wanted or number == signal.SIGHUP
            now = time.monotonic()
            if watch and now - last_look >= watch:
                last_look = now
                self._wanted = self._files_changed() or self._wanted
            self._read_report()
            self._reap()
            self._train()
            if self._wanted and self._loading is None and self._free and now >= self._not_before:
                self._load()

    def _files_changed(self) -> bool:
        """Return whether the files differ from those loaded, but not from the last look.

        A file that is still being written, or is missing, does not count as changed yet.
        """
        before, self._last_files = self._last_files, self._look()
        now = self._last_files
        return now == before and now != self._loaded_files and None not in now

    def _look(self) -> list[tuple[int, int, int] | None]:
        return [_state(path) for path in self.settings.models.values()]

    def _load(self) -> None:
        """Start a generation beside the one that serves."""
        self._wanted = False
        self._loaded_files = self._look()
        place = self._free.pop(0)
        read, write = os.pipe()
        generation = _Generation(self, first_row=1 + place * self.settings.workers)
        process = _fork(lambda: generation.run(write), self.log)
        os.close(write)
        self._loading = _Child(process, place, read)

    def _read_report(self) -> None:
        """Read the report of a generation that has loaded the models, or could not."""
        child = self._loading
        if child is None or not select.select([child.report], [], [], 0)[0]:
            return
        with os.fdopen(child.report, "rb") as file:
            report = file.readline()  # the workers hold the pipe open
        self._loading = None
        found = msgspec.json.decode(report) if report else "the process that loads them ended"
        if isinstance(found, dict):
            self.takes = found
            self._replace(child)
            return
        os.waitpid(child.process, 0)
        self._free.append(child.place)
        if not self.metrics.loads:
            raise ValueError(found)
        self.metrics.loaded(problem=found)
        self.log.event("models could not be loaded; the old ones stay in use", problem=found)
        if self._current is None:
            self._wanted = True
            self._not_before = time.monotonic() + _RETRY

    def _replace(self, child: _Child) -> None:
        """Make a generation that listens the current one, and retire the old one."""
        loads = self.metrics.loaded()
        old, self._current = self._current, child
        if old is not None:
            os.kill(old.process, RETIRE)
            self._retired.append(old)
        if loads == 1:
            self._announce(self.listener.getsockname()[1])
        else:
            self.log.event("models loaded", loads=loads)

    def _reap(self) -> None:
        for child in list(self._retired):
            if os.waitpid(child.process, os.WNOHANG)[0]:
                self._retired.remove(child)
                self._free.append(child.place)
        current = self._current
        if current is not None and os.waitpid(current.process, os.WNOHANG)[0]:
            # Its workers notice that it has died, and exit after their last answers.
            self.log.event("the process that holds the models died", process=current.process)
            self._current = None
            self._free.append(current.place)
            self._wanted = True

    def _train(self) -> None:
        """Train the first model again when there are enough corrections that it does not know."""
        settings = self.settings
        if self._trainer is not None:
            ended, status = os.waitpid(self._trainer, os.WNOHANG)
            if ended:
                self._trainer = None
                self._wanted = self._wanted or not status
                self.log.event("model trained again", failed=bool(status))
            return
        if settings.corrections is None or settings.documents is None or not settings.retrain_after:
            return
        n_known = count_lines(settings.corrections)
        if n_known - self._n_trained >= settings.retrain_after:
            self._n_trained = n_known
            files = next(iter(settings.models.values())), settings.documents, settings.corrections
            self._trainer = _fork(lambda: _train_kindly(*files), self.log)

    def _end(self) -> None:
        if self._trainer is not None:  # its file appears whole or not at all
            os.kill(self._trainer, signal.SIGKILL)
            os.waitpid(self._trainer, 0)
        children = [child for child in (self._current, self._loading, *self._retired) if child]
        _send(signal.SIGTERM, (child.process for child in children))
        deadline = time.monotonic() + _SECONDS_TO_END
        while children:
            children = [one for one in children if not os.waitpid(one.process, os.WNOHANG)[0]]
            late = time.monotonic() > deadline
            if children and (_next_signal(_POLL) in _STOP or late):
                number = signal.SIGKILL if late else signal.SIGTERM
                _send(number, (child.process for child in children))


class _Generation:
    """The workers of one load of the models; ``run`` is the main function of the process."""

    def __init__(self, supervisor: Supervisor, first_row: int) -> None:
        self._settings, self._listener = supervisor.settings, supervisor.listener
        self._metrics, self._log = supervisor.metrics, supervisor.log
        self._takes, self._first_row = supervisor.takes, first_row
        self._workers: dict[int, tuple[int, float]] = {}  # row and start by process id

    def run(self, report: int) -> None:
        """Load the models, fork the workers, report to a file descriptor, and supervise.

        The report is JSON: what the models take if the workers listen, otherwise the error.
        """
        parent = os.getppid()
        try:
            self._prepare()
            self._start_all()
        except (OSError, ValueError) as error:
            problem = " ".join(str(error).split()) or type(error).__name__
            os.write(report, json_bytes(problem.encode(errors="replace").decode()) + b"\n")
            return
        os.write(report, json_bytes(self._takes) + b"\n")
        os.close(report)
        number = None
        while os.getppid() == parent and number not in {signal.SIGTERM, RETIRE}:
            number = _next_signal(_POLL * 5)
            self._replace_ended()
        self._end(number or signal.SIGTERM)

    def _prepare(self) -> None:
        settings = self._settings
        models = [
            load_model(name, path, settings.allow, settings.deny)
            for name, path in settings.models.items()
        ]
        takes = {model.name: model.describe().takes for model in models}
        for name in takes if self._takes else ():
            if takes[name] != self._takes[name]:
                raise ValueError(
                    f"{settings.models[name]}: takes {takes[name]}, but clients send "
                    f"{self._takes[name]}: restart the server to serve it"
                )
        self._takes = takes
        names, loop = settings.thesaurus, None
        subjects = None if names is None else read_subjects(names, settings.language)
        if settings.corrections is not None:
            texts = [] if settings.documents is None else read_documents(settings.documents)[0]
            loop = Loop(models[0], Corrections(settings.corrections), texts)
        self._service = Service(
            models,
            limits=settings.limits,
            token=settings.token,
            subjects=subjects,
            language=settings.language,
            metrics=self._metrics,
            hosts=settings.names(),
            loop=loop,
        )
        self._config = worker_config(app_of(self._service), self._service)
        rehearse(self._config, self._service)
        self._service.log = self._log
        self._service.turn = asyncio.Lock()  # not of the loop of the rehearsal
        # The garbage collector does not touch frozen objects, so that their pages stay shared.
        gc.collect()
        gc.freeze()

    def _start_all(self) -> None:
        read, write = os.pipe()
        for row in range(self._first_row, self._first_row + self._settings.workers):
            self._start(row, write)
        os.close(write)
        for _ in range(self._settings.workers):
            if not os.read(read, 1):
                self._end(signal.SIGTERM)
                raise ValueError("a worker ended before it listened")
        os.close(read)

    def _start(self, row: int, announce: int | None = None) -> None:
        def listening() -> None:
            if announce is not None:
                os.write(announce, b".")
                os.close(announce)

        def work() -> None:
            self._metrics.count_in(row, os.getpid())
            Worker(self._config, self._service, listening).run(sockets=[self._listener])

        self._workers[_fork(work, self._log)] = row, time.monotonic()

    def _replace_ended(self) -> None:
        for process, row, started, code in self._reap():
            self._log.event("worker ended", process=process, code=code)
            if time.monotonic() - started < _MIN_LIFETIME:
                time.sleep(_MIN_LIFETIME)  # avoids a busy loop if workers die at once
            self._start(row)
            self._metrics.restarted()

    def _reap(self) -> list[tuple[int, int, float, int]]:
        """Remove workers that have exited; return their processes, rows, starts and exit codes."""
        ended = []
        for process, (row, started) in list(self._workers.items()):
            found, status = os.waitpid(process, os.WNOHANG)
            if found:
                del self._workers[process]
                self._metrics.worker_ended(row)
                ended.append((process, row, started, os.waitstatus_to_exitcode(status)))
        return ended

    def _end(self, number: int) -> None:
        """Forward a signal to the workers and wait; a second signal is forwarded too."""
        _send(number, self._workers)
        while self._workers:
            self._reap()
            if self._workers and _next_signal(_POLL * 5) == signal.SIGTERM:
                _send(signal.SIGTERM, self._workers)


def _n_known(settings: Settings) -> int:
    model, said = (
        _state(path) for path in (next(iter(settings.models.values())), settings.corrections or "")
    )
    return count_lines(settings.corrections or "") if model and said and model[2] >= said[2] else 0


def _train_kindly(path: str, documents: str, corrections: str) -> None:
    os.nice(10)
    train_file_again(path, documents, corrections)


def load_model(
    name: str, path: str, allow: Sequence[str] | None = None, deny: Sequence[str] = ()
) -> ServedModel:
    """Load a model and test it with a prediction.

    The file is read, not mapped: forked workers share the memory anyway, and later changes of the
    file, such as overwriting in place, do not affect them.

    - Raises OSError, ValueError if the file is not a classifier, or if the classifier cannot
      predict.
    """
    modified = datetime.fromtimestamp(Path(path).stat().st_mtime, tz=timezone.utc)
    classifier = load(path, mmap=False)
    if not isinstance(classifier, (Classifier, TextClassifier)):
        raise ValueError(  # noqa: TRY004 - the file is wrong, not the type of an argument
            f"{path}: is a {type(classifier).__name__}, not a classifier"
        )
    model = ServedModel(name, classifier, modified=modified, allow=allow, deny=deny)
    model.warm_up()
    return model


def _fork(work: Callable[[], None], log: Log) -> int:
    """Run a function in a forked process, and return its id.

    The process has the default handlers of SIGTERM and RETIRE. It ignores SIGINT and SIGHUP,
    which a terminal sends to all processes: the parent handles them.
    """
    with contextlib.suppress(OSError, ValueError):  # of a full disk, or closed
        sys.stdout.flush()
        sys.stderr.flush()
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGCHLD, RETIRE):
            signal.signal(number, signal.SIG_DFL)
        log.take_all()
        work()
        code = 0
    except BaseException as error:
        logging.getLogger(__name__).critical("a process ended", exc_info=error)
    finally:
        os._exit(code)
    return 0


def _next_signal(seconds: float) -> int | None:
    """Return the next signal of a parent; None if there is none for some time."""
    found = signal.sigtimedwait(_SIGNALS, seconds)
    return None if found is None else found.si_signo


def _send(number: int, processes: Iterable[int]) -> None:
    for process in processes:
        os.kill(process, number)


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - follows links, as the reader does
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _listen(host: str, port: int) -> socket.socket:
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        problem = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno, problem, f"{host}:{port}") from error
    listener.setblocking(False)
    return listener


def _raise_file_limit() -> int:
    """Raise the limit of open files to the maximum, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard not in {soft, resource.RLIM_INFINITY}:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return soft if soft != resource.RLIM_INFINITY else 1 << 20
