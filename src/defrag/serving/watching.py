"""Detection of changed files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Watch"]


class Watch:
    """Detects changed files once they have stopped changing.

    Parameters
    ----------
    paths : sequence of str
        The files.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = list(paths)
        self._noted = self._last = self._look()

    def note(self) -> None:
        """Record the current state of the files."""
        self._noted = self._look()

    def changed(self) -> bool:
        """Return whether the files differ from the recorded state, but not from the last check.

        A file that is still being written, or is missing, does not count as changed yet.
        """
        now, last = self._look(), self._last
        self._last = now
        return now == last and now != self._noted and None not in now

    def _look(self) -> list[tuple[int, int, int] | None]:
        return [_state(path) for path in self._paths]


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - follows links, as the reader does
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
