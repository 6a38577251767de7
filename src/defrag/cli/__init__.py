"""The command line: one verb per file."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from typing import NoReturn

__all__ = ["main"]


class _Ended(BaseException):
    """The process received a signal to end; temporary files are removed on the way out."""


def main() -> None:
    """Run the ``defrag`` command."""
    received: list[int] = []

    def end(number: int, _frame: object) -> NoReturn:
        received.append(number)
        raise _Ended

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # ignored under nohup
            signal.signal(number, end)
    try:
        from defrag.cli.app import app  # noqa: PLC0415 - keeps `import defrag` free of typer

        app(prog_name="defrag")
    except KeyboardInterrupt:
        # Outside of a verb: while modules are imported, or at the end.
        sys.stderr.write("defrag: error: interrupted\n")
        sys.exit(130)
    except _Ended:
        # The exit status tells the parent process the signal.
        signal.signal(received[0], signal.SIG_DFL)
        os.kill(os.getpid(), received[0])
    finally:
        # During shutdown, another Ctrl-C would only replace the exit code by a traceback.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
