"""Vocabularies: names and notations of labels that are URIs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from defrag.exceptions import FormatError
from defrag.io.documents import csv_records, numbered_lines, shown
from defrag.io.files import display_name, open_input, without_compression

if TYPE_CHECKING:
    from defrag.io.files import InputStream, ReadLimits

__all__ = ["Subject", "Vocabulary", "read_vocabulary"]

UNDETERMINED = "und"
"""The BCP 47 code of an undetermined language."""


class Subject(NamedTuple):
    """The name and the notation of a URI."""

    name: str
    notation: str | None


@dataclass(frozen=True)
class Vocabulary:
    """The subjects that may be suggested."""

    # Its name.
    name: str
    # The language of the names.
    language: str
    # The subjects by URI.
    subjects: dict[str, Subject]


def read_vocabulary(
    path: str, language: str | None = None, *, limits: ReadLimits | None = None
) -> Vocabulary:
    """Read a vocabulary in one of Annif's formats.

    - ``path``: lines ``<uri><TAB>name``, optionally followed by a tab and a notation, or, if the
      name ends in ``.csv``, a table with the columns ``uri``, ``label_fi`` (or another language)
      and optionally ``notation``. Either may be compressed.
    - ``language`` (optional): language of the names. Default: that of the first column of names in
      a table, otherwise ``und``.
    - ``limits`` (optional): limits on the cost of reading.
    - Raises FormatError if the file is in neither format; names the line.
    """
    plain = without_compression(path)
    with open_input(path, limits) as stream:
        if plain.endswith(".csv"):
            language, subjects = _table(stream, language)
        else:
            subjects = _lines(stream)
    if not subjects:
        raise FormatError(display_name(path), "has no subjects")
    return Vocabulary(Path(plain).stem, language or UNDETERMINED, subjects)


def _lines(stream: InputStream) -> dict[str, Subject]:
    subjects = {}
    for number, line in numbered_lines(stream):
        if not line.strip():
            continue
        uri, *others = line.split("\t")
        if not (uri.startswith("<") and uri.endswith(">") and uri[1:-1] and others):
            rule = f"must be <uri>, a tab and a name, got {shown(line)!r}"
            raise FormatError(stream.name, rule, number)
        notation = others[1].strip() if len(others) > 1 else ""
        subjects[uri[1:-1]] = Subject(others[0].strip(), notation or None)
    return subjects


def _table(stream: InputStream, language: str | None) -> tuple[str, dict[str, Subject]]:
    records = csv_records(stream)
    first, header = next(records, (1, []))
    columns = [name for name in header if name.startswith("label_")]
    wanted = f"label_{language}" if language else next(iter(columns), "label_")
    if "uri" not in header or wanted not in columns:
        raise FormatError(stream.name, f"must have the columns uri and {wanted}", first)
    subjects = {}
    for number, fields in records:
        if len(fields) != len(header):
            rule = f"{len(fields)} columns, but the header has {len(header)}"
            raise FormatError(stream.name, rule, number)
        row = dict(zip(header, fields, strict=True))
        if row["uri"] and row[wanted]:  # deprecated subjects have no names
            subjects[row["uri"]] = Subject(row[wanted], row.get("notation") or None)
    return wanted.removeprefix("label_"), subjects
