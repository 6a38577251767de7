"""What the readers of all formats of corpora share: documents, options, numbered lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from defrag.exceptions import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag.io.files import InputStream

__all__ = ["CorpusOptions", "Document", "numbered_lines", "shown"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SHOWN = 60


class Document(NamedTuple):
    """A text of a corpus.

    Attributes
    ----------
    line : int
        The line it begins at, counted from 1.
    text : str
        The text.
    labels : list of str or None
        The names of its labels; None if it has none to tell, not even an empty list.
    """

    line: int
    text: str
    labels: list[str] | None


@dataclass(frozen=True)
class CorpusOptions:
    """What a reader cannot know from the file; each format has a use for some of it."""


def numbered_lines(stream: InputStream) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file as strings, with their numbers, which count from 1.

    Lines end with a line feed, and a carriage return before it is dropped; other characters
    that separate lines somewhere are part of a text.

    Raises
    ------
    FormatError
        If a line is not UTF-8.
    """
    number = 0
    for run in stream.lines():
        lines = (run.removeprefix(_BYTE_ORDER_MARK) if number == 0 else run).split(b"\n")
        if not lines[-1]:
            lines.pop()
        for line in lines:
            number += 1
            try:
                yield number, line.removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                rule = f"invalid UTF-8 at byte {error.start} of the line"
                raise FormatError(stream.name, rule, number) from None


def shown(value: str) -> str:
    """Return a value as error messages show it, cut after some characters."""
    return value if len(value) <= _SHOWN else value[: _SHOWN - 3] + "..."
