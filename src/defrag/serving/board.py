"""Counters in memory that the processes of a server share."""

from __future__ import annotations

import mmap

__all__ = ["COLUMNS", "Board"]

COLUMNS = 4096
"""Numbers per row; only pages that are used take memory."""

_ITEM = 8
_MESSAGE = 2048


class Board:
    """Rows of int64 and a message, in memory that forked processes share.

    A number has one writer at a time: the worker that owns the row, or the process that owns the
    column of row 0. Readers may see numbers of slightly different times.

    Parameters
    ----------
    n_rows : int
        Number of rows for workers, numbered from 1; row 0 belongs to their parent processes.
    """

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        numbers = (n_rows + 1) * COLUMNS * _ITEM
        self._memory = memoryview(mmap.mmap(-1, numbers + _MESSAGE))
        self._numbers = self._memory[:numbers].cast("q")
        self._text = self._memory[numbers:]

    def row(self, number: int) -> memoryview:
        """Return the numbers of a row, to read and write."""
        return self._numbers[number * COLUMNS : (number + 1) * COLUMNS]

    def rows(self) -> list[memoryview]:
        """Return the rows of workers."""
        return [self.row(number) for number in range(1, self.n_rows + 1)]

    @property
    def message(self) -> str:
        """The message; empty if there is none."""
        return bytes(self._text).partition(b"\0")[0].decode(errors="replace")

    @message.setter
    def message(self, text: str) -> None:
        content = text.encode(errors="replace")[: _MESSAGE - 1]
        self._text[:] = content.ljust(_MESSAGE, b"\0")
