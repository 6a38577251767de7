"""Files, opened for reading and for writing: every reader and writer of a file comes through here.

Reading: any compression, recognised by the first bytes; pipes that can be interrupted; and bounds,
since a small file must not cost much memory (`ReadLimits`). Writing: a file appears complete or not
at all (`atomic_writer`, which ``persistence`` also uses for models).
"""

from __future__ import annotations

import bz2
import errno
import fcntl
import gzip
import io
import lzma
import os
import re
import secrets
import select
import stat
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, TypeVar, cast

import numpy as np

from defrag._validation import FREE_COLUMNS, too_wide
from defrag.exceptions import FormatError
from defrag.io.remote import is_uri, open_uri

T = TypeVar("T")
PathLike: TypeAlias = str | os.PathLike[str]
"""A path, or ``-`` for standard input or output."""

_FREE_BYTES = 64 << 20
"""Size up to which the ratio is not checked: small enough for any machine."""

# A line costs about 30 bytes in memory, whatever it holds.
_EMPTY_PER_FILLED_LINE = 3
_LINES_PER_PACKED_BYTE = 16
_SHORT_LINE_BYTES = 8


@dataclass(frozen=True)
class ReadLimits:
    r"""Bounds that keep a small file from costing much memory.

    Parameters
    ----------
    max_ratio : float, default=200
        How many times its own size a compressed file or archive may expand to. Sparse text
        expands by 3 to 7. Not applied to the first 64 MiB.
    max_bytes : int, default=2**36
        Number of bytes that a compressed file or archive may expand to.
    max_columns : int, default=2**24
        Number of features or labels that a file may declare if it has fewer than one entry
        per 1024 of them. A number that the caller passes to the reader is not checked.
    max_lines : int, default=2**20
        Number of lines that a file may have if more than three in four of them are empty, or
        if 16 of them are compressed to less than a byte.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import ReadLimits, read_xmc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "wide.txt"
    >>> _ = path.write_text("1 2 2000000000\n0 1:1\n")
    >>> read_xmc(path, limits=ReadLimits(max_columns=2**31))[1].shape
    (1, 2000000000)
    """

    max_ratio: float = 200.0
    max_bytes: int = 1 << 36
    max_columns: int = FREE_COLUMNS
    max_lines: int = 1 << 20

    def check_expansion(self, name: str, packed: int, unpacked: int) -> None:
        """Raise FormatError if ``packed`` bytes may not expand to ``unpacked`` bytes."""
        if unpacked > self.max_bytes:
            rule = f"more than {self.max_bytes} bytes (max_bytes)"
        elif unpacked > max(_FREE_BYTES, self.max_ratio * packed):
            rule = f"more than {self.max_ratio:g} times its size (max_ratio)"
        else:
            return
        raise FormatError(
            name, f"expands to {rule}: decompress it first, or pass other limits to the reader"
        )

    def check_lines(self, name: str, n_lines: int, n_empty: int, packed: int | None) -> None:
        """Raise FormatError if there are many lines that hold little, or take few packed bytes."""
        if n_lines <= self.max_lines:
            return
        if n_empty > _EMPTY_PER_FILLED_LINE * (n_lines - n_empty):
            rule = f"{n_empty} of {n_lines} lines are empty"
        elif packed is not None and n_lines > _LINES_PER_PACKED_BYTE * packed:
            rule = f"{n_lines} lines in {packed} compressed bytes"
        else:
            return
        raise FormatError(
            name, f"{rule}: pass other limits to the reader (max_lines) if this is intended"
        )

    def check_columns(self, name: str, noun: str, n_columns: int, n_entries: int) -> None:
        """Raise FormatError if there are too many columns for the number of entries."""
        if too_wide(n_columns, n_entries, free=self.max_columns):
            raise FormatError(
                name,
                f"{n_columns} {noun}s, but only {n_entries} entries: pass n_{noun}s or other "
                "limits to the reader if this is intended",
            )


