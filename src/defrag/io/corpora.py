"""The formats of corpora, and detection of the format of a file."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from defrag.exceptions import FormatError
from defrag.io.documents import (
    CorpusOptions,
    Document,
    counted,
    label_splitter,
    no_labels,
    numbered_lines,
    shown,
    space_splitter,
    split_uris,
)
from defrag.io.files import display_name, open_input, without_compression
from defrag.io.parquet import is_parquet, read_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from defrag.io.files import InputStream, PathLike, ReadLimits

__all__ = [
    "CORPUS_FORMS",
    "Corpus",
    "CorpusForm",
    "corpus_form",
    "csv_records",
    "likely_forms",
    "open_corpus",
]

# --- Formats with one text per line: Annif, fastText, PECOS, LibMultiLabel and plain texts.
#
# =============  =============================================================
# annif          ``text<TAB><uri> <uri>``
# fasttext       ``__label__a __label__b text``
# pecos          ``0,3<TAB>text``, or with relevances ``0::0.5,3::1<TAB>text``
# libmultilabel  ``id<TAB>label label<TAB>text``
# lines          ``text``; the labels are in another file, separated by spaces
# =============  =============================================================

_PREFIX = "__label__"
PECOS_LABEL = re.compile(r"([0-9]+)(?:::([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?))?")
"""A label of PECOS: its number and, optionally, its relevance."""


def read_annif(stream: InputStream, options: CorpusOptions) -> Iterator[Document]:
    """Yield the documents of a file in Annif's format: a text, a tab, URIs."""
    for number, line in numbered_lines(stream):
        if not line:
            continue
        text, tab, uris = line.partition("\t")
        if options.labels == "ignored" and "\t" not in uris:
            yield Document(number, text, None)
            continue
        if not tab or "\t" in uris:
            n_columns = counted(line.count("\t") + 1, "column")
            rule = f"expected text<TAB><uri> <uri>, got {n_columns}"
            raise FormatError(stream.name, rule, number)
        try:
            labels = split_uris(uris)
        except ValueError as error:
            raise FormatError(stream.name, str(error), number) from None
        yield Document(number, text, labels)


def read_fasttext(stream: InputStream, options: CorpusOptions) -> Iterator[Document]:
    """Yield the documents of a file in fastText's format: labels with a prefix, then the text."""
    for number, line in numbered_lines(stream):
        if not line.strip():
            continue
        words, labels = line, []
        while (words := words.lstrip(" \t")).startswith(_PREFIX):
            label, *rest = re.split("[ \t]", words, maxsplit=1)
            if label == _PREFIX and options.labels != "ignored":
                raise FormatError(stream.name, f"{_PREFIX} without a name", number)
            labels.append(label.removeprefix(_PREFIX))
            words = rest[0] if rest else ""
        yield Document(number, words, None if options.labels == "ignored" else labels)


def read_pecos(stream: InputStream, options: CorpusOptions) -> Iterator[Document]:
    """Yield the documents of a file in PECOS's format: numbers of labels, a tab, a text."""
    for number, line in numbered_lines(stream):
        if not line:
            continue
        ids, tab, text = line.partition("\t")
        if not tab:
            raise FormatError(stream.name, "expected labels<TAB>text, got no tab", number)
        if options.labels == "ignored":
            yield Document(number, text, None)
            continue
        labels = []
        for word in ids.split(",") if ids.strip() else []:
            match = PECOS_LABEL.fullmatch(word.strip())
            if match is None:
                rule = f"expected numbers of labels, got {shown(word)!r}"
                raise FormatError(stream.name, rule, number)
            if match.group(2) is None or float(match.group(2)) > 0:  # the relevance
                label = match.group(1).lstrip("0") or "0"
                labels.append(options.name_of(stream.name, number, label))
        yield Document(number, text, labels)


def read_libmultilabel(stream: InputStream, options: CorpusOptions) -> Iterator[Document]:
    """Yield the documents of a file in LibMultiLabel's format: an id, labels, a text."""
    split = space_splitter(options, stream.name)
    for number, line in numbered_lines(stream):
        if not line:
            continue
        columns = line.split("\t")
        if len(columns) != 3:
            n_columns = counted(len(columns), "column")
            raise FormatError(
                stream.name, f"expected id<TAB>labels<TAB>text, got {n_columns}", number
            )
        labels = None if options.labels == "ignored" else split(number, columns[1])
        yield Document(number, columns[2], labels)


