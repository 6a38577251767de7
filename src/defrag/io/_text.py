"""What the readers of text formats share: the parser's errors and warnings, with names."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from defrag import _native
from defrag.exceptions import FormatError, FormatWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag._native import ParsedText
    from defrag.io.files import InputStream

__all__ = ["Remarks", "check_limit", "met", "parse_text"]

_REPEATED_FEATURES = "features stand twice in a line, here first; their values were added up"
_REPEATED_LABELS = "labels stand twice in a line, here first; they count once"
_NON_FINITE = "values are not finite, here first; they were left out"
_SKIPPED_LINES = (
    "empty lines, here first, were skipped; a point without labels and features is a line with "
    "one space"
)


class Remarks:
    """Where a reader says what it did not take literally.

    Parameters
    ----------
    name : str
        The file.
    strict : bool
        Whether a remark is an error instead of a warning.
    """

    def __init__(self, name: str, *, strict: bool) -> None:
        self.name = name
        self.strict = strict

    def add(self, message: str, line: int | None = None) -> None:
        """Warn, or raise where the reader is strict."""
        if self.strict:
            raise FormatError(self.name, message, line)
        place = self.name if line is None else f"{self.name}:{line}"
        warnings.warn(f"{place}: {message}", FormatWarning, stacklevel=4)


def parse_text(stream: InputStream, layout: str, *, strict: bool, **options: Any) -> ParsedText:
    """Parse a stream in one of the parser's layouts and remark upon what it met."""
    parser = _native.TextParser(layout, **options)
    try:
        for text in stream.lines():
            parser.feed(text)
        parsed = parser.finish()
    except _native.ParseError as error:
        line, message = error.args
        raise FormatError(stream.name, message, line or None) from None
    remarks = Remarks(stream.name, strict=strict)
    n_rows = (parsed.labels if layout == "labels" else parsed.pairs).shape[0]
    if parsed.declared_rows is not None and parsed.declared_rows != n_rows:
        remarks.add(f"the header declares {parsed.declared_rows} points, the file has {n_rows}")
    for message, line in met(parsed):
        remarks.add(message, line)
    return parsed


def met(parsed: ParsedText) -> Iterator[tuple[str, int]]:
    """Say what the parser met that it did not take literally, and the line where first."""
    for tally, message in (
        (parsed.repeated_features, _REPEATED_FEATURES),
        (parsed.repeated_labels, _REPEATED_LABELS),
        (parsed.non_finite, _NON_FINITE),
        (parsed.skipped_lines, _SKIPPED_LINES),
    ):
        if tally.count:
            yield f"{tally.count} {message}", tally.first_line


def check_limit(name: str, value: int | None) -> int | None:
    """Check a number of columns that a caller sets."""
    if value is not None and not 0 <= value < 2**31:
        raise ValueError(f"{name} must be in [0, 2**31), got {value!r}")
    return None if value is None else int(value)
