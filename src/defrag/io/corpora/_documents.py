"""What the readers of all formats of corpora share: documents, options, numbered lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from defrag.exceptions import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from defrag.io.files import InputStream, PathLike

__all__ = ["CorpusOptions", "Document", "numbered_lines", "shown"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SHOWN = 60


class Document(NamedTuple):
    """A text of a corpus.

    Attributes
    ----------
    line : int or None
        The line it begins at, counted from 1; None if it has a file of its own.
    text : str
        The text.
    labels : list of str or None
        The names of its labels; None if it has none to tell, not even an empty list.
    file : str or None
        Its own file, if the corpus is a folder.
    """

    line: int | None
    text: str
    labels: list[str] | None
    file: str | None = None


@dataclass(frozen=True)
class CorpusOptions:
    """What a reader cannot know from the file; each format has a use for some of it.

    Parameters
    ----------
    text_column, labels_column : str, optional
        Names of the columns of a table.
    label_separator : str, optional
        What separates the labels in a column; ``"space"`` for any white space, ``"none"`` if
        each is one label.
    labels_path : path, optional
        The file with the labels of a file that has texts alone.
    label_names : sequence of str, optional
        The names of labels that are numbers.
    """

    text_column: str | None = None
    labels_column: str | None = None
    label_separator: str | None = None
    labels_path: PathLike | None = None
    label_names: Sequence[str] | None = None

    def name_of(self, file: str, line: int, label: str) -> str:
        """Return the name of a label that is a number; without names, the number itself."""
        if self.label_names is None:
            return label
        if len(label) > 10 or int(label) >= len(self.label_names):
            rule = f"label {shown(label)}, but there are {len(self.label_names)} label names"
            raise FormatError(file, rule, line)
        return self.label_names[int(label)]


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