def read_lines(stream: InputStream, options: CorpusOptions) -> Iterator[Document]:
    """Yield the lines of a file, with the labels of the same lines of another file."""
    if options.labels_path is None or options.labels == "ignored":
        yield from (Document(number, line, None) for number, line in numbered_lines(stream))
        return
    with open_input(options.labels_path, stream.limits) as labels:
        split = space_splitter(options, labels.name)
        others = numbered_lines(labels)
        number = 0
        for number, line in numbered_lines(stream):
            _, names = next(others, (0, None))
            if names is None:
                raise FormatError(labels.name, f"ends before line {number} of {stream.name}")
            yield Document(number, line, split(number, names))
        for extra, _ in others:
            rule = f"a line more than {stream.name}, which has {number}"
            raise FormatError(labels.name, rule, extra)


# --- Tables with a header: comma-separated (csv) or tab-separated (tsv).
#
# The columns ``text`` (or ``title`` and ``content``) and ``labels`` are read, or Annif's
# ``subject_uris``, or those named by the options. In a csv file a field may be quoted, as in RFC
# 4180; in a tsv file a quote is an ordinary character.

_QUOTED = re.compile(r'"([^"]*(?:""[^"]*)*)"(?=,|\Z)')
_PLAIN = re.compile(r"[^,]*")
_URI_COLUMN = "subject_uris"


def read_csv(stream: InputStream, options: CorpusOptions) -> Iterator[Document]:
    """Yield the documents of a comma-separated table."""
    return _read(stream, options, csv_records(stream))


def read_tsv(stream: InputStream, options: CorpusOptions) -> Iterator[Document]:
    """Yield the documents of a tab-separated table."""
    records = ((number, line.split("\t")) for number, line in numbered_lines(stream) if line)
    return _read(stream, options, records)


def _read(
    stream: InputStream, options: CorpusOptions, records: Iterator[tuple[int, list[str]]]
) -> Iterator[Document]:
    first = next(records, None)
    if first is None:
        return
    number, header = first
    texts = _places_of_texts(stream.name, number, header, options)
    labels = _place_of_labels(stream.name, number, header, options)
    uris = labels is not None and header[labels] == _URI_COLUMN and options.label_separator is None
    split = split_uris if uris else label_splitter(options)
    for line, fields in records:
        if len(fields) != len(header):
            rule = f"{counted(len(fields), 'column')}, but the header has {len(header)}"
            raise FormatError(stream.name, rule, line)
        text = "\n".join(fields[column] for column in texts)
        try:
            names = None if labels is None else split(fields[labels])
        except ValueError as error:
            raise FormatError(stream.name, str(error), line) from None
        yield Document(line, text, names)


def _places_of_texts(name: str, line: int, header: list[str], options: CorpusOptions) -> list[int]:
    column, count = Counter(header).most_common(1)[0]
    if count > 1:
        raise FormatError(name, f"the header has {shown(column)!r} more than once", line)
    if options.text_column is not None:
        return [_find(name, line, header, options.text_column)]
    if "text" in header:
        return [header.index("text")]
    found = [header.index(column) for column in ("title", "content") if column in header]
    if not found:
        columns = shown(", ".join(header))
        rule = f"no column 'text' in the header ({columns}): give --text-column"
        raise FormatError(name, rule, line)
    return found


def _place_of_labels(name: str, line: int, header: list[str], options: CorpusOptions) -> int | None:
    if options.labels == "ignored":
        return None
    if options.labels_column is not None:
        return _find(name, line, header, options.labels_column)
    found = next(
        (header.index(column) for column in ("labels", _URI_COLUMN) if column in header), None
    )
    if found is None and options.labels == "required":
        raise FormatError(name, no_labels(f"column 'labels' or {_URI_COLUMN!r}", header))
    return found


def _find(name: str, line: int, header: list[str], column: str) -> int:
    if column not in header:
        columns = shown(", ".join(header))
        raise FormatError(name, f"no column {column!r} in the header ({columns})", line)
    return header.index(column)


