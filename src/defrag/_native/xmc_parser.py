"""Parser of text formats; see ``cpp/core/xmc_parser.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from defrag import _core

if TYPE_CHECKING:
    from defrag.typing import Csr

__all__ = ["ParsedText", "TextParser"]


@dataclass(frozen=True)
class ParsedText:
    """Features or scores, and labels; a matrix that the layout does not have has no rows."""

    pairs: Csr
    labels: Csr
    declared_rows: int | None
    repeated_features: _core.Tally
    repeated_labels: _core.Tally
    non_finite: _core.Tally
    skipped_lines: _core.Tally


class TextParser:
    """Incremental parser of text, which is passed as chunks of whole lines."""

    def __init__(self, layout: str, **options: Any) -> None:
        self._parser = _core.TextParser(_core.TextLayout[layout], **options)

    def feed(self, text: bytes) -> None:
        """Parse the next lines; only the last line of the text may lack a line feed."""
        self._parser.feed(text if text.endswith(b"\n") else text + b"\n")

    def take_rows(self) -> ParsedText:
        """Return the rows parsed since the last call, with the tallies of all rows so far.

        ``declared_rows`` is None until the header has been parsed.
        """
        return ParsedText(*self._parser.take_rows())

    def finish(self) -> ParsedText:
        """Return the remaining rows, after the last line."""
        return ParsedText(*self._parser.finish())
