"""Labels that are written as one string, and how it is split."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING

from defrag.exceptions import FormatWarning
from defrag.io.corpora._documents import CorpusOptions, shown

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["label_splitter", "space_splitter", "split_uris"]

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