def csv_records(stream: InputStream) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of a comma-separated file with the numbers of their first lines."""
    pending: list[str] = []
    first = 0
    for number, line in numbered_lines(stream):
        if not pending:
            if '"' not in line:
                if line:
                    yield number, line.split(",")
                continue
            first = number
        pending.append(line)
        # A record is complete when its number of quotes is even: unquoted fields have none.
        if line.count('"') % 2 == (len(pending) > 1):
            yield first, _csv_fields(stream.name, first, "\n".join(pending))
            pending = []
    if pending:
        raise FormatError(stream.name, "a quoted field is not closed", first)


def _csv_fields(name: str, line: int, record: str) -> list[str]:
    fields = []
    position = 0
    while True:
        match = _QUOTED.match(record, position)
        if match is not None:
            fields.append(match.group(1).replace('""', '"'))
        else:
            match = _PLAIN.match(record, position)
            if match is None or '"' in match.group():
                rule = f"a quote inside an unquoted field: {shown(record[position:])!r}"
                raise FormatError(name, rule, line)
            fields.append(match.group())
        position = match.end()
        if position == len(record):
            return fields
        position += 1  # the comma


# --- JSON lines: ``{"text": "a fast sorting library", "labels": ["libc6", "perl"]}``.
#
# ``title`` and ``content``, joined by a line feed, may replace the text. Labels may also be one
# string, which is split by ``label_separator``. Annif's ``subjects`` (objects with a ``uri``) or
# the ``target_ind`` (numbers) of the Extreme Classification Repository may replace the labels.


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


# --- Parquet: a column ``text`` (or ``title`` and ``content``), and ``labels``, lists or strings.
#
# A folder of Parquet files is one corpus. A null text counts as empty.


def read_parquet(path: Path, options: CorpusOptions) -> Iterator[Document]:
    """Yield the documents of a file or folder; their lines are rows, counted from 1."""

    def choose(name: str, columns: list[str]) -> list[str]:
        of_labels = _label_column(name, columns, options)
        return _text_columns(name, columns, options) + ([of_labels] if of_labels else [])

    split = label_splitter(options)
    for name, first, batch in read_batches(path, choose):
        columns = batch.schema.names
        of_labels = _label_column(name, columns, options)
        texts = [_strings(name, first, batch, one) for one in _text_columns(name, columns, options)]
        labels = (
            None if of_labels is None else _names_of_batch(name, first, batch, of_labels, split)
        )
        for row, parts in enumerate(zip(*texts, strict=True)):
            text = "\n".join(part or "" for part in parts)
            yield Document(first + row + 1, text, None if labels is None else labels[row])


def _text_columns(name: str, columns: list[str], options: CorpusOptions) -> list[str]:
    wanted = "text" if options.text_column is None else options.text_column
    if wanted in columns:
        return [wanted]
    found: list[str] = [column for column in ("title", "content") if column in columns]
    if options.text_column is not None or not found:
        rule = f"no column {wanted!r} among {shown(', '.join(columns))}: give --text-column"
        raise FormatError(name, rule)
    return found


def _label_column(name: str, columns: list[str], options: CorpusOptions) -> str | None:
    if options.labels == "ignored":
        return None
    wanted = "labels" if options.labels_column is None else options.labels_column
    if wanted in columns:
        return wanted
    if options.labels_column is not None:
        raise FormatError(name, f"no column {wanted!r} among {shown(', '.join(columns))}")
    if options.labels == "required":
        raise FormatError(name, no_labels("column 'labels'", columns))
    return None


def _names_of_batch(
    name: str, first: int, batch: Any, column: str, split: Callable[[str], list[str]]
) -> list[list[str] | None]:
    rows = []
    for number, value in enumerate(batch.column(column).to_pylist(), first + 1):
        try:
            given = split(value) if isinstance(value, str) and value else value
        except ValueError as error:
            raise FormatError(name, str(error), number) from None
        good = given is None or (
            isinstance(given, list) and all(isinstance(one, str) and one for one in given)
        )
        if not good:
            rule = f"{column!r} must be a list of non-empty names, got {shown(str(value))}"
            raise FormatError(name, rule, number)
        rows.append(given)
    return rows


def _strings(name: str, first: int, batch: Any, column: str) -> list[str | None]:
    values: list[str | None] = batch.column(column).to_pylist()
    for number, value in enumerate(values, first + 1):
        if value is not None and not isinstance(value, str):
            rule = f"{column!r} must be a string, got {shown(str(value))}"
            raise FormatError(name, rule, number)
    return values


# --- Annif's folders: a file ``x.txt`` per text, its labels in ``x.tsv`` or ``x.key``.
#
# A ``tsv`` file has ``<uri><TAB>name`` on each line, a ``key`` file a name; if there are both,
# the ``tsv`` file is read.


def is_folder(path: Path) -> bool:
    """Return whether a folder has a text with labels."""
    names = {file.name for file in path.iterdir()}
    stems = {name.removesuffix(".txt") for name in names if name.endswith(".txt")}
    return any({f"{stem}.tsv", f"{stem}.key"} & names for stem in stems)


def read_folder(
    folder: Path, options: CorpusOptions, limits: ReadLimits | None
) -> Iterator[Document]:
    """Yield the documents of a folder, in the order of their file names."""
    files = {path.name: path for path in folder.iterdir()}
    for name in sorted(files):
        if name.endswith(".txt"):
            labels = None
            if options.labels != "ignored":
                labels = _labels_of_file(files, name.removesuffix(".txt"), limits)
            yield Document(None, _text_of_file(files[name], limits), labels, str(files[name]))


def _text_of_file(path: Path, limits: ReadLimits | None) -> str:
    with open_input(path, limits) as stream:
        return "\n".join(line for _, line in numbered_lines(stream))


def _labels_of_file(
    files: dict[str, Path], stem: str, limits: ReadLimits | None
) -> list[str] | None:
    if f"{stem}.tsv" in files:
        with open_input(files[f"{stem}.tsv"], limits) as stream:
            return [_uri(stream.name, *line) for line in numbered_lines(stream) if line[1].strip()]
    if f"{stem}.key" in files:
        with open_input(files[f"{stem}.key"], limits) as stream:
            return [line.strip() for _, line in numbered_lines(stream) if line.strip()]
    return None


def _uri(name: str, number: int, line: str) -> str:
    uri = line.split("\t", maxsplit=1)[0].strip().removeprefix("<").removesuffix(">")
    if not uri:
        raise FormatError(name, "expected <uri><TAB>name, got no URI", number)
    return uri


CorpusForm: TypeAlias = Literal[
    "jsonl", "csv", "tsv", "annif", "fasttext", "pecos", "libmultilabel", "lines", "parquet"
]
"""A format of corpora."""

CORPUS_FORMS: tuple[CorpusForm, ...] = get_args(CorpusForm)

_READERS: dict[CorpusForm, Callable[[InputStream, CorpusOptions], Iterator[Document]]] = {
    "jsonl": read_json_lines,
    "csv": read_csv,
    "tsv": read_tsv,
    "annif": read_annif,
    "fasttext": read_fasttext,
    "pecos": read_pecos,
    "libmultilabel": read_libmultilabel,
    "lines": read_lines,
}

_BY_SUFFIX: dict[str, CorpusForm] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".ft": "fasttext",
}

_BY_FIRST_CHARACTERS: dict[str, CorpusForm] = {
    "{": "jsonl",
    "__label__": "fasttext",
    "PAR1": "parquet",
}

# Bytes and lines inspected of a tab-separated file without a header.
_INSPECTED_BYTES = 1 << 18
_INSPECTED_LINES = 100


@dataclass(frozen=True)
class Corpus:
    """An open corpus.

    Attributes
    ----------
    name : str
        Its name in error messages.
    form : CorpusForm
        Its format.
    documents : iterator of Document
        Its documents, read lazily.
    """

    name: str
    form: CorpusForm
    documents: Iterator[Document]


def corpus_form(path: PathLike) -> CorpusForm | None:
    """Return the format of a corpus by its name; None if the name does not show it.

    A folder is in Annif's format if a text in it has a file of labels, and in Parquet if it has
    Parquet files. The name of a tab-separated file does not show which of the formats with tabs
    it has: that follows from its content, if it fits exactly one of them.
    """
    if is_parquet(Path(path)):
        return "parquet"
    if Path(path).is_dir():
        return "annif" if is_folder(Path(path)) else None
    name = without_compression(os.fspath(path)).lower()
    return next((form for suffix, form in _BY_SUFFIX.items() if name.endswith(suffix)), None)


@contextmanager
def open_corpus(
    path: PathLike,
    form: CorpusForm | None = None,
    options: CorpusOptions | None = None,
    limits: ReadLimits | None = None,
) -> Iterator[Corpus]:
    """Open a corpus to read its documents one by one.

    A tab-separated file (``tsv``) has a header with a column of texts, or all of its first lines
    match exactly one of ``annif``, ``pecos`` and ``libmultilabel``.

    Parameters
    ----------
    path : path
        The file; may be compressed, ``-`` is standard input. Or a folder of Annif, or of
        Parquet files, which cannot be compressed as a whole.
    form : CorpusForm, optional
        Its format; default: by its name.
    options : CorpusOptions, optional
        Options that the file does not contain.
    limits : ReadLimits, optional
        Limits on the cost of reading.

    Raises
    ------
    ValueError
        If the format is unknown, or if none is given and the name does not show it.
    FormatError
        If the format of a tab-separated file is ambiguous.
    """
    options = options or CorpusOptions()
    form = form or corpus_form(path)
    if form not in CORPUS_FORMS:
        known = ", ".join(CORPUS_FORMS)
        got = "its name does not show which" if form is None else f"got {form!r}"
        raise ValueError(f"{display_name(path)}: the format must be one of {known}: {got}")
    if form == "annif" and Path(path).is_dir():
        yield Corpus(display_name(path), form, read_folder(Path(path), options, limits))
        return
    if form == "parquet":
        yield Corpus(display_name(path), form, read_parquet(Path(path), options))
        return
    with open_input(path, limits) as stream:
        if form == "tsv":
            form = _form_with_tabs(stream, options)
        yield Corpus(stream.name, form, _READERS[form](stream, options))


def likely_forms(stream: InputStream) -> list[CorpusForm]:
    """Return the formats of corpora that the beginning of a file matches, for error messages.

    Any text may be ``lines``, which is not returned. The stream is not advanced.
    """
    lines = _first_lines(stream)
    if not lines:
        return []
    for start, form in _BY_FIRST_CHARACTERS.items():
        if lines[0].lstrip().startswith(start):
            return [form]
    rows = [line.split("\t") for line in lines]
    if len(rows[0]) > 1 and _TEXT_COLUMNS & set(rows[0]):
        return ["tsv"]
    header = [field.strip('"') for field in lines[0].split(",")]
    if len(header) > 1 and _TEXT_COLUMNS & set(header):
        return ["csv"]
    return _forms_with_tabs(rows)


def _form_with_tabs(stream: InputStream, options: CorpusOptions) -> CorpusForm:
    """Return the format of a tab-separated file; the stream is not advanced."""
    rows = [line.split("\t") for line in _first_lines(stream)]
    named = options.text_column is not None or options.labels_column is not None
    if named or not rows or _TEXT_COLUMNS & set(rows[0]):
        return "tsv"
    looks = _forms_with_tabs(rows)
    if len(looks) != 1:
        what = " or ".join(looks) if looks else "no format with tabs"
        rule = f"no header with a column 'text', and looks like {what}: give --from"
        raise FormatError(stream.name, rule, 1)
    return looks[0]


def _first_lines(stream: InputStream) -> list[str]:
    """Return the first lines of a stream that are not empty; it is not advanced."""
    beginning = stream.peek(_INSPECTED_BYTES)
    lines = beginning.decode("utf-8-sig", "replace").split("\n")
    if len(lines) > 1 and (len(beginning) == _INSPECTED_BYTES or not lines[-1]):
        lines.pop()  # incomplete, or empty after the last line feed
    return [line.rstrip("\r") for line in lines[:_INSPECTED_LINES] if line.strip()]


def _forms_with_tabs(rows: list[list[str]]) -> list[CorpusForm]:
    """Return the formats without a header that all rows match."""
    looks: list[CorpusForm] = []
    if all(len(row) == 2 and _URIS.fullmatch(row[1]) for row in rows):
        looks.append("annif")
    if all(len(row) == 2 and _NUMBERS.fullmatch(row[0]) for row in rows):
        looks.append("pecos")
    if all(len(row) == 3 for row in rows):
        looks.append("libmultilabel")
    return looks


_TEXT_COLUMNS = {"text", "title", "content"}
_URIS = re.compile(r"<[^<>\s]+>(\s+<[^<>\s]+>)*\s*")
_NUMBERS = re.compile(rf"{PECOS_LABEL.pattern}(,{PECOS_LABEL.pattern})*")
