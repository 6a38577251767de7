"""Exit of the command: one line on stderr and an exit code.

0 for success, 2 for bad input or usage, 130 for Ctrl-C, 1 for all other errors.
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

__all__ = ["CommandError", "LeavingGroup"]

BAD_INPUT, UNEXPECTED, INTERRUPTED = 2, 1, 130

# Typer bundles click or uses the installed one, depending on its version; the base class of
# its errors is public only through this subclass.
CommandError: type[Exception] = typer.BadParameter.mro()[2]

_USER_ERRORS = (
    DefragError,
    ValueError,
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
)


class _Left(NamedTuple):
    """Error message, if any, and exit code of a verb."""

    message: str
    code: int


_INTERRUPT = _Left("interrupted", INTERRUPTED)


class LeavingGroup(TyperGroup):
    """A group of verbs that turns exceptions into one line on stderr and an exit code."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command line and exit."""
        options["standalone_mode"] = False
        with warnings.catch_warnings():
            warnings.simplefilter("always", FormatWarning)
            warnings.simplefilter("always", DataWarning)
            warnings.showwarning = _show_warning
            try:
                left = super().main(*args, **options)
            except CommandError as error:
                left = _Left(_usage_message(error), BAD_INPUT)
            except typer.Abort:  # Ctrl-C before or after the verb, to older versions of typer
                left = _INTERRUPT
        if left == INTERRUPTED:  # the same, to newer ones
            left = _INTERRUPT
        message, code = left if isinstance(left, _Left) else _Left("", left or 0)
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
            # The reader has closed the pipe: nothing may be flushed to it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            left = _Left("", UNEXPECTED)
        except KeyboardInterrupt:
            left = _INTERRUPT
        except Exception as error:  # noqa: BLE001 - the outermost handler
            if ctx.params.get("debug"):
                traceback.print_exc()
            left = _describe(error)
        else:
            left = _Left("", 0)
        return left


def _describe(error: Exception) -> _Left:
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
    return _Left(text, code)


def _usage_message(error: Exception) -> str:
    form: Any = getattr(error, "format_message", error.__str__)
    return str(form()).rstrip(".")


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"warning: {escaped(str(message))}", err=True)