def display_name(path: PathLike) -> str:
    """Return the name of a file in error messages."""
    text = os.fspath(path)
    return "<stdin>" if text == "-" else text


def without_compression(path: str) -> str:
    """Return a name without the suffix of a compression."""
    for suffix in _HEADS:
        path = path.removesuffix(suffix)
    return path


def check_form(path: PathLike, form: Any, by_suffix: Mapping[str, T], forms: Sequence[T]) -> T:
    """Return a format, by default that of the suffix of a name; raise ValueError if unknown."""
    name = without_compression(os.fspath(path)).lower()
    form = form or next((one for end, one in by_suffix.items() if name.endswith(end)), None)
    if form in forms:
        return cast("T", form)
    got = "its name does not show which" if form is None else f"got {form!r}"
    known = ", ".join(map(str, forms))
    raise ValueError(f"{display_name(path)}: the format must be one of {known}: {got}")


# --- Reading.

BLOCK_BYTES = 4 << 20
"""Bytes per read: large enough that the overhead of a call is negligible."""

FIFO_PATIENCE_SECONDS = 0.5
"""How long to wait for a writer to open a FIFO."""

INTERRUPT_SECONDS = 0.1
"""Longest delay of Ctrl-C while a pipe has no data."""

_HEADS = {
    ".gz": re.compile(rb"\x1f\x8b"),
    ".xz": re.compile(rb"\xfd7zXZ\x00"),
    # After BZh and a digit: a block, or the end of an empty file.
    ".bz2": re.compile(rb"BZh.(1A|\x17r)", flags=re.DOTALL),
    ".zst": re.compile(rb"\x28\xb5\x2f\xfd"),
}
"""How compressed files begin, by their suffixes."""
_HEAD_BYTES = 6
_MODEL = re.compile(rb".{3}[\x00-\x01]\x00{4}\{", flags=re.DOTALL)
"""The beginning of a safetensors file: the length of its header, and the header."""

_DAMAGED = (gzip.BadGzipFile, lzma.LZMAError, zlib.error)


class InputStream:
    r"""A stream of bytes that can be peeked at.

    Files are read, not mapped: truncating a mapped file kills the process, and reading by
    blocks needs less memory.

    - ``head``: bytes that precede those of ``raw``.
    - ``packed``: the file that ``raw`` decompresses.
    - ``damaged``: exceptions of ``raw`` for damaged data.
    """

    def __init__(
        self,
        raw: IO[bytes],
        name: str,
        head: bytes = b"",
        limits: ReadLimits | None = None,
        packed: _Rewound | None = None,
        *,
        damaged: tuple[type[Exception], ...] = _DAMAGED,
    ) -> None:
        self.name = name
        self.limits = limits or ReadLimits()
        self._raw = raw
        self._peeked = head
        self._packed = packed
        self._damaged = damaged
        self._n_unpacked = 0
        self._n_lines = 0
        self._n_empty = 0

    def peek(self, size: int) -> bytes:
        """Return the next ``size`` bytes, or fewer at the end, without consuming them."""
        while len(self._peeked) < size:
            block = self._read_raw()
            if not block:
                break
            self._peeked += block
        return self._peeked[:size]

    def peek_line(self, start: int, limit: int) -> bytes:
        """Return the line that begins ``start`` bytes from here, cut at ``limit`` bytes.

        Does not wait for data after that line: the writer may wait for a response to it.
        """
        while (end := self._peeked.find(b"\n", start)) < 0 and len(self._peeked) < limit:
            block = self._read_raw()
            if not block:
                break
            self._peeked += block
        return self._peeked[start : min(limit, end + 1 if end >= 0 else limit)]

    def read(self) -> bytes:
        """Return the next bytes, a few megabytes at most; ``b""`` at the end."""
        block, self._peeked = self._peeked, b""
        return block or self._read_raw()

    def read_all(self) -> bytes:
        """Return all remaining bytes."""
        return b"".join(iter(self.read, b""))

    def lines(self) -> Iterator[bytes]:
        """Yield runs of complete lines; the last run may lack its line feed."""
        pending: list[bytes] = []
        while block := self.read():
            cut = block.rfind(b"\n") + 1
            if cut:
                self._count_lines(block[:cut])
                yield b"".join([*pending, block[:cut]])
                pending = []
            if cut < len(block):
                pending.append(block[cut:])
        if pending:
            yield b"".join(pending)

    def _count_lines(self, run: bytes) -> None:
        """Count lines, and the empty ones where lines are short; check the limit on them."""
        n_lines = run.count(b"\n")
        self._n_lines += n_lines
        if len(run) < _SHORT_LINE_BYTES * n_lines:
            ends = np.frombuffer(run.translate(None, b" \t\r"), dtype=np.uint8) == ord("\n")
            self._n_empty += int(ends[0]) + int(np.count_nonzero(ends[1:] & ends[:-1]))
        packed = None if self._packed is None else self._packed.n_read
        self.limits.check_lines(self.name, self._n_lines, self._n_empty, packed)

    def _read_raw(self) -> bytes:
        try:
            block = self._raw.read(BLOCK_BYTES)
        except EOFError as error:
            raise FormatError(self.name, "the compressed data are truncated") from error
        except self._damaged as error:
            raise FormatError(self.name, f"the compressed data are damaged: {error}") from error
        except OSError as error:
            if error.errno is not None:
                raise
            # Raised by bzip2.
            raise FormatError(self.name, "the compressed data are damaged") from error
        if self._packed is not None:
            self._n_unpacked += len(block)
            self.limits.check_expansion(self.name, self._packed.n_read, self._n_unpacked)
        return block


