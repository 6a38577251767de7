"""Logs of a server: events as lines of text, or events and requests as JSON lines.

A log must not decide whether the server lives. Standard error may be a pipe that nobody reads, or
a file on a full disk: a line that cannot be written at once is dropped, and counted.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import stat
import time
import traceback
from datetime import datetime, timezone
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Log"]

_LONGEST = 1000
"""Characters of a field; with few fields, a line is one write to a pipe, never part of one."""


class Log:
    """A log on standard error; each line is one write.

    Parameters
    ----------
    json_lines : bool, default=False
        Whether to write JSON, and a line for each request. Otherwise only events are written.
    dropped : callable, optional
        Called for each line that could not be written.
    descriptor : int, default=2
        The file descriptor to write to.
    """

    def __init__(
        self,
        *,
        json_lines: bool = False,
        dropped: Callable[[], None] | None = None,
        descriptor: int = 2,
    ) -> None:
        self.json_lines = json_lines
        self._dropped = dropped
        self._descriptor = descriptor

    def event(self, event: str, **fields: Any) -> None:
        """Write an event."""
        if self.json_lines:
            self._write_json({"event": event, **fields})
            return
        more = ", ".join(f"{name} {str(value)[-_LONGEST:]}" for name, value in fields.items())
        line = f"defrag serve: {event}" + (f": {more}" if more else "")
        self._write(" ".join(line.splitlines()).encode(errors="replace"))

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Write that a request was answered; the content of requests is not logged."""
        self._write_json({
            "event": "request", "method": method, "path": path[:200], "status": status,
            "ms": round(seconds * 1e3, 3),
        })  # fmt: skip

    def failure(self, event: str, error: BaseException) -> None:
        """Write an event with the end of a traceback."""
        self.event(event, traceback="".join(traceback.format_exception(error)))

    def take_all(self) -> None:
        """Write what libraries log, and the warnings of Python, as events of this log."""
        logging.captureWarnings(capture=True)
        logging.basicConfig(level=logging.WARNING, handlers=[_Handler(self)], force=True)

    def _write_json(self, fields: dict[str, Any]) -> None:
        now = datetime.fromtimestamp(time.time(), tz=timezone.utc)
        when = {"time": now.isoformat(timespec="milliseconds"), "pid": os.getpid()}
        cut = {
            name: value.encode(errors="replace").decode()[-_LONGEST:]
            if isinstance(value, str)
            else value
            for name, value in fields.items()
        }
        self._write(msgspec.json.encode({**when, **cut}))

    def _write(self, line: bytes) -> None:
        try:
            if _writer(self._descriptor)(line + b"\n") == len(line) + 1:
                return
        except OSError:
            pass
        if self._dropped is not None:
            self._dropped()


@cache
def _writer(descriptor: int) -> Callable[[bytes], int]:
    """Return a function that writes without waiting, and returns the number of bytes written."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(mode):
        connection = socket.socket(fileno=os.dup(descriptor))
        return lambda line: connection.send(line, socket.MSG_DONTWAIT)
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        # Opened again, because programs that share the description would not expect O_NONBLOCK.
        try:
            own = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError:
            return lambda line: _write_if_ready(descriptor, line)
        return lambda line: os.write(own, line)
    return lambda line: os.write(descriptor, line)


def _write_if_ready(descriptor: int, line: bytes) -> int:
    """Write to a pipe of another user, which cannot be opened, if it has room for a line."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return os.write(descriptor, line) if poll.poll(0) else 0


class _Handler(logging.Handler):
    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        fields = {"problem": record.getMessage().strip()}
        if record.exc_info and record.exc_info[1]:
            fields["traceback"] = "".join(traceback.format_exception(record.exc_info[1]))
        self._log.event(record.levelname.lower(), **fields)
