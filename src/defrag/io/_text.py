"""Parsing of text formats, with errors and warnings that name file and line."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from defrag import _native
from defrag.exceptions import FormatError, FormatWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag._native import ParsedText
    from defrag.io.files import InputStream

__all__ = ["FileWarnings", "check_declared", "check_limit", "parse_text", "parser_warnings"]

_REPEATED_FEATURES = "features are repeated in a line, here first; their values were summed"
_REPEATED_LABELS = "labels are repeated in a line, here first; they count once"
_NON_FINITE = "values are not finite, here first; they were dropped"
_SKIPPED_LINES = (
    "empty lines were skipped, here first; a point without labels and features is a line with "
    "one space"
)


class FileWarnings:
    """Warnings about a file, which are errors if ``strict``.

    Parameters
    ----------
    name : str
        Name of the file.
    strict : bool
        Whether to raise FormatError instead of warning.
    """

    def __init__(self, name: str, *, strict: bool) -> None:
        self.name = name
        self.strict = strict

    def add(self, message: str, line: int | None = None, stacklevel: int = 4) -> None:
        """Warn, or raise FormatError if ``strict``."""
        if self.strict:
            raise FormatError(self.name, message, line)
        place = self.name if line is None else f"{self.name}:{line}"
        warnings.warn(f"{place}: {message}", FormatWarning, stacklevel=stacklevel)


def parse_text(
    stream: InputStream,
    layout: str,
    *,
    strict: bool,
    allow_truncated: bool = False,
    **options: Any,
) -> ParsedText:
    """Parse a stream in one of the layouts of the parser and issue its warnings."""
    parser = _native.TextParser(layout, **options)
    try:
        for text in stream.lines():
            parser.feed(text)
        parsed = parser.finish()
    except _native.ParseError as error:
        line, message = error.args
        raise FormatError(stream.name, message, line or None) from None
    for noun, matrix in (
        ("label" if layout == "scores" else "feature", parsed.pairs),
        ("label", parsed.labels),
    ):
        if options.get(f"n_{noun}s") is None:
            stream.limits.check_columns(stream.name, noun, matrix.shape[1], matrix.nnz)
    file_warnings = FileWarnings(stream.name, strict=strict)
    n_rows = (parsed.labels if layout == "labels" else parsed.pairs).shape[0]
    if parsed.declared_rows is not None:
        check_declared(file_warnings, parsed.declared_rows, n_rows, allow_truncated=allow_truncated)
    for message, line in parser_warnings(parsed):
        file_warnings.add(message, line)
    return parsed


def check_declared(
    file_warnings: FileWarnings, declared: int, n_rows: int, *, allow_truncated: bool
) -> None:
    """Compare the declared number of points: warn if there are more, raise if there are fewer."""
    if declared == n_rows:
        return
    message = f"the header declares {declared} points, the file has {n_rows}"
    if declared > n_rows and not allow_truncated:
        message += "; a truncated file is read only with allow_truncated"
        raise FormatError(file_warnings.name, message)
    file_warnings.add(message, stacklevel=5)


def parser_warnings(parsed: ParsedText) -> Iterator[tuple[str, int]]:
    """Yield the warnings of the parser, each with the first line it concerns."""
    for tally, message in (
        (parsed.repeated_features, _REPEATED_FEATURES),
        (parsed.repeated_labels, _REPEATED_LABELS),
        (parsed.non_finite, _NON_FINITE),
        (parsed.skipped_lines, _SKIPPED_LINES),
    ):
        if tally.count:
            yield f"{tally.count} {message}", tally.first_line


def check_limit(name: str, value: int | None) -> int | None:
    """Return a number of columns, or raise ValueError if it is out of range."""
    if value is not None and not 0 <= value < 2**31:
        raise ValueError(f"{name} must be in [0, 2**31), got {value!r}")
    return None if value is None else int(value)
