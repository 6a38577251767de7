"""Notice that a mapped model file was changed in place."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from defrag.exceptions import ModelFormatError

if TYPE_CHECKING:
    from defrag.io.files import PathLike

__all__ = ["MappedFile"]


class MappedFile(NamedTuple):
    """What a mapped file was like when it was loaded.

    A file that is replaced, as :func:`defrag.save` does, has another inode, and the map keeps
    the old content. A file that is overwritten keeps its inode: the map then shows bytes that
    nobody checked, or ends too early, which kills the process on the next access. Comparing
    size and time of the last change finds this at the cost of one system call, unless the file
    is changed during the call that uses it.
    """

    name: str
    path: str
    device: int
    inode: int
    n_bytes: int
    changed_ns: int

    @classmethod
    def of(cls, path: PathLike) -> MappedFile:
        """Return what a file is like now."""
        status = os.stat(path)  # noqa: PTH116 - one call, used on every prediction
        return cls(
            os.fspath(path),
            os.path.realpath(path),
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
        )

    def check(self) -> None:
        """Raise ModelFormatError if the file was changed in place."""
        try:
            status = os.stat(self.path)  # noqa: PTH116 - as above
        except OSError:  # removed or out of reach: the map is as it was
            return
        if (status.st_dev, status.st_ino) == (self.device, self.inode) and (
            status.st_size,
            status.st_mtime_ns,
        ) != (self.n_bytes, self.changed_ns):
            raise ModelFormatError(
                self.name,
                "was changed in place after it was mapped; load it again, and replace models by "
                "renaming, or load them with mmap=False",
            )

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Become None in a copy, whose arrays are not mapped."""
        return type(None), ()
