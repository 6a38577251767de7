r"""JSON lines: ``{"text": "a fast sorting library", "labels": ["libc6", "perl"]}``.

``title`` and ``content``, joined by a line feed, may replace the text. Labels may also be one
string, which is split by ``label_separator``. Annif's ``subjects`` (objects with a ``uri``) or the
``target_ind`` (numbers) of the Extreme Classification Repository may replace the labels.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from defrag.exceptions import FormatError
from defrag.io.corpora._documents import CorpusOptions, Document, no_labels, numbered_lines, shown
from defrag.io.corpora._label_fields import label_splitter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag.io.files import InputStream

__all__ = ["read_json_lines"]


def read_json_lines(stream: InputStream, options: CorpusOptions) -> Iterator[Document]:
    """Yield the documents of a file of JSON lines; empty lines are skipped."""
    first = True
    for number, line in numbered_lines(stream):
        if line.strip():
            item = _parse(stream.name, number, line)
            labels = _labels(stream.name, number, item, options)
            if first and labels is None and options.labels == "required":
                rule = no_labels("key 'labels', 'subjects' or 'target_ind'", item)
                raise FormatError(stream.name, rule)
            first = False
            yield Document(number, _text(stream.name, number, item, options), labels)


def _parse(name: str, number: int, line: str) -> dict[str, Any]:
    try:
        item = json.loads(line)
    except json.JSONDecodeError as error:
        rule = f"invalid JSON: {error.msg} at character {error.pos}"
        raise FormatError(name, rule, number) from None
    except (RecursionError, ValueError) as error:  # numbers of thousands of digits
        rule = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise FormatError(name, f"invalid JSON: {rule}", number) from None
    if not isinstance(item, dict):
        raise FormatError(name, f"expected a JSON object, got {_shown(item)}", number)
    return item


def _text(name: str, number: int, item: dict[str, Any], options: CorpusOptions) -> str:
    key = "text" if options.text_column is None else options.text_column
    parts = [(key, item[key])] if key in item else []
    if not parts and options.text_column is None:
        parts = [(key, item[key]) for key in ("title", "content") if key in item]
    if not parts:
        expected = "'text', or 'title' and 'content'" if options.text_column is None else repr(key)
        rule = f"expected {expected} among {shown(', '.join(item))}: give --text-column"
        raise FormatError(name, rule, number)
    for key, value in parts:
        if not isinstance(value, str):
            raise FormatError(name, f"{key!r} must be a string, got {_shown(value)}", number)
    return "\n".join(value for _, value in parts)


def _labels(
    name: str, number: int, item: dict[str, Any], options: CorpusOptions
) -> list[str] | None:
    if options.labels == "ignored":
        return None
    keys = _LABELS if options.labels_column is None else ((options.labels_column, *_LABELS[0][1:]),)
    for key, rule, read in keys:
        if key in item:
            labels = read(item[key])
            if read is _names and isinstance(item[key], str) and item[key]:
                try:
                    labels = label_splitter(options)(item[key])
                except ValueError as error:
                    message = f"{error}, or write a list of names"
                    raise FormatError(name, message, number) from None
            if labels is None or not all(labels):
                got = _shown(item[key])
                raise FormatError(name, f"{key!r} must be {rule}, got {got}", number)
            if read is _numbers:
                labels = [options.name_of(name, number, label) for label in labels]
            return labels
    if options.labels_column is not None:
        found = shown(", ".join(item))
        raise FormatError(name, f"no key {options.labels_column!r} among {found}", number)
    return None


def _names(value: Any) -> list[str] | None:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        return None
    return given


def _uris(value: Any) -> list[str] | None:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        return None
    return _names([one.get("uri") for one in value])


def _numbers(value: Any) -> list[str] | None:
    if not isinstance(value, list) or not all(type(one) is int and one >= 0 for one in value):
        return None
    return [str(one) for one in value]


_LABELS = (
    ("labels", "a list of non-empty names", _names),
    ("subjects", "a list of objects with a 'uri'", _uris),
    ("target_ind", "a list of numbers >= 0", _numbers),
)
"""Keys of labels; the first that occurs in a line is used."""


def _shown(value: Any) -> str:
    return shown(json.dumps(value))
