"""Documents of a corpus, read one by one: a function per format, and what these share.

``corpora.py`` chooses the function. All of them are lazy, name file and line in their errors, and
leave to the options what a file does not show: which column is the text, what separates labels.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from defrag._progress import escaped
from defrag.exceptions import FormatError, FormatWarning
from defrag.io.files import open_input
from defrag.io.parquet import read_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from defrag.io.files import InputStream, PathLike, ReadLimits


class Document(NamedTuple):
    """A text of a corpus.

    - ``line`` (optional): its first line, counted from 1; None if the text is a file of its own.
    - ``text``: the text.
    - ``labels`` (optional): the names of its labels; None if the corpus does not list labels for
      it.
    - ``file`` (optional): its own file, if the corpus is a folder.
    """

    line: int | None
    text: str
    labels: list[str] | None
    file: str | None = None


@dataclass(frozen=True)
class CorpusOptions:
    """How a corpus is read, as far as the file does not show it; each format uses some options.

    Raises
    ------
    ValueError
        If the separator is empty.
    """

    # Names of the columns of a table, or keys of JSON lines.
    text_column: str | None = None
    labels_column: str | None = None
    # Separator of labels that are written as one string; ``"space"`` for any white space,
    # ``"none"`` if each string is one label.
    label_separator: str | None = None
    # The file with the labels, if ``path`` has texts only.
    labels_path: PathLike | None = None
    # The names of labels that are numbers.
    label_names: Sequence[str] | None = None
    # Whether a corpus may have no labels, and whether they are read at all.
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
                rule = f"expected numbers of labels, got '{shown(word)}'"
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
    return _table_documents(stream, options, csv_records(stream))


def read_tsv(stream: InputStream, options: CorpusOptions) -> Iterator[Document]:
    """Yield the documents of a tab-separated table."""
    records = ((number, line.split("\t")) for number, line in numbered_lines(stream) if line)
    return _table_documents(stream, options, records)


def _table_documents(
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
        raise FormatError(name, f"the header has '{shown(column)}' more than once", line)
    if options.text_column is not None:
        return [_column(name, line, header, options.text_column)]
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
        return _column(name, line, header, options.labels_column)
    found = next(
        (header.index(column) for column in ("labels", _URI_COLUMN) if column in header), None
    )
    if found is None and options.labels == "required":
        raise FormatError(name, no_labels(f"column 'labels' or {_URI_COLUMN!r}", header))
    return found


def _column(name: str, line: int, header: list[str], column: str) -> int:
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
                rule = f"a quote inside an unquoted field: '{shown(record[position:])}'"
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
    for number, item in json_objects(stream):
        labels = _json_labels(stream.name, number, item, options)
        if first and labels is None and options.labels == "required":
            rule = no_labels("key 'labels', 'subjects' or 'target_ind'", item)
            raise FormatError(stream.name, rule)
        first = False
        yield Document(number, _json_text(stream.name, number, item, options), labels)


def json_objects(stream: InputStream) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of JSON lines with the numbers of their lines; empty lines are skipped."""
    for number, line in numbered_lines(stream):
        if line.strip():
            yield number, _json_object(stream.name, number, line)


def _json_object(name: str, number: int, line: str) -> dict[str, Any]:
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


def _json_text(name: str, number: int, item: dict[str, Any], options: CorpusOptions) -> str:
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


def _json_labels(
    name: str, number: int, item: dict[str, Any], options: CorpusOptions
) -> list[str] | None:
    if options.labels == "ignored":
        return None
    keys = (
        _LABEL_KEYS
        if options.labels_column is None
        else ((options.labels_column, *_LABEL_KEYS[0][1:]),)
    )
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


_LABEL_KEYS = (
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
        texts = [
            _strings_of_batch(name, first, batch, one)
            for one in _text_columns(name, columns, options)
        ]
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


def _strings_of_batch(name: str, first: int, batch: Any, column: str) -> list[str | None]:
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
            lines = [line for line in numbered_lines(stream) if line[1].strip()]
            return [_uri_of_line(stream.name, *line) for line in lines]
    if f"{stem}.key" in files:
        with open_input(files[f"{stem}.key"], limits) as stream:
            return [line.strip() for _, line in numbered_lines(stream) if line.strip()]
    return None


def _uri_of_line(name: str, number: int, line: str) -> str:
    uri = line.split("\t", maxsplit=1)[0].strip().removeprefix("<").removesuffix(">")
    if not uri:
        raise FormatError(name, "expected <uri><TAB>name, got no URI", number)
    return uri


# --- Lines.

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def numbered_lines(stream: InputStream) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file as strings, with their numbers, counted from 1.

    Lines end with a line feed; a carriage return before it is dropped. Other Unicode line
    separators are part of the text.

    - Raises FormatError if a line is not UTF-8.
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
                f"{place}: '{shown(name)}' is read as one label: give --label-separator "
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
            f"labels '{shown(field)}' may be several: give --label-separator {separator}, or "
            "none if they are one"
        )
    return [field] if field else []


def split_uris(field: str) -> list[str]:
    """Split URIs at white space and remove the angle brackets of Annif.

    - Raises ValueError if a URI is empty.
    """
    uris = [word.removeprefix("<").removesuffix(">") for word in field.split()]
    if not all(uris):
        raise ValueError(f"an empty URI in {shown(field)}")
    return uris


# --- Parts of messages.

_SHOWN = 60


def shown(value: str) -> str:
    """Return a value for an error message: in one line, truncated if it is long."""
    return escaped(value if len(value) <= _SHOWN else value[: _SHOWN - 3] + "...")


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
