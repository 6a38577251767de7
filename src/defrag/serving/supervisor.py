"""The main process: it holds the socket, and starts and stops generations."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from defrag.serving.board import Board
from defrag.serving.generation import Generation
from defrag.serving.logs import Log
from defrag.serving.metrics import FAILED_LOADS, LOADED, LOADS
from defrag.serving.processes import RETIRE, SIGNALS, fork
from defrag.serving.watching import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from defrag.serving.settings import Settings

__all__ = ["Supervisor"]

_MAX_GENERATIONS = 4
"""Maximum number of generations: one that serves, one that loads, two that are ending."""

_POLL = 0.1
_RETRY = 5.0
_SECONDS_TO_END = 20.0
_SPARE_FILES = 64


@dataclass
class _Child:
    process: int
    block: int
    report: int


class Supervisor:
    """Serves models until SIGINT or SIGTERM; SIGHUP or a changed file reloads them.

    Parameters
    ----------
    settings : Settings
        Models, address, limits and number of workers.
    announce : callable
        Called with the port when the first workers listen.
    """

    def __init__(self, settings: Settings, announce: Callable[[int], None]) -> None:
        files = _raise_file_limit() - _SPARE_FILES
        limits = settings.limits
        limits = replace(limits, max_connections=max(1, min(limits.max_connections, files)))
        self._settings = replace(settings, limits=limits)
        self._announce = announce
        self._log = Log(json_lines=settings.json_log)
        self._board = Board(_MAX_GENERATIONS * settings.workers)
        self._free = list(range(_MAX_GENERATIONS))
        self._current: _Child | None = None
        self._loading: _Child | None = None
        self._retired: list[_Child] = []
        self._watch = Watch(list(settings.models.values()))
        self._wanted = False
        self._not_before = 0.0

    def run(self) -> None:
        """Serve until a signal arrives.

        Raises
        ------
        OSError, ValueError
            If the models cannot be loaded at the start, or the address cannot be used.
        """
        for path in self._settings.models.values():
            os.stat(path)  # noqa: PTH116 - the error has the name of the file
        self._listener = _listen(self._settings.host, self._settings.port)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            self._load()
            self._supervise()
        finally:
            self._end()
            self._listener.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _supervise(self) -> None:
        last_look = time.monotonic()
        while True:
            found = signal.sigtimedwait(SIGNALS, _POLL if self._loading else self._pause())
            number = None if found is None else found.si_signo
            if number in {signal.SIGINT, signal.SIGTERM}:
                return
            self._wanted = self._wanted or number == signal.SIGHUP
            now = time.monotonic()
            if self._settings.watch and now - last_look >= self._settings.watch:
                last_look = now
                self._wanted = self._watch.changed() or self._wanted
            self._read_report()
            self._reap()
            if self._wanted and self._loading is None and self._free and now >= self._not_before:
                self._load()

    def _pause(self) -> float:
        return min(self._settings.watch or 1.0, 1.0)

    def _load(self) -> None:
        """Start a generation beside the one that serves."""
        self._wanted = False
        self._watch.note()
        block = self._free.pop(0)
        read, write = os.pipe()
        first_row = 1 + block * self._settings.workers
        generation = Generation(self._settings, self._listener, self._board, first_row)
        process = fork(lambda: generation.run(write))
        os.close(write)
        self._loading = _Child(process, block, read)

    def _read_report(self) -> None:
        child = self._loading
        if child is None or not select.select([child.report], [], [], 0)[0]:
            return
        with os.fdopen(child.report, "rb") as file:
            report = file.readline()
        self._loading = None
        problem = report.decode(errors="replace").strip() if report else "the loading process ended"
        top = self._board.row(0)
        if report and not problem:
            self._replace(child)
            return
        os.waitpid(child.process, 0)
        self._free.append(child.block)
        if not top[LOADS]:
            raise ValueError(problem)
        top[FAILED_LOADS] += 1
        self._board.message = problem
        self._log.event("models could not be loaded; the old ones stay in use", problem=problem)
        if self._current is None:
            self._wanted = True
            self._not_before = time.monotonic() + _RETRY

    def _replace(self, child: _Child) -> None:
        """Make a generation that listens the current one, and retire the old one."""
        top = self._board.row(0)
        top[LOADS] += 1
        top[LOADED] = int(time.time())
        self._board.message = ""
        old, self._current = self._current, child
        if old is not None:
            os.kill(old.process, RETIRE)
            self._retired.append(old)
        if top[LOADS] == 1:
            self._announce(self._listener.getsockname()[1])
        else:
            self._log.event("models loaded", loads=top[LOADS])

    def _reap(self) -> None:
        for child in list(self._retired):
            if os.waitpid(child.process, os.WNOHANG)[0]:
                self._retired.remove(child)
                self._free.append(child.block)
        current = self._current
        if current is not None and os.waitpid(current.process, os.WNOHANG)[0]:
            # Its workers notice that it has died, and exit after their last answers.
            self._log.event("the process that holds the models died", process=current.process)
            self._current = None
            self._free.append(current.block)
            self._wanted = True

    def _end(self) -> None:
        children = [child for child in (self._current, self._loading, *self._retired) if child]
        for child in children:
            os.kill(child.process, signal.SIGTERM)
        deadline = time.monotonic() + _SECONDS_TO_END
        while children:
            children = [one for one in children if not os.waitpid(one.process, os.WNOHANG)[0]]
            found = signal.sigtimedwait(SIGNALS, _POLL) if children else None
            again = found is not None and found.si_signo in {signal.SIGINT, signal.SIGTERM}
            late = time.monotonic() > deadline
            for child in children if again or late else []:
                os.kill(child.process, signal.SIGKILL if late else signal.SIGTERM)


def _listen(host: str, port: int) -> socket.socket:
    family, kind, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from error
    listener.setblocking(False)
    return listener


def _raise_file_limit() -> int:
    """Raise the limit of open files to the maximum, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard not in {soft, resource.RLIM_INFINITY}:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return soft if soft != resource.RLIM_INFINITY else 1 << 20
