"""The command line: one verb per file."""

from __future__ import annotations

import atexit
import os
import re
import signal
import sys
import warnings
from contextlib import suppress
from typing import Any, NoReturn


class _Terminated(BaseException):
    """Raised by SIGTERM and SIGHUP, so that temporary files are removed."""


_PLAIN = {
    "--top-k": ("top_k", "[1-9][0-9]{0,8}", int),
    "--threshold": ("threshold", r"0(\.[0-9]+)?|1(\.0+)?", float),
}
"""Flags of ``suggest`` with values, the name of their argument and what they surely mean."""


def suggest_plainly(words: list[str]) -> bool:
    """Answer ``MODEL TEXT [--top-k N] [--threshold X] [--json]``; return whether that was done.

    It spares the import of what typer reads words with, a sixth of the time. All other words, and
    everything that fails or warns, are left to typer, which has the messages.
    """
    if "_DEFRAG_COMPLETE" in os.environ:
        return False
    places: list[str] = []
    values: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if word == "--json":
            values["as_json"] = True
        elif word in _PLAIN:
            name, pattern, kind = _PLAIN[word]
            value = next(rest, "")
            if not re.fullmatch(pattern, value):
                return False
            values[name] = kind(value)
        elif word.startswith("-"):
            return False
        else:
            places.append(word)
    if len(places) != 2:
        return False
    with suppress(Exception), warnings.catch_warnings():
        from defrag.cli.suggest import suggest  # noqa: PLC0415 - imports numpy
        from defrag.exceptions import DataWarning, FormatWarning  # noqa: PLC0415 - for this only

        for kind_of_warning in (DataWarning, FormatWarning):
            warnings.simplefilter("error", kind_of_warning)
        suggest(model=places[0], text=places[1], **values)
        sys.stdout.flush()
        return True
    return False


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
        if sys.argv[1:2] == ["suggest"] and suggest_plainly(sys.argv[2:]):
            return
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
