"""The command line: one verb per file."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from typing import NoReturn

__all__ = ["main"]


class _Ended(BaseException):
    """The process was told to end; what it holds open is closed and removed on the way out."""


def main() -> None:
    """Run the ``defrag`` command."""
    received: list[int] = []

    def end(number: int, _frame: object) -> NoReturn:
        received.append(number)
        raise _Ended

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup's stays ignored
            signal.signal(number, end)
    try:
        from defrag.cli.app import app  # noqa: PLC0415 - keeps `import defrag` free of typer

        app(prog_name="defrag")
    except KeyboardInterrupt:
        # Where no verb is at work: while modules are read and flags are made, or at the end.
        sys.stderr.write("defrag: error: interrupted\n")
        sys.exit(130)
    except _Ended:
        # The parent process learns which signal it was.
        signal.signal(received[0], signal.SIG_DFL)
        os.kill(os.getpid(), received[0])
    finally:
        # Once Python shuts down, a further Ctrl-C could only make a traceback of the exit code.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
