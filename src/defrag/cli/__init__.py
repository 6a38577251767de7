"""The command line: one verb per file."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from typing import NoReturn


class _Terminated(BaseException):
    """Raised by SIGTERM and SIGHUP, so that temporary files are removed."""


def main() -> None:
    """Run the ``defrag`` command."""
    received: list[int] = []

    def end(number: int, _frame: object) -> NoReturn:
        received.append(number)
        raise _Terminated

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # ignored under nohup
            signal.signal(number, end)
    try:
        from defrag.cli.app import app  # noqa: PLC0415 - keeps `import defrag` free of typer

        app(prog_name="defrag")
    except KeyboardInterrupt:
        # Ctrl-C outside a verb: during imports or at exit.
        sys.stderr.write("defrag: error: interrupted\n")
        sys.exit(130)
    except _Terminated:
        # Ends by the signal itself, so that the parent process sees it in the exit status.
        signal.signal(received[0], signal.SIG_DFL)
        os.kill(os.getpid(), received[0])
    finally:
        # During shutdown, another Ctrl-C would replace the exit code with a traceback.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
