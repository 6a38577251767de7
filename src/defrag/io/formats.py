"""Data files of any format, detected by its content: at once (`read_data`) or block by block.

`RowBlocks` is what ``defrag predict`` reads: a file of any size costs the memory of a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from defrag import _native
from defrag._native import ParsedText
from defrag.exceptions import FormatError
from defrag.io.files import InputStream, PathLike, ReadLimits, display_name, open_input
from defrag.io.npz import parse_npz
from defrag.io.xmc import (
    FileWarnings,
    check_declared,
    check_limit,
    check_rows,
    parse_text,
    parser_warnings,
    read_labels,
)
from defrag.typing import Csr

DataForm: TypeAlias = Literal["combined", "features", "npz"]
"""Format of a data file, as far as its content shows."""

_ZIP_MAGIC = b"PK\x03\x04"
_LONGEST_HEADER_BYTES = 1 << 16

ROWS_AT_A_TIME = 20_000
"""Rows per block of a matrix in memory."""


def read_data(
    path: PathLike,
    *,
    labels_path: PathLike | None = None,
    n_features: int | None = None,
    n_labels: int | None = None,
    strict: bool = False,
    allow_truncated: bool = False,
    limits: ReadLimits | None = None,
) -> tuple[Csr, Csr | None]:
    """Read points, and their labels if there are any, from a file of any format.

    The format is detected from the content, not from the name: a numpy archive by its first
    bytes, XMC text by the number of words in its header (three: combined; two: features
    only). For svmlight text, which has no header, there is ``read_points``.

    Parameters
    ----------
    path : path
        The file; text may be compressed, ``-`` is standard input.
    labels_path : path, optional
        The label file, if ``path`` contains features only.
    n_features, n_labels : int, optional
        Numbers of columns that override those of the file.
    strict, allow_truncated, limits
        As in `read_xmc`.

    Returns
    -------
    X : csr_array of shape (n, d), float32
        The features.
    Y : csr_array of shape (n, L), float32, or None
        The labels, 0 or 1; None if the file contains features only.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import read_data, write_features
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "test.txt"
    >>> write_features(path, [[0, 0.5], [2, 0]])
    >>> X, Y = read_data(path)
    >>> X.shape, Y
    ((2, 2), None)
    """
    with open_input(path, limits) as stream:
        X, Y = parse_data(
            stream,
            n_features=n_features,
            n_labels=n_labels,
            strict=strict,
            allow_truncated=allow_truncated,
        )
        name = stream.name
    if labels_path is None:
        return X, Y
    if Y is not None:
        raise FormatError(name, f"has labels already, besides those of {display_name(labels_path)}")
    Y = read_labels(
        labels_path,
        n_labels=n_labels,
        strict=strict,
        allow_truncated=allow_truncated,
        limits=limits,
    )
    check_rows(display_name(labels_path), X, Y)
    return X, Y


def data_form(stream: InputStream) -> DataForm:
    """Return the format of a data file; the stream is not advanced."""
    if stream.peek(len(_ZIP_MAGIC)) == _ZIP_MAGIC:
        return "npz"
    words = first_line(stream).partition(b"#")[0].split()
    return "features" if len(words) == 2 else "combined"


def parse_data(
    stream: InputStream,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    strict: bool = False,
    allow_truncated: bool = False,
) -> tuple[Csr, Csr | None]:
    """Read from an open stream; see ``read_data``."""
    check_limit("n_features", n_features)
    check_limit("n_labels", n_labels)
    form = data_form(stream)
    if form == "npz":
        X, Y = parse_npz(stream, n_features=n_features, n_labels=n_labels)
        X = _widen(stream.name, "feature", X, n_features)
        return X, None if Y is None else _widen(stream.name, "label", Y, n_labels)
    widths = {"n_features": n_features}
    if form == "combined":
        widths["n_labels"] = n_labels
    parsed = parse_text(stream, form, strict=strict, allow_truncated=allow_truncated, **widths)
    return parsed.pairs, parsed.labels if form == "combined" else None


def first_line(stream: InputStream) -> bytes:
    """Return the first line of a stream that is not a comment; it is not advanced."""
    start = 0
    while (line := stream.peek_line(start, _LONGEST_HEADER_BYTES)).startswith(b"#"):
        start += len(line)
    return line


def _widen(name: str, noun: str, matrix: Csr, width: int | None) -> Csr:
    """Return a matrix with the requested number of columns."""
    if width is None or matrix.shape[1] == width:
        return matrix
    if matrix.nnz and matrix.indices.max() >= width:
        message = f"{noun} index {matrix.indices.max()}, but n_{noun}s is {width}"
        raise FormatError(name, message)
    return _native.csr_from_parts(
        (matrix.indptr, matrix.indices, matrix.data), (matrix.shape[0], width)
    )


class RowBlocks:
    r"""The features of a data file, block by block.

    Text is parsed a few megabytes at a time; an archive is read at once. Labels are checked
    and discarded.

    - ``strict``, ``allow_truncated``: as in `read_xmc`.
    - ``n_rows``, ``n_features``: sizes declared by the header. After the last block, ``n_rows`` is
      the true number.

    Examples
    --------
    >>> import io
    >>> from defrag.io.files import InputStream
    >>> stream = InputStream(io.BytesIO(b"2 3 4\n0 1:1\n1 2:1\n"), "example")
    >>> blocks = RowBlocks(stream)
    >>> blocks.n_rows, blocks.n_features
    (2, 3)
    >>> [block.shape for block in blocks]
    [(2, 3)]
    """

    def __init__(
        self, stream: InputStream, *, strict: bool = False, allow_truncated: bool = False
    ) -> None:
        self.name = stream.name
        self._strict = strict
        self._allow_truncated = allow_truncated
        self._finished = False
        form = data_form(stream)
        if form == "npz":
            X, _ = parse_npz(stream)
            self.n_rows, self.n_features = X.shape
            self._blocks = cut_rows(X)
            return
        self._parser = _native.TextParser(form)
        self._lines = stream.lines()
        # An empty file or a wrong header fails here, before any output is written.
        first = self._take()
        while first.declared_rows is None:
            first = self._take()
        self.n_rows = first.declared_rows
        self.n_features = first.pairs.shape[1]
        self._blocks = self._parse_all(first)

    def __iter__(self) -> Iterator[Csr]:
        return self._blocks

    def _parse_all(self, parsed: ParsedText) -> Iterator[Csr]:
        declared, found = self.n_rows, 0
        while True:
            if parsed.pairs.shape[0]:
                found += parsed.pairs.shape[0]
                yield parsed.pairs
            if self._finished:
                break
            parsed = self._take()
        self.n_rows = found
        file_warnings = FileWarnings(self.name, strict=self._strict)
        check_declared(file_warnings, declared, found, allow_truncated=self._allow_truncated)
        for message, line in parser_warnings(parsed):
            file_warnings.add(message, line)

    def _take(self) -> ParsedText:
        """Return the rows of the next lines; after the last line, the remaining rows."""
        text = next(self._lines, None)
        try:
            if text is None:
                self._finished = True
                return self._parser.finish()
            self._parser.feed(text)
            return self._parser.take_rows()
        except _native.ParseError as error:
            line, message = error.args
            raise FormatError(self.name, message, line or None) from None


def cut_rows(X: Csr) -> Iterator[Csr]:
    """Yield a matrix in blocks of rows."""
    for start in range(0, X.shape[0], ROWS_AT_A_TIME):
        yield X[start : start + ROWS_AT_A_TIME]
