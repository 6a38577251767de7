"""Data files read block by block, in bounded memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from defrag import _native
from defrag.exceptions import FormatError
from defrag.io._text import FileWarnings, check_declared, parser_warnings
from defrag.io.formats import data_form
from defrag.io.npz import parse_npz

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag._native import ParsedText
    from defrag.io.files import InputStream
    from defrag.typing import Csr

__all__ = ["ROWS_AT_A_TIME", "RowBlocks", "cut_rows"]

ROWS_AT_A_TIME = 20_000
"""Rows per block of a matrix that is in memory already."""


class RowBlocks:
    r"""The features of a data file, block by block.

    Text is parsed a few megabytes at a time; an archive is read at once. Labels are checked
    and discarded.

    Parameters
    ----------
    stream : InputStream
        The file.
    strict : bool, default=False
        Whether warnings are errors.
    allow_truncated : bool, default=False
        Whether a file with fewer points than its header declares is read with a warning
        instead of being an error.

    Attributes
    ----------
    n_rows, n_features : int
        Sizes declared by the header. After the last block, ``n_rows`` is the true number.

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
        form = data_form(stream)
        if form == "npz":
            X, _ = parse_npz(stream)
            self.n_rows, self.n_features = X.shape
            self._blocks = cut_rows(X)
            return
        self._layout = form
        text = stream.lines()
        head, first = _cut_header(next(text, b""))
        # An empty file or a wrong header fails here, before any output is written.
        parsed = self._parse(head, 0)
        self._width = (parsed.pairs.shape[1], parsed.labels.shape[1])
        self.n_rows = parsed.declared_rows or 0
        self.n_features = self._width[0]
        self._blocks = self._parse_all(first, head.count(b"\n"), text)

    def __iter__(self) -> Iterator[Csr]:
        return self._blocks

    def _parse_all(self, first: bytes, n_lines: int, rest: Iterator[bytes]) -> Iterator[Csr]:
        declared, found = self.n_rows, 0
        total: ParsedText | None = None
        n_columns = self._width[: 2 if self._layout == "combined" else 1]
        block: bytes | None = first
        while block is not None:
            if block:
                # Each block is parsed with a header that declares the remaining points.
                sizes = (max(0, declared - found), *n_columns)
                head = b" ".join(b"%d" % size for size in sizes) + b"\n"
                parsed = self._parse(head + block, n_lines - 1)
                n_lines += block.count(b"\n")
                found += parsed.pairs.shape[0]
                total = parsed if total is None else _added(total, parsed)
                yield parsed.pairs
            block = next(rest, None)
        self.n_rows = found
        file_warnings = FileWarnings(self.name, strict=self._strict)
        check_declared(file_warnings, declared, found, allow_truncated=self._allow_truncated)
        if total is not None:
            for message, line in parser_warnings(total):
                file_warnings.add(message, line)

    def _parse(self, text: bytes, offset: int) -> ParsedText:
        """Parse text that begins ``offset`` lines further down in the file."""
        parser = _native.TextParser(self._layout)
        try:
            parser.feed(text)
            parsed = parser.finish()
        except _native.ParseError as error:
            line, message = error.args
            raise FormatError(self.name, message, line + offset if line else None) from None
        tallies: dict[str, Any] = {
            name: _native.Tally(tally.count, tally.first_line + offset)
            for name in _TALLIES
            if (tally := getattr(parsed, name)).count
        }
        return replace(parsed, **tallies)


_TALLIES = ("repeated_features", "repeated_labels", "non_finite", "skipped_lines")


def cut_rows(X: Csr) -> Iterator[Csr]:
    """Yield a matrix in blocks of rows."""
    for start in range(0, X.shape[0], ROWS_AT_A_TIME):
        yield X[start : start + ROWS_AT_A_TIME]


def _cut_header(text: bytes) -> tuple[bytes, bytes]:
    """Split text after its first line that is not a comment."""
    end = 0
    while end < len(text):
        begin, end = end, text.find(b"\n", end) + 1 or len(text)
        if not text.startswith(b"#", begin):
            break
    return text[:end], text[end:]


def _added(total: ParsedText, parsed: ParsedText) -> ParsedText:
    """Return the sums of both tallies."""
    sums: dict[str, Any] = {}
    for name in _TALLIES:
        before, now = getattr(total, name), getattr(parsed, name)
        first = before.first_line if before.count else now.first_line
        sums[name] = _native.Tally(before.count + now.count, first)
    return replace(parsed, **sums)
