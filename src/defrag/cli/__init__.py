"""The command line: one verb per file."""

from __future__ import annotations

import atexit
import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the ``defrag`` command."""
    try:
        from defrag.cli.app import app  # noqa: PLC0415 - keeps `import defrag` free of typer

        app(prog_name="defrag")
    except KeyboardInterrupt:
        # Where no verb is at work: while modules are read and flags are made, or at the end.
        sys.stderr.write("defrag: error: interrupted\n")
        sys.exit(130)
    finally:
        # Once Python shuts down, a further Ctrl-C could only make a traceback of the exit code.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
