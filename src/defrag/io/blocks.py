"""Data files read block by block, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from defrag import _native
from defrag.exceptions import FormatError
from defrag.io.formats import data_form
from defrag.io.npz import parse_npz
from defrag.io.xmc import FileWarnings, check_declared, parser_warnings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag._native import ParsedText
    from defrag.io.files import InputStream
    from defrag.typing import Csr

__all__ = ["ROWS_AT_A_TIME", "RowBlocks", "cut_rows"]

ROWS_AT_A_TIME = 20_000
"""Rows per block of a matrix in memory."""


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
