"""Logs of a server: events as lines of text, or events and requests as JSON lines.

A log must not decide whether the server lives. Standard error may be a pipe that is not read, or
a file on a full disk: a line that cannot be written at once is dropped, and counted.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import stat
import time
from collections.abc import Callable
from datetime import datetime, timezone
from functools import cache
from typing import Any

import msgspec

_LONGEST = 1000
"""Characters of a field; with few fields, a line is one write to a pipe, never part of one."""


class Log(logging.Handler):
    """A log on standard error; ``dropped`` is called for each line that could not be written."""

    def __init__(
        self, *, json_lines: bool = False, dropped: Callable[[], None] | None = None
    ) -> None:
        super().__init__()
        self.json_lines = json_lines
        self._dropped = dropped

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

    def take_all(self) -> None:
        """Write what libraries log, and the warnings of Python, as events of this log."""
        logging.captureWarnings(capture=True)
        logging.basicConfig(level=logging.WARNING, handlers=[self], force=True)

    def emit(self, record: logging.LogRecord) -> None:
        """Write what a library has logged, with the end of the traceback."""
        fields = {"problem": record.getMessage().strip()}
        if record.exc_info:
            fields["traceback"] = logging.Formatter().formatException(record.exc_info)
        self.event(record.levelname.lower(), **fields)

    def _write_json(self, fields: dict[str, Any]) -> None:
        now = datetime.fromtimestamp(time.time(), tz=timezone.utc)
        when = {"time": now.isoformat(timespec="milliseconds"), "pid": os.getpid()}
        for name, value in fields.items():
            if isinstance(value, str):
                fields[name] = value[-_LONGEST:].encode(errors="replace").decode()
        self._write(msgspec.json.encode({**when, **fields}))

    def _write(self, line: bytes) -> None:
        try:
            if _writer()(line + b"\n") == len(line) + 1:
                return
        except OSError:
            pass
        if self._dropped is not None:
            self._dropped()


@cache
def _writer(descriptor: int = 2) -> Callable[[bytes], int]:
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
