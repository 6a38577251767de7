"""Thesauri as statements: every format gives what it says about a concept, one fact at a time.

A statement is ``(concept, what, value, language)``. ``defrag.thesaurus`` makes columns of them; the
readers here keep nothing, so that a file of a million concepts costs no more than its columns.
"""

from __future__ import annotations

import os
import unicodedata
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from defrag.exceptions import FormatError
from defrag.io.documents import json_objects, shown
from defrag.io.files import display_name, open_input, without_compression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from defrag.io.files import InputStream, PathLike, ReadLimits

ThesaurusForm: TypeAlias = Literal["jsonl"]
"""A format of thesauri."""

THESAURUS_FORMS: tuple[ThesaurusForm, ...] = get_args(ThesaurusForm)

What: TypeAlias = Literal[
    "preferred", "alternative", "description", "notation", "type", "scheme", "broader",
    "replaced_by", "withdrawn", "concept", "other",
]  # fmt: skip
"""What a statement says; ``concept`` and ``other``: that it is one, or is none."""

Statement: TypeAlias = tuple[str, What, str, str]
"""The id of a concept, what is said of it, the value, and the language of a text or ``""``."""

_BY_SUFFIX: dict[str, ThesaurusForm] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}


@contextmanager
def open_statements(
    path: PathLike, form: ThesaurusForm | None = None, limits: ReadLimits | None = None
) -> Iterator[Iterator[Statement]]:
    """Open a thesaurus to read its statements one by one.

    - Raises ValueError if the format is unknown, or if none is given and the name does not show it.
    - Raises FormatError while reading, if the file violates a rule of its format.
    """
    plain = without_compression(os.fspath(path)).lower()
    form = form or next((one for end, one in _BY_SUFFIX.items() if plain.endswith(end)), None)
    if form not in THESAURUS_FORMS:
        known = ", ".join(THESAURUS_FORMS)
        got = "its name does not show which" if form is None else f"got {form!r}"
        raise ValueError(f"{display_name(path)}: the format must be one of {known}: {got}")
    with open_input(path, limits) as stream:
        yield _READERS[form](stream)


# --- JSON lines: ``{"id": "t1", "name": {"en": "heat pump", "de": "Wärmepumpe"}}``.

_TEXTS: tuple[tuple[str, What], ...] = (
    ("name", "preferred"), ("alternatives", "alternative"), ("description", "description"),
)  # fmt: skip
_KINDS: tuple[tuple[str, type, str], ...] = (
    ("id", str, "a string that is not empty"),
    ("language", str, "the code of a language"),
    ("withdrawn", bool, "true or false"),
)
_WORDS: tuple[What, ...] = ("broader", "type", "scheme", "notation", "replaced_by")


def read_json_lines(stream: InputStream) -> Iterator[Statement]:
    """Yield the statements of a file of JSON lines."""
    for number, item in json_objects(stream):
        yield from statements_of(stream.name, number, item)


def statements_of(file: str, line: int, item: Mapping[str, Any]) -> Iterator[Statement]:
    """Yield what a JSON object says of a concept; see ``Thesaurus.of``."""
    for key, kind, rule in _KINDS:
        if not isinstance(item.get(key, kind()), kind):
            raise _wrong(file, line, item, key, rule)
    (concept,) = _strings(file, line, item, "id", item.get("id") or "")
    yield concept, "concept", "", ""
    if item.get("withdrawn"):
        yield concept, "withdrawn", "", ""
    for key, what in _TEXTS:
        given = item.get(key)
        by_code = given if isinstance(given, dict) else {item.get("language", ""): given}
        for code, values in by_code.items():
            for value in _strings(file, line, item, key, values):
                yield concept, what, value, clean(file, line, code).lower()
    for what in _WORDS:
        for value in _strings(file, line, item, what, item.get(what)):
            yield concept, what, value, ""


def _strings(file: str, line: int, item: Mapping[str, Any], key: str, given: Any) -> list[str]:
    """Return the strings of a value: one, several, or none."""
    values = given if isinstance(given, list) else [] if given is None else [given]
    if not all(isinstance(one, str) and one.strip() for one in values):
        rule = "a string that is not empty" + (", or a list of them" if key != "id" else "")
        raise _wrong(file, line, item, key, rule)
    return [clean(file, line, one) for one in values]


def _wrong(file: str, line: int, item: Mapping[str, Any], key: str, rule: str) -> FormatError:
    got = shown(repr(item[key])) if key in item else "nothing"
    return FormatError(file, f"{key!r} must be {rule}, got {got}", line)


def clean(file: str, line: int | None, text: str) -> str:
    """Return a text in Unicode's normal form C, with single spaces, as texts are read."""
    words = " ".join(text.split())
    if words.isascii():
        return words
    try:
        words.encode()
    except UnicodeEncodeError as error:
        rule = f"a lone surrogate in {shown(words)!r} at character {error.start}"
        raise FormatError(file, rule, line) from None
    return unicodedata.normalize("NFC", words)


_READERS: dict[ThesaurusForm, Callable[[InputStream], Iterator[Statement]]] = {
    "jsonl": read_json_lines
}
