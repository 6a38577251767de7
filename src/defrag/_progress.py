"""Progress bars, which are shown on terminals only, and the logger.

The logger ``defrag`` is silent unless a program configures logging:
``logging.basicConfig(level=logging.INFO)`` shows the size of the data and the time of each fit.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from defrag.typing import Progress

logger = logging.getLogger("defrag")
logger.addHandler(logging.NullHandler())

Listener: TypeAlias = "Callable[[str, float | None, float], None]"
"""Takes a stage, its share that is done (None at its end), and when it began."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)

# Prefix of the descriptions of bars inside a part of a composite.
_stage: ContextVar[str] = ContextVar("stage", default="")


def escaped(message: str) -> str:
    """Return a message with non-printable characters escaped, for a terminal."""
    if message.isprintable():
        return message
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
def listening(listener: Listener) -> Iterator[None]:
    """Tell a listener of all stages inside a ``with`` statement, whether or not bars are shown."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def resident_bytes() -> tuple[int, int]:
    """Return the memory of this process with mapped files, and without; 0 if it is hidden."""
    try:
        found = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0, 0
    pages, of_files = int(found[1]), int(found[2])
    size = os.sysconf("SC_PAGE_SIZE")
    return pages * size, (pages - of_files) * size


@contextmanager
def _task(
    description: str, total: float | None, *columns: str, shown: bool
) -> Iterator[Progress | None]:
    """Show a bar on a terminal, and tell the listener."""
    listener, name, begin = _listener.get(), _stage.get() + description, time.monotonic()
    with _bar(name, total, *columns, shown=shown) as bar:
        if listener is None or not shown:
            yield bar
            return
        listener(name, 0.0, begin)

        def update(share: float) -> None:
            if share > 0:  # 0 is the beginning
                listener(name, share, begin)
            if bar is not None:
                bar(share)

        yield update
        listener(name, None, begin)


@contextmanager
def _bar(
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
        task = bar.add_task(description, total=total)
        yield lambda share: bar.update(task, completed=share)
