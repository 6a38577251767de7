"""The command line: one verb per file."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the ``defrag`` command."""
    from defrag.cli.app import run  # noqa: PLC0415 - keeps `import defrag` free of typer

    run()
