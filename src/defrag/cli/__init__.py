"""The command line: one verb per file."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the ``defrag`` command."""
    try:
        from defrag.cli.app import app  # noqa: PLC0415 - keeps `import defrag` free of typer
    except KeyboardInterrupt:  # after Ctrl-C while modules are read, too, no traceback
        sys.exit(130)
    app(prog_name="defrag")