class _Rewound(io.RawIOBase):
    """A file with ``head``, which was read from it, put back."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head = head
        self._rest = rest
        self.n_read = 0

    def close(self) -> None:
        self._rest.close()
        super().close()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        self.n_read += len(data)
        return len(data)


@contextmanager
def open_input(path: PathLike, limits: ReadLimits | None = None) -> Iterator[InputStream]:
    """Open a file for reading; gzip, bzip2, xz and zstd are recognised by their first bytes.

    - ``path``: a file, a URI, a FIFO with a writer, or ``-`` for standard input.
    """
    name = display_name(path)
    with _open_raw(os.fspath(path), name) as raw:
        head = raw.read(_HEAD_BYTES)
        while len(head) < _HEAD_BYTES and (more := raw.read(_HEAD_BYTES - len(head))):
            head += more
        suffix = next((one for one, begin in _HEADS.items() if begin.match(head)), None)
        if suffix is None:
            stream = InputStream(raw, name, head, limits)
            if b"\0\0" in head and _MODEL.match(stream.peek(9)):  # no text has NUL there
                raise FormatError(name, "is a model file, not data: give it as the model")
            yield stream
            return
        zstd = load_zstd() if suffix == ".zst" else None
        if suffix == ".zst" and zstd is None:
            raise FormatError(name, "is compressed with zstd: pip install 'defrag[zstd]'")
        packed = _Rewound(head, raw)
        with _compressor(suffix, io.BufferedReader(packed), "rb") as unpacked:
            damaged = _DAMAGED if zstd is None else (zstd.ZstdError,)
            yield InputStream(unpacked, name, b"", limits, packed, damaged=damaged)


class _Interruptible(io.FileIO):
    """A file whose reads can be interrupted by Ctrl-C even if no data arrive.

    A signal that arrives just before a system call does not interrupt that call: Python
    handles it when the call returns, which a read from a silent pipe never does.
    """

    def read(self, size: int | None = -1, /) -> bytes:
        self._wait()
        return super().read(size)

    def readinto(self, buffer: Any, /) -> int:
        self._wait()
        return super().readinto(buffer)

    def _wait(self) -> None:
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        while not poll.poll(INTERRUPT_SECONDS * 1000):
            pass  # Python handles signals between two waits


def open_nonblocking(path: str, flags: int) -> int:
    """Open a file without blocking, even a FIFO without a writer; for use as ``opener``."""
    return os.open(path, flags | os.O_NONBLOCK)


def _open_raw(path: str, name: str) -> IO[bytes]:
    if path == "-":
        return _Interruptible(os.dup(sys.stdin.fileno()), "rb")
    if is_uri(path):
        return open_uri(path)
    try:
        # The file owns its descriptor from the start, so an interrupt cannot close it twice.
        raw = _Interruptible(path, "rb", opener=open_nonblocking)
    except IsADirectoryError:
        raise FormatError(name, "is a directory, not a file") from None
    with ExitStack() as on_error:
        on_error.callback(raw.close)
        mode, head = os.fstat(raw.fileno()).st_mode, b""
        if stat.S_ISFIFO(mode):
            head = _wait_for_writer(raw.fileno(), name)
        elif not stat.S_ISREG(mode):
            raise FormatError(name, "is a device, not a file")
        os.set_blocking(raw.fileno(), True)
        on_error.pop_all()
    return cast("IO[bytes]", _Rewound(head, raw)) if head else raw


def _wait_for_writer(descriptor: int, name: str) -> bytes:
    """Raise FormatError for a FIFO without a writer; return the bytes that were read to see it."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if poll.poll(FIFO_PATIENCE_SECONDS * 1000):
        return b""
    try:
        head = os.read(descriptor, 1)
    except BlockingIOError:  # a writer exists but has not written yet
        return b""
    if not head:
        raise FormatError(name, "is a FIFO without a writer")
    return head


