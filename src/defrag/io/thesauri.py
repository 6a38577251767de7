"""Thesauri as statements: every format gives what it says about a concept, one fact at a time.

A statement is ``(concept, what, value, language)``. ``defrag.thesaurus`` makes columns of them; the
readers here keep nothing, so that a file of a million concepts costs no more than its columns.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Literal, TypeAlias, get_args

from defrag.exceptions import FormatError
from defrag.io.documents import (
    counted,
    csv_records,
    few_columns,
    json_objects,
    numbered_lines,
    shown,
)
from defrag.io.files import InputStream, PathLike, ReadLimits, check_form, open_input
from defrag.io.triples import Triple, read_n_triples, read_rdf_xml, read_turtle

ThesaurusForm: TypeAlias = Literal["jsonl", "csv", "tsv", "turtle", "n-triples", "rdf-xml"]
"""A format of thesauri."""

THESAURUS_FORMS: tuple[ThesaurusForm, ...] = get_args(ThesaurusForm)

What: TypeAlias = Literal[
    "preferred", "alternative", "description", "notation", "type", "scheme", "broader",
    "replaced_by", "withdrawn", "concept", "other",
]  # fmt: skip
"""What a statement says; ``concept`` and ``other``: that it is one, or is none."""

Statement: TypeAlias = tuple[str, What, str, str]
"""The id of a concept, what is said of it, the value, and the language of a text or ``""``."""

_BY_SUFFIX: dict[str, ThesaurusForm] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv",
    ".ttl": "turtle", ".nt": "n-triples", ".rdf": "rdf-xml", ".xml": "rdf-xml",
}  # fmt: skip


@contextmanager
def open_statements(
    path: PathLike, form: ThesaurusForm | None = None, limits: ReadLimits | None = None
) -> Iterator[Iterator[Statement]]:
    """Open a thesaurus to read its statements one by one; the format shows in the name."""
    known = check_form(path, form, _BY_SUFFIX, THESAURUS_FORMS)
    with open_input(path, limits) as stream:
        yield _READERS[known](stream)


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


# --- Tables: with a header, columns as the keys above, such as ``name_de``; or ``<uri><TAB>name``.
#
# Annif's words are understood: ``uri`` for ``id``, ``label_de`` for ``name_de``. A field of several
# values has bars between them. Lines without a header are Annif's: a URI, a name, a notation.

_COLUMNS = re.compile(
    r"(uri|id|label|name|alternatives|description|broader|type|scheme|notation|replaced_by|"
    r"withdrawn)(?:_([a-z]{2,3}(?:-[A-Za-z0-9]+)*))?"
)
_SYNONYMS = {"uri": "id", "label": "name"}


def read_csv(stream: InputStream) -> Iterator[Statement]:
    """Yield the statements of a comma-separated table."""
    return _table_statements(stream, csv_records(stream))


def read_tsv(stream: InputStream) -> Iterator[Statement]:
    """Yield the statements of a tab-separated table, or of Annif's lines without a header."""
    found = few_columns(stream, numbered_lines(stream), "\t")
    lines = ((number, line.split("\t")) for number, line in found if line.strip())
    first = next(lines, None)
    if first is None or {"id", "uri"} & set(first[1]):
        yield from _table_statements(stream, chain([first] if first else [], lines))
        return
    for number, fields in chain([first], lines):
        uri = fields[0].strip().removeprefix("<").removesuffix(">")
        if not uri or len(fields) not in {2, 3}:
            rule = "expected <uri><TAB>name, perhaps <TAB>notation"
            got = shown("\t".join(fields))
            raise FormatError(stream.name, f"{rule}, got {got!r}", number)
        item = dict(zip(("id", "name", "notation"), (uri, *fields[1:]), strict=False))
        yield from statements_of(stream.name, number, {k: v for k, v in item.items() if v.strip()})


