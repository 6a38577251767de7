"""Output files that appear complete or not at all."""

from __future__ import annotations

import bz2
import errno
import fcntl
import gzip
import lzma
import os
import re
import secrets
import sys
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from defrag.io._zstd import load_zstd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag.io.files import PathLike

__all__ = ["atomic_writer"]


@contextmanager
def atomic_writer(path: PathLike) -> Iterator[IO[bytes]]:
    r"""Write a file atomically: it appears complete or not at all.

    The bytes are written to a temporary file in the folder of the target, synced to disk,
    and renamed. The new file gets the mode and, where the system permits, the owner of the file
    that it replaces. Temporary files left by a killed process are removed by the next process
    that writes the same target; a writer's lock on its temporary file keeps others from
    removing it, on any machine and in any container.

    Parameters
    ----------
    path : path
        The target; ``-`` is standard output. The file is compressed if its name ends in
        ``.gz``, ``.bz2``, ``.xz`` or ``.zst``. Devices and FIFOs are written directly.

    Yields
    ------
    file : binary file
        The open file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from defrag.io.atomic import atomic_writer
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "scores.txt"
    >>> with atomic_writer(target) as file:
    ...     _ = file.write(b"whole\n")
    >>> target.read_bytes()
    b'whole\n'
    """
    text = os.fsdecode(path)
    if text == "-":
        sys.stdout.flush()
        with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as file:
            yield file
        return
    target = Path(os.path.realpath(text))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), text)
    if target.exists() and not target.is_file():
        try:
            with target.open("wb") as file:
                yield file
        except OSError as error:
            if error.errno is None or error.filename is not None:
                raise
            raise type(error)(error.errno, error.strerror, text) from error
        return
    stem = f".{zlib.crc32(os.fsencode(target.name)):08x}-"
    _remove_leftovers(target.parent, stem)
    temporary = target
    try:
        # The name is chosen before the file is created, so that an interrupt can remove the file.
        while (made := _create(temporary := _new_name(target.parent, stem))) is None:
            pass
        with made:
            _keep_mode(made.fileno(), target)
            with _compressor(target.name, made) as packed:
                yield packed
            made.flush()
            os.fsync(made.fileno())
            # Renamed under the lock, so that no other process removes the file as a leftover.
            temporary.replace(target)
    except BaseException as error:
        if temporary != target:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename in {None, str(temporary)}:
            # The error names the target, not the temporary file.
            raise type(error)(error.errno, error.strerror, text) from error
        raise
    _sync_folder(target.parent)


def _new_name(folder: Path, stem: str) -> Path:
    return folder / f"{stem}{secrets.token_hex(8)}.tmp"


def _create(temporary: Path) -> IO[bytes] | None:
    """Create and lock a file, or return None if another process removed it before the lock."""
    file = temporary.open("xb")
    _lock(file.fileno(), wait=True)
    with suppress(FileNotFoundError):
        if os.path.samestat(temporary.stat(), os.fstat(file.fileno())):
            return file
    file.close()
    return None


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Lock a file and return whether it succeeded; ``wait`` if the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks: other processes' files are kept
        return wait
    return True


def _keep_mode(descriptor: int, target: Path) -> None:
    """Set mode and owner of a new, still empty file to those of the file it replaces."""
    try:
        old = target.stat()
    except FileNotFoundError:
        return
    with suppress(OSError):  # only the superuser may change the owner
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, old.st_mode & 0o777)


@contextmanager
def _compressor(name: str, file: IO[bytes]) -> Iterator[IO[bytes]]:
    if name.endswith(".gz"):
        # No time stamp, so that equal data give equal bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            yield cast("IO[bytes]", packed)
    elif name.endswith(".bz2"):
        with bz2.BZ2File(file, "wb") as packed:
            yield cast("IO[bytes]", packed)
    elif name.endswith(".xz"):
        with lzma.LZMAFile(file, "wb") as packed:
            yield packed
    elif name.endswith(".zst"):
        zstd = load_zstd()
        if zstd is None:
            raise ImportError(f"{name}: needs zstd: pip install 'defrag[zstd]'")
        with zstd.ZstdFile(file, "wb") as packed:
            yield packed
    else:
        yield file


def _remove_leftovers(folder: Path, stem: str) -> None:
    """Remove temporary files of the same target that no process has locked."""
    if not os.access(folder, os.R_OK):  # absent (opening will fail) or not listable
        return
    pattern = re.compile(rf"{re.escape(stem)}[0-9a-f]{{16}}\.tmp")
    for leftover in folder.iterdir():
        if pattern.fullmatch(leftover.name) and leftover.is_file() and not leftover.is_symlink():
            # A leftover that cannot be opened or removed does not affect this target.
            with suppress(OSError), leftover.open("rb") as file:
                if _lock(file.fileno(), wait=False):
                    leftover.unlink()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