def load_zstd() -> Any:
    """Return the Zstandard module, or None: it is an extra before Python 3.14."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore] # noqa: PLC0415
    except ImportError:
        try:
            from backports import zstd  # noqa: PLC0415 - an extra
        except ImportError:
            return None
    return zstd


# --- Writing.


@contextmanager
def atomic_writer(path: PathLike) -> Iterator[IO[bytes]]:
    r"""Write a file atomically: it appears complete or not at all.

    The bytes are written to a temporary file in the folder of the target, synced to disk,
    and renamed. The new file gets the mode and, where the system permits, the owner of the file
    that it replaces. Temporary files left by a killed process are removed by the next process
    that writes the same target; a writer's lock on its temporary file keeps others from
    removing it, on any machine and in any container.

    - ``path``: the target; ``-`` is standard output. The file is compressed if its name ends in
      ``.gz``, ``.bz2``, ``.xz`` or ``.zst``. Devices and FIFOs are written directly.
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
    made: IO[bytes] | None = None
    try:
        # The name is chosen before the file is created, so that an interrupt can remove the file.
        while made is None:
            temporary = target.parent / f"{stem}{secrets.token_hex(8)}.tmp"
            made = _create(temporary)
        with made:
            _keep_mode(made.fileno(), target)
            with _compressor(target.name, made, "wb") as packed:
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


def _compressor(
    name: str, file: IO[bytes], mode: Literal["rb", "wb"]
) -> AbstractContextManager[Any]:
    """Return a file that packs into, or unpacks, another one as the suffix of a name says."""
    if name.endswith(".gz"):
        # No time stamp, so that equal data give equal bytes.
        return gzip.GzipFile(filename="", mode=mode, fileobj=file, mtime=0)
    if name.endswith(".bz2"):
        return bz2.BZ2File(file, mode)
    if name.endswith(".xz"):
        return lzma.LZMAFile(file, mode)
    if name.endswith(".zst"):
        zstd = load_zstd()
        if zstd is None:
            raise ImportError(f"{name}: needs zstd: pip install 'defrag[zstd]'")
        return cast("AbstractContextManager[Any]", zstd.ZstdFile(file, mode))
    return nullcontext(file)


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
    """Sync a folder where that can be done: the file is there, and an error would deny it."""
    with suppress(OSError):  # a folder that may not be listed, or a network file system
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
