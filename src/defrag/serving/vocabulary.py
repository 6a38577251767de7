"""The subjects that labels stand for: names and notations of URIs."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

__all__ = ["Subject", "Vocabulary", "read_vocabulary"]

UNDETERMINED = "und"
"""The language of BCP 47 for what has none."""


class Subject(NamedTuple):
    """What a URI stands for."""

    name: str
    notation: str | None


@dataclass(frozen=True)
class Vocabulary:
    """The subjects that may be suggested.

    Attributes
    ----------
    name : str
        What it is called.
    language : str
        The language of the names.
    subjects : dict
        The subjects by URI.
    """

    name: str
    language: str
    subjects: dict[str, Subject]


def read_vocabulary(path: str, language: str | None = None) -> Vocabulary:
    """Read a vocabulary in one of Annif's forms.

    Parameters
    ----------
    path : str
        Lines ``<uri><TAB>name`` with an optional notation behind another tab, or, if it ends
        with ``.csv``, a table with the columns ``uri``, ``label_fi`` (or another language) and
        optionally ``notation``.
    language : str, optional
        The language of the names. Default: of a table, that of the first column of names;
        otherwise ``und``.

    Raises
    ------
    ValueError
        If the file is in neither form, with its line.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: is not UTF-8") from error
    if path.endswith(".csv"):
        language, subjects = _table(path, text, language)
    else:
        subjects = _lines(path, text)
    if not subjects:
        raise ValueError(f"{path}: has no subjects")
    return Vocabulary(Path(path).stem, language or UNDETERMINED, subjects)


def _lines(path: str, text: str) -> dict[str, Subject]:
    subjects = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        uri, *others = line.split("\t")
        if not (uri.startswith("<") and uri.endswith(">") and uri[1:-1] and others):
            raise ValueError(f"{path}:{number}: must be <uri>, a tab and a name, got {line!r:.60}")
        notation = others[1].strip() if len(others) > 1 else ""
        subjects[uri[1:-1]] = Subject(others[0].strip(), notation or None)
    return subjects


def _table(path: str, text: str, language: str | None) -> tuple[str, dict[str, Subject]]:
    rows = csv.DictReader(text.splitlines())
    columns = [name for name in rows.fieldnames or () if name.startswith("label_")]
    wanted = f"label_{language}" if language else next(iter(columns), "label_")
    if "uri" not in (rows.fieldnames or ()) or wanted not in columns:
        raise ValueError(f"{path}:1: must have the columns uri and {wanted}")
    subjects = {}
    for row in rows:
        if row["uri"] and row[wanted]:  # a subject without a name is a deprecated one
            subjects[row["uri"]] = Subject(row[wanted], row.get("notation") or None)
    return wanted.removeprefix("label_"), subjects
