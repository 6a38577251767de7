"""Output of the verbs: results on stdout, messages on stderr if it is a terminal."""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Annotated, Any

import typer

__all__ = [
    "JsonFlag",
    "escaped",
    "examples",
    "print_json",
    "print_message",
    "print_next",
    "print_values",
    "print_written",
    "terminal",
]

JsonFlag = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def examples(*lines: str) -> str:
    """Return the examples at the end of a help text."""
    # A backspace character makes typer keep the line breaks.
    return "\n\n\b\nExamples:\n" + "".join(f"  {line}\n" for line in lines)


def escaped(message: str) -> str:
    """Return a message with non-printable characters escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)


def terminal() -> Any:
    """Return the console for tables: stdout, with colours on a terminal."""
    from rich.console import Console  # noqa: PLC0415 - takes long to import

    return Console(highlight=False, soft_wrap=False)


def print_json(values: dict[str, Any]) -> None:
    """Print a JSON object on one line; non-finite values become null."""
    typer.echo(json.dumps(_to_json(values)))


def print_values(values: dict[str, Any]) -> None:
    """Print names and values in two columns."""
    width = max(len(name) for name in values) + 2
    for name, value in values.items():
        typer.echo(f"{name:{width}}{_format(value)}")


def print_message(message: str) -> None:
    """Print a message if stderr is a terminal."""
    if sys.stderr.isatty():
        typer.echo(message, err=True)


def print_written(path: str, form: str, X: Any, Y: Any) -> None:
    """Print a message about the data that were written to a file."""
    if path != "-":
        labels = "no labels" if Y is None else f"{Y.shape[1]:,} labels"
        size = f"{X.shape[0]:,} points, {X.shape[1]:,} features, {labels}"
        print_message(f"{size} written to {escaped(path)} ({form})")


def print_next(*commands: str) -> None:
    """Print commands to run next, if stderr is a terminal."""
    for command in commands:
        print_message(f"next: {command}")


def _to_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {re.sub("[ -]", "_", key): _to_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_to_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _format(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{name} {_format(item)}" for name, item in value.items())
    if isinstance(value, bool) or value is None:
        return "none" if value is None else str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    return escaped(str(value))
