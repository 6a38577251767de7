"""How the command leaves: one line and an exit code, whatever happens.

0 for success, 2 for bad input or usage, 130 for Ctrl-C, 1 for all else.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from typing import Any

import typer
from typer.core import TyperGroup

from defrag.cli._console import escaped
from defrag.exceptions import DefragError, FormatWarning

__all__ = ["CommandError", "LeavingGroup"]

BAD_INPUT, UNEXPECTED, INTERRUPTED = 2, 1, 130

# Typer carries a click of its own or uses the one installed, depending on its version;
# the class of its errors has a public name only by way of this descendant.
CommandError: type[Exception] = typer.BadParameter.mro()[2]

_USER_ERRORS = (
    DefragError,
    ValueError,
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
)


class LeavingGroup(TyperGroup):
    """A group of verbs that turns exceptions into one line on stderr and an exit code."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command line and leave the process."""
        options["standalone_mode"] = False
        with warnings.catch_warnings():
            warnings.simplefilter("always", FormatWarning)
            warnings.showwarning = _show_warning
            try:
                code = super().main(*args, **options)
            except CommandError as error:
                code = _report(_usage_message(error), BAD_INPUT)
            except typer.Abort:  # Ctrl-C before the verb began
                code = _report("interrupted", INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except (CommandError, typer.Exit):
            raise
        except BrokenPipeError:
            # Whoever read has seen enough. Nothing may be flushed to the pipe at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = UNEXPECTED
        except KeyboardInterrupt:
            code = _report("interrupted", INTERRUPTED)
        except Exception as error:  # noqa: BLE001 - the outermost place there is
            if ctx.params.get("debug"):
                traceback.print_exc()
            code = _report(*_describe(error))
        else:
            code = 0
        return code


def _describe(error: Exception) -> tuple[str, int]:
    code = BAD_INPUT if isinstance(error, _USER_ERRORS) else UNEXPECTED
    if isinstance(error, OSError) and error.strerror:
        name = error.filename
        return error.strerror if name is None else f"{os.fsdecode(name)}: {error.strerror}", code
    if isinstance(error, MemoryError):
        return str(error) or "not enough memory", code
    if code == UNEXPECTED:
        return f"unexpected {type(error).__name__}: {error} (--debug shows where)", code
    return str(error), code


def _usage_message(error: Exception) -> str:
    form: Any = getattr(error, "format_message", error.__str__)
    return str(form()).rstrip(".")


def _report(message: str, code: int) -> int:
    typer.echo(f"defrag: error: {escaped(message)}", err=True)
    return code


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"warning: {escaped(str(message))}", err=True)
