"""What people say about texts: a file of JSON lines to which every correction is appended.

A line has a text, all its labels, and when they were given; the last line of a text counts. Labels
that are ``null`` mean that nothing is said any more, which is how a correction is undone. So the
file is a corpus, and no line is ever changed. A line is on the disk before its request is answered.
What a killed process leaves of a line was never answered for, and is cut off before the next one.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from defrag.exceptions import FormatError
from defrag.io.files import _sync_folder
from defrag.serving.requests import json_bytes

_READ = 1 << 20


class Correction(msgspec.Struct, omit_defaults=True):
    """The labels of a text, None if they are not known any more."""

    text: str
    labels: list[str] | None
    time: str = ""
    undo: bool = False


_decode = msgspec.json.Decoder(Correction).decode


class Corrections:
    """The corrections in a file, of this process and of others.

    - ``labels``: those of each text that has a correction, the latest last; None: undone.
    - ``n_lines``: how many lines have been read.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.labels: dict[str, list[str] | None] = {}
        self.n_lines = 0
        self._before: dict[str, list[list[str] | None]] = {}  # what an undo returns to
        self._offset = 0
        self._rest = b""
        self._strict = True

    def open(self) -> None:
        """Create the file if there is none, and cut off a torn line."""
        with self._locked() as file:
            _mend(file)

    def append(self, correction: Correction) -> None:
        """Add a line; it is on the disk when this returns."""
        correction.time = datetime.now(timezone.utc).isoformat(timespec="seconds")
        new = not Path(self.path).exists()
        with self._locked() as file:
            _mend(file)
            line = json_bytes(correction) + b"\n"
            while line:
                line = line[os.write(file, line) :]
            os.fsync(file)
        if new:
            _sync_folder(Path(self.path).parent)

    def undo(self, text: str | None = None) -> Correction | None:
        """Undo the last correction of a text, or of all; return what holds now, None if nothing.

        Others' corrections are those of the last ``refresh``.
        """
        text = next(reversed(self._before), None) if text is None else text
        if text is None or not self._before.get(text):
            return None
        found = Correction(text, self._before[text][-1], undo=True)
        self.append(found)
        return found

    def refresh(self) -> dict[str, list[str] | None]:
        """Read what was appended since the last time; return the labels that texts have now.

        Raises FormatError the first time if a line is no correction; later, such lines are left
        out and logged, so that the server goes on.
        """
        news: dict[str, list[str] | None] = {}
        try:
            if os.stat(self.path).st_size <= self._offset:  # noqa: PTH116 - once per request
                return news
        except FileNotFoundError:
            return news
        with open(self.path, "rb") as file:  # noqa: PTH123 - as above
            file.seek(self._offset)
            while piece := file.read(_READ):
                *lines, self._rest = (self._rest + piece).split(b"\n")
                for line in lines:
                    self._take(line, news)
                self._offset += len(piece)
        self._offset -= len(self._rest)  # a line that is being written, or torn
        self._rest = b""
        self._strict = False
        return news

    def _take(self, line: bytes, news: dict[str, list[str] | None]) -> None:
        self.n_lines += 1
        try:
            one = _decode(line)
        except msgspec.MsgspecError as error:
            problem = FormatError(self.path, f"must be a correction: {error}", self.n_lines)
            if self._strict:
                raise problem from error
            logging.getLogger(__name__).warning("%s: left out", problem)
            return
        now = self.labels.pop(one.text, None)
        before = self._before.pop(one.text, [])
        before = before[:-1] if one.undo else [*before, now]
        if before:
            self._before[one.text] = before
        self.labels[one.text] = news[one.text] = one.labels

    @contextmanager
    def _locked(self) -> Iterator[int]:
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)


def _mend(file: int) -> None:
    """Cut off what follows the last line feed; nobody else writes."""
    end = size = os.fstat(file).st_size
    while end:
        start = max(0, end - 4096)
        found = os.pread(file, end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < size:
        os.ftruncate(file, end)


def count_lines(path: str) -> int:
    """Return the number of lines of a file, 0 if there is none."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - in binary
            return sum(piece.count(b"\n") for piece in iter(lambda: file.read(_READ), b""))
    except FileNotFoundError:
        return 0
