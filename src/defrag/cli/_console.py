"""Output of commands: results on stdout, messages on stderr if it is a terminal, errors.

An error is one line on stderr and an exit code: 0 for success, 2 for bad input or usage, 130 for
Ctrl-C, 1 for all other errors. Every command prints by these functions; ``app`` runs inside
:class:`ErrorGroup`.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import traceback
import warnings
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from defrag._progress import escaped
from defrag.cli._flags import option
from defrag.exceptions import DataWarning, DefragError, FormatWarning

JsonFlag = Annotated[bool, option("Print the result as JSON.", names="--json")]


def examples(*lines: str) -> str:
    """Return the examples at the end of a help text."""
    # A backspace character makes typer keep the line breaks.
    return "\n\n\b\nExamples:\n" + "".join(f"  {line}\n" for line in lines)


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
        return "  ".join(f"{name} {_format(item)}" for name, item in value.items()) or "none"
    if isinstance(value, bool) or value is None:
        return "none" if value is None else str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    return escaped(str(value))


# --- Errors.

BAD_INPUT, UNEXPECTED, INTERRUPTED = 2, 1, 130

# Depending on its version, typer bundles click or uses the installed one; the base class of
# click's errors is reachable in both only through this subclass.
CommandError: type[Exception] = typer.BadParameter.mro()[2]

_USER_ERRORS = (
    DefragError,
    ValueError,
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
)


class _Outcome(NamedTuple):
    """Error message, if any, and exit code of a command."""

    message: str
    code: int


_INTERRUPT = _Outcome("interrupted", INTERRUPTED)


class ErrorGroup(TyperGroup):
    """A group of commands that turns exceptions into one line on stderr and an exit code."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command line and exit."""
        options["standalone_mode"] = False
        with warnings.catch_warnings():
            warnings.simplefilter("always", FormatWarning)
            warnings.simplefilter("always", DataWarning)
            warnings.showwarning = _show_warning
            try:
                outcome = super().main(*args, **options)
            except CommandError as error:
                form: Any = getattr(error, "format_message", error.__str__)
                outcome = _Outcome(str(form()).rstrip("."), BAD_INPUT)
            except typer.Abort:  # Ctrl-C before or after the command, in older versions of typer
                outcome = _INTERRUPT
        if outcome == INTERRUPTED:  # the same, in newer versions
            outcome = _INTERRUPT
        message, code = outcome if isinstance(outcome, _Outcome) else _Outcome("", outcome or 0)
        if message:
            typer.echo(f"defrag: error: {escaped(message)}", err=True)
        sys.exit(code)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except (CommandError, typer.Exit):
            raise
        except BrokenPipeError:
            # The reader has closed the pipe: Python must not flush to it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            outcome = _Outcome("", UNEXPECTED)
        except KeyboardInterrupt:
            outcome = _INTERRUPT
        except Exception as error:  # noqa: BLE001 - the outermost handler
            if ctx.params.get("debug"):
                traceback.print_exc()
            outcome = _describe(error)
        else:
            outcome = _Outcome("", 0)
        return outcome


def _describe(error: Exception) -> _Outcome:
    extra_is_missing = type(error) is ImportError
    code = BAD_INPUT if extra_is_missing or isinstance(error, _USER_ERRORS) else UNEXPECTED
    if isinstance(error, OSError) and error.strerror:
        name = error.filename
        text = error.strerror if name is None else f"{os.fsdecode(name)}: {error.strerror}"
    elif isinstance(error, ModuleNotFoundError) and str(error.name).startswith("defrag."):
        code, text = BAD_INPUT, f"{error.name} is not part of this installation"
    elif isinstance(error, MemoryError):
        text = str(error) or "not enough memory"
    elif code == UNEXPECTED:
        text = f"unexpected {type(error).__name__}: {error} (--debug shows where)"
    else:
        text = str(error)
    return _Outcome(text, code)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"warning: {escaped(str(message))}", err=True)
