"""What the verbs say: results on stdout, remarks on the terminal."""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Annotated, Any

import typer

__all__ = ["JsonFlag", "check_stdout", "escaped", "examples", "print_json", "print_values", "say"]

JsonFlag = Annotated[bool, typer.Option("--json", help="Print the result for machines.")]


def examples(*lines: str) -> str:
    """Give the end of a help text that shows how a verb is used."""
    # The bell's neighbour tells typer to keep the lines as they are.
    return "\n\n\b\nExamples:\n" + "".join(f"  {line}\n" for line in lines)


def escaped(message: str) -> str:
    """Escape what would break the line, such as a line feed in the name of a file."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)


def print_json(values: dict[str, Any]) -> None:
    """Print one JSON object in one line, with names that programs like.

    What is not finite becomes null, since JSON has no word for it.
    """
    typer.echo(json.dumps(_for_machines(values)))


def print_values(values: dict[str, Any]) -> None:
    """Print names and values in two columns."""
    width = max(len(name) for name in values) + 2
    for name, value in values.items():
        typer.echo(f"{name:{width}}{_shown(value)}")


def say(message: str) -> None:
    """Tell somebody who looks at the terminal what was done."""
    if sys.stderr.isatty():
        typer.echo(message, err=True)


def check_stdout(path: str, *, as_json: bool) -> None:
    """Refuse to write a file and a result to the same place."""
    if as_json and path == "-":
        raise ValueError("--json and an output of - would both write to standard output")


def _for_machines(value: Any) -> Any:
    if isinstance(value, dict):
        return {re.sub("[ -]", "_", key): _for_machines(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_for_machines(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{name} {_shown(item)}" for name, item in value.items())
    if isinstance(value, bool) or value is None:
        return "none" if value is None else str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    return escaped(str(value))