def _table_statements(
    stream: InputStream, records: Iterator[tuple[int, list[str]]]
) -> Iterator[Statement]:
    first, header = next(records, (1, []))
    columns = [_COLUMNS.fullmatch(name.strip()) for name in header]
    keys = ["" if one is None else _SYNONYMS.get(one[1], one[1]) for one in columns]
    if "id" not in keys or "name" not in keys:
        rule = f"must have the columns id and name, got {shown(', '.join(header)) or 'nothing'}"
        raise FormatError(stream.name, rule, first)
    for number, fields in records:
        if len(fields) != len(header):
            rule = f"{counted(len(fields), 'column')}, but the header has {len(header)}"
            raise FormatError(stream.name, rule, number)
        item: dict[str, Any] = {}
        for key, column, field in zip(keys, columns, fields, strict=True):
            if column is None or not field.strip():
                continue
            if key == "id":
                item["id"] = field
            elif key == "withdrawn":
                item[key] = field.strip().lower() not in {"0", "false", "no"}
            elif key in _WORDS:
                item.setdefault(key, []).extend(_several(field))
            else:
                texts = item.setdefault(key, {}).setdefault(column[2] or "", [])
                texts.extend(_several(field) if key == "alternatives" else [field])
        yield from statements_of(stream.name, number, item)


def _several(field: str) -> list[str]:
    return [one for one in field.split("|") if one.strip()]


# --- RDF: SKOS, and the ontology of the GND, whose properties have a name per kind of concept.

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_DCT = "http://purl.org/dc/terms/"
_GND = "https://d-nb.info/standards/elementset/gnd#"
_RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_PROPERTIES: dict[str, str] = {
    f"{_SKOS}prefLabel": "preferred",
    f"{_SKOS}altLabel": "alternative",
    f"{_SKOS}hiddenLabel": "alternative",
    f"{_SKOS}definition": "description",
    f"{_SKOS}notation": "notation",
    f"{_SKOS}broader": "broader",
    f"{_SKOS}narrower": "narrower",
    f"{_SKOS}inScheme": "scheme",
    f"{_SKOS}topConceptOf": "scheme",
    f"{_DCT}description": "description",
    f"{_DCT}isReplacedBy": "replaced_by",
    f"{_GND}definition": "description",
    f"{_GND}gndIdentifier": "notation",
    "http://www.w3.org/2002/07/owl#deprecated": "withdrawn",
    _RDF_TYPE: "type",
}
_GND_FAMILIES = {
    "preferredName": "preferred", "variantName": "alternative", "broaderTerm": "broader",
}  # fmt: skip
_NO_CONCEPTS = {
    f"{_SKOS}{word}" for word in ("ConceptScheme", "Collection", "OrderedCollection")
} | {
    "http://purl.org/iso25964/skos-thes#ConceptGroup",
    "http://purl.org/iso25964/skos-thes#ThesaurusArray",
}


@lru_cache  # not of all, since a file may have as many as it has triples
def _property(predicate: str) -> str | None:
    """Return what a predicate says of a concept, None if nothing."""
    found = _PROPERTIES.get(predicate)
    if found is None and predicate.startswith(_GND):
        word = predicate.removeprefix(_GND)
        return next((what for start, what in _GND_FAMILIES.items() if word.startswith(start)), None)
    return found


def _statements_of_triples(
    read: Callable[[InputStream, Callable[[str], Any]], Iterator[Triple]], stream: InputStream
) -> Iterator[Statement]:
    for line, subject, predicate, value, literal, language in read(stream, _property):
        what: Any = _property(predicate)
        concept, text = clean(stream.name, line, subject), clean(stream.name, line, value)
        if subject.startswith("_:") or not text or not concept:
            continue
        if literal != (what in _LITERAL) and what != "notation":
            continue  # such as a definition that is a node of its own
        if what == "type" and text == f"{_SKOS}Concept":
            yield concept, "concept", "", ""
        elif what == "type" and text in _NO_CONCEPTS:
            yield concept, "other", "", ""
        elif what == "withdrawn":
            if text in {"true", "1"}:
                yield concept, "withdrawn", "", ""
        elif what == "narrower":
            yield text, "broader", concept, ""
        else:
            yield concept, what, text, language.lower()


_LITERAL = {"preferred", "alternative", "description", "withdrawn"}


_READERS: dict[ThesaurusForm, Callable[[InputStream], Iterator[Statement]]] = {
    "jsonl": read_json_lines,
    "csv": read_csv,
    "tsv": read_tsv,
    "turtle": partial(_statements_of_triples, read_turtle),
    "n-triples": partial(_statements_of_triples, read_n_triples),
    "rdf-xml": partial(_statements_of_triples, read_rdf_xml),
}
