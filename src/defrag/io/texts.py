r"""Texts and label names, one JSON object per line.

``{"text": "a fast sorting library", "labels": ["libc6", "perl"]}``; a title and a content may
stand for the text, and a file of texts alone has no labels.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from defrag.exceptions import FormatError
from defrag.io.files import open_input

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag.io.files import InputStream, PathLike
    from defrag.io.limits import ReadLimits

__all__ = ["LabelledTexts", "read_texts"]

_SHOWN = 60


class LabelledTexts(NamedTuple):
    """Texts, and the names of their labels where the file has any."""

    texts: list[str]
    labels: list[list[str]] | None


def read_texts(path: PathLike, *, limits: ReadLimits | None = None) -> LabelledTexts:
    r"""Read texts and the names of their labels from a file of JSON lines.

    Parameters
    ----------
    path : path
        The file, encoded as UTF-8; may be compressed, ``-`` is standard input. Empty lines are
        skipped.
    limits : ReadLimits, optional
        Bounds of what reading may cost.

    Returns
    -------
    texts : list of str
        The ``text`` of each line, or its ``title`` and ``content`` joined by a line feed.
    labels : list of lists of str, or None
        The ``labels`` of each line; None if no line has any.

    Raises
    ------
    FormatError
        If a line is no such object, or if only some lines have labels.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import read_texts
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "docs.jsonl"
    >>> _ = path.write_text('{"text": "quick sort", "labels": ["sorting"]}\n')
    >>> read_texts(path)
    LabelledTexts(texts=['quick sort'], labels=[['sorting']])
    """
    texts: list[str] = []
    labels: list[list[str]] = []
    with open_input(path, limits) as stream:
        for number, line in _numbered_lines(stream):
            item = _parse(stream.name, number, line)
            texts.append(_text(stream.name, number, item))
            if "labels" in item:
                labels.append(_labels(stream.name, number, item["labels"]))
            if 0 < len(labels) < len(texts):
                rule = "a line without labels, but others have them"
                raise FormatError(stream.name, rule, number)
        if not texts:
            raise FormatError(stream.name, "has no texts")
    return LabelledTexts(texts, labels or None)


def _numbered_lines(stream: InputStream) -> Iterator[tuple[int, bytes]]:
    number = 0
    for run in stream.lines():
        for line in run.removeprefix(b"\xef\xbb\xbf" if number == 0 else b"").splitlines():
            number += 1
            if line.strip():
                yield number, line


def _parse(name: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        item = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise FormatError(
            name, f"invalid UTF-8 at byte {error.start} of the line", number
        ) from None
    except json.JSONDecodeError as error:
        rule = f"invalid JSON: {error.msg} at character {error.pos}"
        raise FormatError(name, rule, number) from None
    except RecursionError:
        raise FormatError(name, "invalid JSON: nested too deep", number) from None
    if not isinstance(item, dict):
        raise FormatError(name, f"expected a JSON object, got {_shown(item)}", number)
    return item


def _text(name: str, number: int, item: dict[str, Any]) -> str:
    if "text" in item:
        parts = [("text", item["text"])]
    else:
        parts = [(key, item[key]) for key in ("title", "content") if key in item]
    if not parts:
        raise FormatError(name, "expected 'text', or 'title' and 'content'", number)
    for key, value in parts:
        if not isinstance(value, str):
            raise FormatError(name, f"{key!r} must be a string, got {_shown(value)}", number)
    return "\n".join(value for _, value in parts)


def _labels(name: str, number: int, value: Any) -> list[str]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(one, str) and one for one in given):
        rule = f"'labels' must be a list of names that are not empty, got {_shown(value)}"
        raise FormatError(name, rule, number)
    return given


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
