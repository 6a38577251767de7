"""Logs of a server: events as lines of text, or events and requests as JSON lines."""

from __future__ import annotations

import json
import logging
import os
import time
from datetime import datetime, timezone
from typing import Any

__all__ = ["Log"]


class Log:
    """A log on standard error; each line is one write.

    Parameters
    ----------
    json_lines : bool, default=False
        Whether to write JSON, and a line for each request. Otherwise only events are written.
    descriptor : int, default=2
        The file descriptor to write to.
    """

    def __init__(self, *, json_lines: bool = False, descriptor: int = 2) -> None:
        self.json_lines = json_lines
        self._descriptor = descriptor

    def event(self, event: str, **fields: Any) -> None:
        """Write an event."""
        if self.json_lines:
            self._write_json({"event": event, **fields})
            return
        more = ", ".join(f"{name} {value}" for name, value in fields.items())
        line = f"defrag serve: {event}" + (f": {more}" if more else "")
        self._write(" ".join(line.splitlines()))

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Write that a request was answered; the content of requests is not logged."""
        if self.json_lines:
            self._write_json({
                "event": "request", "method": method, "path": path[:200], "status": status,
                "ms": round(seconds * 1e3, 3),
            })  # fmt: skip

    def handler(self) -> logging.Handler:
        """Return a handler for the loggers of libraries."""
        return _Handler(self)

    def _write_json(self, fields: dict[str, Any]) -> None:
        now = datetime.fromtimestamp(time.time(), tz=timezone.utc)
        when = {"time": now.isoformat(timespec="milliseconds"), "pid": os.getpid()}
        self._write(json.dumps({**when, **fields}))

    def _write(self, line: str) -> None:
        # One system call, so that lines of several processes do not mix.
        os.write(self._descriptor, line.encode(errors="replace") + b"\n")


class _Handler(logging.Handler):
    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        fields = {"problem": record.getMessage().strip()}
        if record.exc_info:
            fields["traceback"] = logging.Formatter().formatException(record.exc_info)
        self._log.event(record.levelname.lower(), **fields)
