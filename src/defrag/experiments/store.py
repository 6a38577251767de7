"""Records on disk: a folder with files of JSON lines, one record per run.

A record is appended as one line and synced before the next run starts, so that a killed program
loses at most the run under way. A last line without its end, which a killed writer leaves, is
dropped with a warning and removed by the next append; any other broken line is an error.
"""

from __future__ import annotations

import fcntl
import json
import os
import warnings
from pathlib import Path
from typing import Any

from defrag.exceptions import FormatError, FormatWarning
from defrag.experiments.job import FORMAT
from defrag.experiments.machine import code

__all__ = ["Record", "Store", "read_records"]

Record = dict[str, Any]
"""What is known of a run; see ``docs/experiments.md``."""

_FILE = "records.jsonl"
_REQUIRED = ("key", "method", "data", "estimator", "seed", "status")


class Store:
    """The records of a folder, by key.

    Parameters
    ----------
    folder : path
        Created if it does not exist. All files ``*.jsonl`` in it are read; new records are
        appended to ``records.jsonl``. The last record of a key counts.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> len(store), store.get("a key")
    (0, None)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._records: dict[str, Record] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            self._records.update({record["key"]: record for record in read_records(path)})

    def __len__(self) -> int:
        return len(self._records)

    def n_outdated(self) -> int:
        """Return how many records were made by other code than the installed one."""
        made_by = (record.get("versions", {}).get("code") for record in self._records.values())
        return sum(one != code() for one in made_by)

    def get(self, key: str) -> Record | None:
        """Return the record of a key, or None."""
        return self._records.get(key)

    def append(self, record: Record) -> None:
        """Add a record; it is on the disk when this returns, or an OSError says why not."""
        line = json.dumps(record, sort_keys=True, allow_nan=False).encode() + b"\n"
        path = self.folder / _FILE
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            size = _whole_lines(descriptor)
            os.ftruncate(descriptor, size)
            try:
                _write(descriptor, line)
                os.fsync(descriptor)
            except OSError as error:
                os.ftruncate(descriptor, size)  # no half line, whatever the disk had room for
                raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        finally:
            os.close(descriptor)
        self._records[record["key"]] = record


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """Read a file of records.

    Raises
    ------
    FormatError
        If a line is not a record of this version.
    """
    name = os.fspath(path)
    lines = Path(path).read_bytes().split(b"\n")
    torn = lines.pop()
    if torn:
        warnings.warn(
            f"{name}:{len(lines) + 1}: dropped a record that was not written completely",
            FormatWarning,
            stacklevel=2,
        )
    return [_parse(name, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _parse(name: str, number: int, line: bytes) -> Record:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise FormatError(name, f"not a record: {error}", number) from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        found = record.get("format") if isinstance(record, dict) else type(record).__name__
        raise FormatError(name, f"a record must have format {FORMAT}, got {found!r}", number)
    for field in _REQUIRED:
        if field not in record:
            raise FormatError(name, f"a record must have {field!r}", number)
    return record


def _whole_lines(descriptor: int) -> int:
    """Return how many bytes of a file are whole lines."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        begin = max(0, end - 65536)
        place = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        if place >= 0:
            return begin + place + 1
        end = begin
    return 0


def _write(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]
