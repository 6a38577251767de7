"""Input streams that decompress."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import select
import stat
import sys
import zlib
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast

from defrag.exceptions import FormatError
from defrag.io._zstd import load_zstd
from defrag.io.limits import ReadLimits

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "InputStream",
    "PathLike",
    "display_name",
    "open_input",
    "open_nonblocking",
    "without_compression",
]

PathLike: TypeAlias = str | os.PathLike[str]
"""A path, or ``-`` for standard input or output."""

BLOCK_BYTES = 4 << 20
"""Bytes per read: large enough that the overhead of a call is negligible."""

FIFO_PATIENCE_SECONDS = 0.5
"""How long to wait for a writer to open a FIFO."""

INTERRUPT_SECONDS = 0.1
"""Longest delay of Ctrl-C while a pipe has no data."""

_GZIP_MAGIC = b"\x1f\x8b"
_XZ_MAGIC = b"\xfd7zXZ\x00"
_BZIP2_MAGIC = (b"1A", b"\x17r")  # after BZh and a digit: a block, or the end of an empty file
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_SUFFIXES = (".gz", ".xz", ".bz2", ".zst")
_DAMAGED = (gzip.BadGzipFile, lzma.LZMAError, zlib.error)


def display_name(path: PathLike) -> str:
    """Return the name of a file in error messages."""
    text = os.fspath(path)
    return "<stdin>" if text == "-" else text


def without_compression(path: str) -> str:
    """Return a name without the suffix of a compression."""
    for suffix in _SUFFIXES:
        path = path.removesuffix(suffix)
    return path


class InputStream:
    r"""A stream of bytes that can be peeked at.

    Files are read, not mapped: truncating a mapped file kills the process, and reading by
    blocks needs less memory.

    Parameters
    ----------
    raw : binary file
        Source of the bytes.
    name : str
        Name in error messages.
    head : bytes, default=b""
        Bytes that precede those of ``raw``.
    limits : ReadLimits, optional
        Limits on the cost of reading.
    packed : compressed file, optional
        The file that ``raw`` decompresses.
    damaged : tuple of exception classes, optional
        Exceptions of ``raw`` for damaged data.

    Examples
    --------
    >>> import io
    >>> from defrag.io.files import InputStream
    >>> stream = InputStream(io.BytesIO(b"2 3 4\n0 1:1\n"), "example")
    >>> stream.peek(5)
    b'2 3 4'
    >>> stream.read()
    b'2 3 4\n0 1:1\n'
    >>> stream.read()
    b''
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
                yield b"".join([*pending, block[:cut]])
                pending = []
            if cut < len(block):
                pending.append(block[cut:])
        if pending:
            yield b"".join(pending)

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

    Parameters
    ----------
    path : path
        A file, a FIFO with a writer, or ``-`` for standard input.
    limits : ReadLimits, optional
        Limits on the cost of reading.

    Yields
    ------
    stream : InputStream
        The bytes, decompressed.

    Raises
    ------
    FormatError
        If ``path`` is a directory or a device, or expands beyond the limits.
    OSError
        If the file does not exist or cannot be read.
    """
    name = display_name(path)
    with _open_raw(os.fspath(path), name) as raw:
        head = raw.read(len(_XZ_MAGIC))
        while len(head) < len(_XZ_MAGIC) and (more := raw.read(len(_XZ_MAGIC) - len(head))):
            head += more
        packed = _Rewound(head, raw)
        buffered = io.BufferedReader(packed)
        if head.startswith(_GZIP_MAGIC):
            with gzip.GzipFile(fileobj=buffered) as unpacked:
                yield InputStream(cast("IO[bytes]", unpacked), name, b"", limits, packed)
        elif head == _XZ_MAGIC:
            with lzma.LZMAFile(buffered) as unpacked:
                yield InputStream(unpacked, name, b"", limits, packed)
        elif head.startswith(b"BZh") and head.endswith(_BZIP2_MAGIC):
            with bz2.BZ2File(buffered) as unpacked:
                yield InputStream(cast("IO[bytes]", unpacked), name, b"", limits, packed)
        elif head.startswith(_ZSTD_MAGIC):
            zstd = load_zstd()
            if zstd is None:
                raise FormatError(name, "is compressed with zstd: pip install 'defrag[zstd]'")
            with zstd.ZstdFile(buffered) as unpacked:
                yield InputStream(unpacked, name, b"", limits, packed, damaged=(zstd.ZstdError,))
        else:
            yield InputStream(raw, name, head, limits)


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
    try:
        # The file owns its descriptor from the start, so an interrupt cannot close it twice.
        raw = _Interruptible(path, "rb", opener=open_nonblocking)
    except IsADirectoryError:
        raise FormatError(name, "is a directory, not a file") from None
    with ExitStack() as on_error:
        on_error.callback(raw.close)
        head = _check_kind(raw.fileno(), name)
        os.set_blocking(raw.fileno(), True)
        on_error.pop_all()
    return cast("IO[bytes]", _Rewound(head, raw)) if head else raw


def _check_kind(descriptor: int, name: str) -> bytes:
    """Raise FormatError for devices and FIFOs without a writer; return bytes read to check."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISFIFO(mode):
        return _wait_for_writer(descriptor, name)
    if not stat.S_ISREG(mode):
        raise FormatError(name, "is a device, not a file")
    return b""


def _wait_for_writer(descriptor: int, name: str) -> bytes:
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
