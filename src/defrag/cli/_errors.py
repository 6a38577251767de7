"""Errors of the command: one line on stderr and an exit code.

Exit codes: 0 for success, 2 for bad input or usage, 130 for Ctrl-C, 1 for all other errors.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from defrag.cli._console import escaped
from defrag.exceptions import DataWarning, DefragError, FormatWarning

__all__ = ["CommandError", "ErrorGroup"]

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
    """Error message, if any, and exit code of a verb."""

    message: str
    code: int


_INTERRUPT = _Outcome("interrupted", INTERRUPTED)


class ErrorGroup(TyperGroup):
    """A group of verbs that turns exceptions into one line on stderr and an exit code."""

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
                outcome = _Outcome(_usage_message(error), BAD_INPUT)
            except typer.Abort:  # Ctrl-C before or after the verb, in older versions of typer
                outcome = _INTERRUPT
        if outcome == INTERRUPTED:  # the same, in newer versions
            outcome = _INTERRUPT
        message, code = outcome if isinstance(outcome, _Outcome) else _Outcome("", outcome or 0)
        if message:
            typer.echo(f"defrag: error: {escaped(message)}", err=True)
        sys.exit(code)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
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
    code = BAD_INPUT if isinstance(error, _USER_ERRORS) else UNEXPECTED
    if isinstance(error, OSError) and error.strerror:
        name = error.filename
        text = error.strerror if name is None else f"{os.fsdecode(name)}: {error.strerror}"
    elif isinstance(error, MemoryError):
        text = str(error) or "not enough memory"
    elif code == UNEXPECTED:
        text = f"unexpected {type(error).__name__}: {error} (--debug shows where)"
    else:
        text = str(error)
    return _Outcome(text, code)


def _usage_message(error: Exception) -> str:
    form: Any = getattr(error, "format_message", error.__str__)
    return str(form()).rstrip(".")


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"warning: {escaped(str(message))}", err=True)
