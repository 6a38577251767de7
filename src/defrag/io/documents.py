"""Documents, options and numbered lines, shared by the readers of all corpus formats."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from defrag.exceptions import FormatError, FormatWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from defrag.io.files import InputStream, PathLike

__all__ = [
    "CorpusOptions",
    "Document",
    "counted",
    "label_splitter",
    "no_labels",
    "numbered_lines",
    "shown",
    "space_splitter",
    "split_uris",
]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SHOWN = 60


class Document(NamedTuple):
    """A text of a corpus.

    Attributes
    ----------
    line : int or None
        Its first line, counted from 1; None if the text is a file of its own.
    text : str
        The text.
    labels : list of str or None
        The names of its labels; None if the corpus does not list labels for it.
    file : str or None
        Its own file, if the corpus is a folder.
    """

    line: int | None
    text: str
    labels: list[str] | None
    file: str | None = None


@dataclass(frozen=True)
class CorpusOptions:
    """How a corpus is read, as far as the file does not show it; each format uses some options.

    Parameters
    ----------
    text_column, labels_column : str, optional
        Names of the columns of a table, or keys of JSON lines.
    label_separator : str, optional
        Separator of labels that are written as one string; ``"space"`` for any white space,
        ``"none"`` if each string is one label.
    labels_path : path, optional
        The file with the labels, if ``path`` has texts only.
    label_names : sequence of str, optional
        The names of labels that are numbers.
    labels : {"optional", "required", "ignored"}
        Whether a corpus may have no labels, and whether they are read at all.

    Raises
    ------
    ValueError
        If the separator is empty.
    """

    text_column: str | None = None
    labels_column: str | None = None
    label_separator: str | None = None
    labels_path: PathLike | None = None
    label_names: Sequence[str] | None = None
    labels: Literal["optional", "required", "ignored"] = "optional"

    def __post_init__(self) -> None:
        if self.label_separator == "":
            raise ValueError("the label separator must not be empty: give space for white space")

    def name_of(self, file: str, line: int, label: str) -> str:
        """Return the name of a label given by number, or the number if there are no names."""
        if self.label_names is None:
            return label
        if len(label) > 10 or int(label) >= len(self.label_names):
            rule = f"label {shown(label)}, but there are {len(self.label_names)} label names"
            raise FormatError(file, rule, line)
        return self.label_names[int(label)]


def numbered_lines(stream: InputStream) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file as strings, with their numbers, counted from 1.

    Lines end with a line feed; a carriage return before it is dropped. Other Unicode line
    separators are part of the text.

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
    """Return a value for an error message, truncated if it is long."""
    return value if len(value) <= _SHOWN else value[: _SHOWN - 3] + "..."


def no_labels(expected: str, found: Iterable[str]) -> str:
    """Return the message for a corpus whose columns or keys do not include labels."""
    return f"has no labels: no {expected} among {shown(', '.join(found))}: give --labels-column"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1.

    Examples
    --------
    >>> counted(1, "column"), counted(2, "column")
    ('1 column', '2 columns')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


# --- Labels that are written as one string, and how it is split.

_PUNCTUATION = re.compile("[,;|]")


def label_splitter(options: CorpusOptions) -> Callable[[str], list[str]]:
    """Return a function that splits the labels in a string.

    Without a separator in the options the string must be one label: the function raises
    ValueError if it has white space, a comma, a semicolon or a bar.

    Examples
    --------
    >>> label_splitter(CorpusOptions(label_separator=";"))("sorting; machine learning")
    ['sorting', 'machine learning']
    """
    separator = options.label_separator
    if separator is None:
        return _one_name
    if separator == "none":
        return lambda field: [field] if field else []
    words = None if separator == "space" else separator
    return lambda field: [name for name in map(str.strip, field.split(words)) if name]


def space_splitter(options: CorpusOptions, file: str) -> Callable[[int, str], list[str]]:
    """Return a function of a line number and labels that the format separates by spaces.

    The function warns about the first name with a comma, a semicolon or a bar, which may be
    several labels. A separator in the options replaces the spaces, and there is no warning.
    """
    if options.label_separator is not None:
        split = label_splitter(options)
        return lambda _, field: split(field)
    warned = False

    def split_at_spaces(line: int, field: str) -> list[str]:
        nonlocal warned
        names = field.split()
        if not warned and _PUNCTUATION.search(field):
            warned = _warn_about_first(names, f"{file}:{line}")
        return names

    return split_at_spaces


def _warn_about_first(names: list[str], place: str) -> bool:
    """Warn if a name may be several labels; return whether one may. URIs are one."""
    for name in names:
        found = _PUNCTUATION.search(name)
        if found and "://" not in name:
            message = (
                f"{place}: {shown(name)!r} is read as one label: give --label-separator "
                f"'{found.group()}' if it is several, or space if it is one"
            )
            warnings.warn(message, FormatWarning, stacklevel=4)
            return True
    return False


def _one_name(field: str) -> list[str]:
    """Return the name in a field; raise ValueError if the field may have several."""
    found = _PUNCTUATION.search(field) or re.search(r"\s", field.strip())
    if found:
        separator = "space" if found.group().isspace() else f"'{found.group()}'"
        raise ValueError(
            f"labels {shown(field)!r} may be several: give --label-separator {separator}, or "
            "none if they are one"
        )
    return [field] if field else []


def split_uris(field: str) -> list[str]:
    """Split URIs at white space and remove the angle brackets of Annif.

    Raises
    ------
    ValueError
        If a URI is empty.
    """
    uris = [word.removeprefix("<").removesuffix(">") for word in field.split()]
    if not all(uris):
        raise ValueError(f"an empty URI in {shown(field)}")
    return uris
