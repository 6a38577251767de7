"""Progress bars, which are shown on terminals only, and the logger.

The logger ``defrag`` is silent unless a program configures logging:
``logging.basicConfig(level=logging.INFO)`` shows the size of the data and the time of each fit.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from defrag.typing import Progress

logger = logging.getLogger("defrag")
logger.addHandler(logging.NullHandler())

# Prefix of the descriptions of bars inside a part of a composite.
_stage: ContextVar[str] = ContextVar("stage", default="")


def escaped(message: str) -> str:
    """Return a message with non-printable characters escaped, for a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)


@contextmanager
def progress_stage(name: str) -> Iterator[None]:
    """Prefix the descriptions of all bars inside a ``with`` statement with a name."""
    before = _stage.set(f"{_stage.get()}{name}: ")
    try:
        yield
    finally:
        _stage.reset(before)


@contextmanager
def progress_bar(description: str, *, enabled: bool = True) -> Iterator[Progress | None]:
    """Show a progress bar; yield the callable that updates it, or None if no bar is shown."""
    with _task(description, 1.0, "TaskProgressColumn", "TimeRemainingColumn", shown=enabled) as one:
        yield one


@contextmanager
def progress_pulse(description: str, *, enabled: bool = True) -> Iterator[None]:
    """Show a bar without a percentage, with the elapsed time."""
    with _task(description, None, "TimeElapsedColumn", shown=enabled):
        yield


@contextmanager
def _task(
    description: str, total: float | None, *columns: str, shown: bool
) -> Iterator[Progress | None]:
    """Show a bar with some columns on a terminal."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich import console, progress  # noqa: PLC0415 - slow to import, rarely needed

    text, bars = progress.TextColumn("{task.description}", markup=False), progress.BarColumn()
    own = [getattr(progress, name)() for name in columns]
    screen = console.Console(stderr=True)
    with progress.Progress(text, bars, *own, console=screen, transient=True) as bar:
        task = bar.add_task(_stage.get() + description, total=total)
        yield lambda share: bar.update(task, completed=share)
