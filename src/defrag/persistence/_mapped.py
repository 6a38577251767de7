"""Detection of mapped model files that were modified in place."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from defrag.exceptions import ModelFormatError

if TYPE_CHECKING:
    from defrag.io.files import PathLike

__all__ = ["MappedFile"]

_QUIET_SECONDS = 0.001
"""How long a file that was unchanged is not checked again.

A system call can take a tenth of the time of predicting one row.
"""


class MappedFile:
    """State of a mapped file at the time it was loaded.

    A file that is replaced, as :func:`defrag.save` does, has another inode, and the map keeps
    the old content. A file that is overwritten keeps its inode: the map then has unchecked
    bytes, or ends too early, which kills the process on the next access. Size and modification
    time reveal this, unless the file is modified within the same millisecond or during the
    call that uses it.

    Parameters
    ----------
    path : path
        The file.
    """

    def __init__(self, path: PathLike) -> None:
        self._name = os.fspath(path)
        self._path = os.path.realpath(path)
        self._file, self._content = _state(self._path)
        self._quiet_until = 0.0

    def check(self) -> None:
        """Raise ModelFormatError if the file was modified in place."""
        now = time.monotonic()
        if now < self._quiet_until:
            return
        try:
            file, content = _state(self._path)
        except OSError:  # removed or inaccessible: the map is unchanged
            return
        if file == self._file and content != self._content:
            raise ModelFormatError(
                self._name,
                "was modified in place after it was mapped; load it again, and replace models by "
                "renaming, or load them with mmap=False",
            )
        self._quiet_until = now + _QUIET_SECONDS

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Reduce to None in a copy, whose arrays are not mapped."""
        return type(None), ()


def _state(path: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the identity of the file, its size and its modification time."""
    status = os.stat(path)  # noqa: PTH116 - in the path of every prediction
    return (status.st_dev, status.st_ino), (status.st_size, status.st_mtime_ns)
