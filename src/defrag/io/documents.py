"""Documents of a corpus, read one by one: a function per format, and what these share.

``corpora.py`` chooses the function. All of them are lazy, name file and line in their errors, and
leave to the options what a file does not show: which column is the text, what separates labels.
"""

from __future__ import annotations

import codecs
import csv
import itertools
import json
import math
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, Literal, NamedTuple, cast

from defrag import _native
from defrag._progress import escaped
from defrag.exceptions import FormatError, FormatWarning
from defrag.io.files import InputStream, PathLike, ReadLimits, open_input
from defrag.io.parquet import read_batches


class Document(NamedTuple):
    """A text of a corpus, with its first line, counted from 1, or a file of its own.

    ``labels`` are None if the corpus does not list labels for it.
    """

    line: int | None
    text: str
    labels: list[str] | None
    file: str | None = None


@dataclass(frozen=True)
class CorpusOptions:
    """How a corpus is read, as far as the file does not show it; each format uses some options."""

    # Names of the columns of a table, or keys of JSON objects.
    # Several are joined, and are the first lines of the text but for the last.
    text_column: str | Sequence[str] | None = None
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
    # The character between the fields of a table, or ``"tab"``.
    delimiter: str | None = None
    # The encoding of a file without a byte order mark; default: UTF-8.
    encoding: str | None = None

    def __post_init__(self) -> None:
        given = _delimiter(self)
        if given is not None and (len(given) != 1 or given in '"\r\n'):
            raise ValueError(f"the delimiter must be one character or tab, got {given!r}")
        if self.encoding is not None:
            try:
                b"0".decode(self.encoding)
            except UnicodeError:
                pass
            except LookupError:
                rule = "an encoding that Python knows, such as utf-8, cp1252 or latin-1"
                raise ValueError(f"the encoding must be {rule}, got {self.encoding!r}") from None
        if self.label_separator == "":
            raise ValueError("the label separator must not be empty: give space for white space")

    def name_of(self, label: str) -> str:
        """Return the name of a label given by number, or the number if there are no names."""
        if self.label_names is None:
            return label
        if len(label) > 10 or int(label) >= len(self.label_names):
            n_names = len(self.label_names)
            raise ValueError(f"label {shown(label)}, but there are {n_names} label names")
        return self.label_names[int(label)]


# --- Which columns or keys have texts and labels, and what a label is, for all formats with names:
# tables, JSON, Parquet, data frames. A null text is empty, a null label is none.

TEXT_KEY = "text"
PART_KEYS = ("title", "content")
"""Joined by a line feed if there is no text."""

LABEL_KEYS = ("labels", "label", "tags", "subjects", "subject_uris", "target_ind")
"""The first that occurs is used."""

_NAME_KEYS = ("uri", "name", "id")
"""Keys of the name in an object that is a label."""

_LABEL_RULE = "a non-empty name, a number >= 0, an object with a name or id, or a list of these"


def text_columns(columns: Iterable[str], options: CorpusOptions) -> list[str]:
    """Return the columns or keys whose values make the text; ValueError if there are none."""
    known = list(columns)
    if options.text_column is not None:
        given = options.text_column
        return [_given_column(known, one) for one in ([given] if isinstance(given, str) else given)]
    found = _places(known, (TEXT_KEY,)) or _places(known, PART_KEYS)
    if not found:
        raise ValueError(
            f"no 'text', or 'title' and 'content', among {shown(', '.join(known))}: give "
            "--text-column"
        )
    return found


def joined(parts: Sequence[str]) -> str:
    r"""Return one text of several: a line for each but the last, which keeps its lines.

    Examples
    --------
    >>> joined(["A title\n of two lines", "a text\nof two lines"])
    'A title  of two lines\na text\nof two lines'
    """
    if len(parts) == 1:
        return parts[0]
    return "\n".join([*(part.replace("\n", " ") for part in parts[:-1]), parts[-1]])


def label_column(columns: Iterable[str], options: CorpusOptions) -> str | None:
    """Return the column or key of the labels, None if there is none; ValueError if it must be."""
    if options.labels == "ignored":
        return None
    known = list(columns)
    if options.labels_column is not None:
        return _given_column(known, options.labels_column)
    found = _places(known, LABEL_KEYS)
    if not found and options.labels == "required":
        raise ValueError(no_labels("'labels'", known))
    return found[0] if found else None


def _given_column(columns: list[str], column: str) -> str:
    if column not in columns:
        raise ValueError(f"no {column!r} among {shown(', '.join(columns))}")
    return column


def _places(columns: list[str], keys: Sequence[str]) -> list[str]:
    """Return the columns with these names, in their order; headers may be in capitals."""
    exact = [key for key in keys if key in columns]
    if exact:
        return exact
    plain = {column.strip().casefold(): column for column in reversed(columns)}
    return [plain[key] for key in keys if key in plain]


def text_of(key: str, value: Any) -> str:
    """Return the text of a cell; ValueError if it is none."""
    if isinstance(value, str):
        return value
    if is_null(value):
        return ""
    raise ValueError(f"{key!r} must be a string, got {shown(_plain(value))}: give --text-column")


def labels_of(
    key: str, value: Any, split: Callable[[str], list[str]], number: Callable[[str], str]
) -> list[str]:
    """Return the names of the labels in a cell; ValueError if it has anything else.

    ``split`` returns the labels in a string, ``number`` the name of a label that is a number.

    Examples
    --------
    >>> labels_of("tags", [{"id": 7, "name": "heat"}, 3, "x y", None], str.split, str)
    ['heat', '3', 'x y']
    """
    if isinstance(value, str):
        return split(value)
    value = value.tolist() if hasattr(value, "tolist") else value
    labels = []
    for one in value if isinstance(value, (list, tuple)) else (value,):
        given = next((one[k] for k in _NAME_KEYS if k in one), one) if type(one) is dict else one
        if isinstance(given, float) and given.is_integer():
            given = int(given)  # a column of numbers with gaps
        if isinstance(given, str) and given:
            labels.append(given)
        elif isinstance(given, int) and not isinstance(given, bool) and given >= 0:
            labels.append(number(str(given)))
        elif not is_null(given) or given is not one:
            got = shown(_plain(value))
            raise ValueError(f"{key!r} must be {_LABEL_RULE}, got {got}: give --labels-column")
    return labels


def is_null(value: Any) -> bool:
    """Return whether a cell is empty: None, NaN, or what pandas has for them."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def _plain(value: Any) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return str(value)


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
_JSON_BLANK = re.compile(r"[ \t\n\r]*")
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
                labels.append(label)
        try:
            names = list(map(options.name_of, labels))
        except ValueError as error:
            raise FormatError(stream.name, str(error), number) from None
        yield Document(number, text, names)


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
    with open_input(options.labels_path, stream.limits) as given:
        labels = in_utf8(given, options.encoding)
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
# A csv file has the delimiter that its header shows, as Excel writes it. In both a field may be
# quoted; in a tsv file, a quote that does not enclose a whole field is an ordinary character.

_DELIMITERS = ",;\t|"
_MOST_FIELDS = 1 << 20


def read_csv(stream: InputStream, options: CorpusOptions) -> Iterator[Document]:
    """Yield the documents of a comma-separated table."""
    return _table_documents(stream, options, csv_records(stream, options))


def read_tsv(stream: InputStream, options: CorpusOptions) -> Iterator[Document]:
    """Yield the documents of a tab-separated table."""
    return _table_documents(stream, options, _tsv_records(stream, _delimiter(options) or "\t"))


def _table_documents(
    stream: InputStream, options: CorpusOptions, records: Iterator[tuple[int, list[str]]]
) -> Iterator[Document]:
    first = next(records, None)
    if first is None:
        return
    number, header = first
    column, count = Counter(header).most_common(1)[0]
    if count > 1:
        raise FormatError(stream.name, f"the header has '{shown(column)}' more than once", number)
    try:
        texts = [header.index(column) for column in text_columns(header, options)]
        of_labels = label_column(header, options)
    except ValueError as error:
        raise FormatError(stream.name, str(error), number) from None
    uris = of_labels == "subject_uris" and options.label_separator is None
    split = split_uris if uris else label_splitter(options)
    place = None if of_labels is None else header.index(of_labels)
    for line, fields in records:
        if len(fields) != len(header):
            rule = f"{counted(len(fields), 'column')}, but the header has {len(header)}"
            raise FormatError(stream.name, f"{rule}: give --delimiter or --from", line)
        text = joined([fields[column] for column in texts])
        try:
            names = None if place is None else split(fields[place])
        except ValueError as error:
            raise FormatError(stream.name, str(error), line) from None
        yield Document(line, text, names)


def _delimiter(options: CorpusOptions) -> str | None:
    return "\t" if options.delimiter == "tab" else options.delimiter


def _shown_delimiter(header: str, options: CorpusOptions) -> str:
    """Return the delimiter of a header: that with known columns, or the most frequent one."""
    for known in _DELIMITERS:
        columns = [column.strip(' "') for column in header.split(known)]
        with suppress(ValueError):
            if len(columns) > 1 and text_columns(columns, options):
                return known
    return max(_DELIMITERS, key=header.count)


def csv_records(
    stream: InputStream, options: CorpusOptions | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of a comma-separated file with the numbers of their first lines.

    The delimiter is the given one, that of a first line ``sep=;`` as Excel reads it, or the one
    that the header shows.
    """
    options = options or CorpusOptions()
    lines = numbered_lines(stream)
    number, header = next(lines, (0, ""))
    delimiter = _delimiter(options)
    if re.fullmatch("sep=.", header):
        delimiter = delimiter or header[-1]
        number, header = next(lines, (0, ""))
    last = number - 1

    def rest() -> Iterator[str]:
        nonlocal last
        given = itertools.chain([(number, header)] if number else [], lines)
        for place, line in few_columns(stream, given, delimiter or ","):
            last = place
            yield line + "\n"

    csv.field_size_limit(sys.maxsize)  # texts may be long; lines are limited by the reader
    delimiter = delimiter or _shown_delimiter(header[:_MOST_FIELDS], options)
    records = csv.reader(rest(), delimiter=delimiter, strict=True)
    while True:
        first = last + 1
        try:
            fields = next(records, None)
        except csv.Error as error:
            raise FormatError(stream.name, _quoting_rule(str(error)), first) from None
        if fields is None:
            return
        if fields:
            yield first, fields


def _quoting_rule(message: str) -> str:
    if "end of data" in message:
        return "a quoted field is not closed"
    if "expected after" in message:
        return "a quote inside a quoted field must be written twice"
    return f"invalid CSV: {message.partition(' - ')[0]}"


def _tsv_records(stream: InputStream, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of a tab-separated file; only what is quoted throughout is unquoted."""
    width, first, pending = 0, 0, list[str]()
    n_quotes, n_fields, quoted = 0, 0, False  # of the pending lines; of their last field
    for number, line in few_columns(stream, numbered_lines(stream), delimiter):
        fields = line.split(delimiter)
        if pending or '"' in line:
            first = first if pending else number
            n_quotes += line.count('"')
            n_fields += len(fields) - bool(pending)
            if not pending or len(fields) > 1:
                quoted = fields[-1].startswith('"')
            pending.append(line)
            # Lines are missing if columns are, or if the last one begins with a quote.
            if n_quotes % 2 and (n_fields < width or quoted):
                continue
            record = "\n".join(pending)
            fields = _quoted_fields(record, delimiter) or record.split(delimiter)
        start = first if pending else number
        pending, n_quotes, n_fields = [], 0, 0
        width = width or len(fields)
        if fields != [""]:
            yield start, fields
    if pending:
        raise FormatError(stream.name, "a quoted field is not closed", first)


def few_columns(
    stream: InputStream, lines: Iterable[tuple[int, str]], delimiter: str
) -> Iterator[tuple[int, str]]:
    """Yield lines that may be split; an empty field takes sixty times the memory of a delimiter."""
    for number, line in lines:
        if len(line) > _MOST_FIELDS and line.count(delimiter) > _MOST_FIELDS:
            rule = f"a line of a table may have {_MOST_FIELDS} delimiters, got more"
            raise FormatError(stream.name, rule, number)
        yield number, line


def _quoted_fields(record: str, delimiter: str) -> list[str] | None:
    """Return the fields of a record if its quotes are those of a table, otherwise None."""
    lines = [f"{line}\n" for line in record.split("\n")]
    with suppress(csv.Error):
        found = list(csv.reader(lines, delimiter=delimiter, strict=True))
        return found[0] if len(found) == 1 else None
    return None


# --- JSON: ``{"text": "a fast sorting library", "labels": ["libc6", "perl"]}``, one object per line
# or all in one array.


def read_json_lines(stream: InputStream, options: CorpusOptions) -> Iterator[Document]:
    """Yield the documents of a file of JSON objects; empty lines are skipped.

    Most lines are plain and read natively. What others mean, or what is wrong, is decided here.
    """
    split, of_labels = label_splitter(options), options
    for number, item in json_objects(stream, _plain_lines(options)):
        if isinstance(item, tuple):
            if of_labels.labels == "required":
                of_labels = replace(options, labels="optional")
            yield Document(number, *item)
            continue
        labels = None
        try:
            key = label_column(item, of_labels)
            if key is not None:
                labels = labels_of(key, item[key], split, options.name_of)
            text = joined([text_of(key, item[key]) for key in text_columns(item, options)])
        except _SeveralError as error:
            raise FormatError(stream.name, f"{error}, or write a list of names", number) from None
        except ValueError as error:
            raise FormatError(stream.name, str(error), number) from None
        if of_labels.labels == "required":  # the first object shows whether there are labels
            of_labels = replace(options, labels="optional")
        yield Document(number, text, labels)


def _plain_lines(options: CorpusOptions) -> Callable[[bytes], list[Any]]:
    """Return a function of lines that gives the text and labels of each, or its bytes."""
    if not isinstance(options.text_column, str | None):
        return _split
    given = (options.text_column, TEXT_KEY), (options.labels_column, LABEL_KEYS[0])
    keys = [usual if key is None else key for key, usual in given]
    text, labels = (key.encode("utf-8", "surrogatepass") for key in keys)
    return _native.JsonLines(text, None if options.labels == "ignored" else labels).parse


def _split(run: bytes) -> list[bytes]:
    lines = run.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def json_objects(
    stream: InputStream, split: Callable[[bytes], list[Any]] = _split
) -> Iterator[tuple[int, Any]]:
    """Yield the objects of JSON lines, or of an array, with the numbers of their first lines.

    What ``split`` returns in place of the bytes of a line is yielded as it is.
    """
    if stream.peek(1 << 10).removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"["):
        yield from _array_objects(stream)
        return
    for number, found in _numbered(stream, split):
        if not isinstance(found, bytes):
            yield number, found
        elif (line := _decoded(stream.name, number, found)).strip():
            item = _parsed(stream.name, number, partial(json.loads, line))
            yield number, _checked_object(stream.name, number, item)


def _array_objects(stream: InputStream) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of one array, which is in memory as a whole."""
    text = "\n".join(line for _, line in numbered_lines(stream))
    line, place = 1, text.index("[") + 1
    line += text.count("\n", 0, place)
    parse = json.JSONDecoder().raw_decode
    while True:
        begin, place = place, _JSON_BLANK.match(text, place).end()  # type: ignore[union-attr]
        line += text.count("\n", begin, place)
        if text[place : place + 1] == "]":
            break
        item, end = _parsed(stream.name, line, partial(parse, text, place))
        yield line, _checked_object(stream.name, line, item)
        begin, place = place, _JSON_BLANK.match(text, end).end()  # type: ignore[union-attr]
        line += text.count("\n", begin, place)
        if text[place : place + 1] == ",":
            place += 1
        elif text[place : place + 1] != "]":
            raise FormatError(stream.name, "expected ',' or ']' after an object of an array", line)
    if text[place + 1 :].strip():
        raise FormatError(stream.name, "expected nothing after the JSON array", line)


def _parsed(name: str, number: int, parse: Callable[[], Any]) -> Any:
    try:
        return parse()
    except json.JSONDecodeError as error:
        rule = f"invalid JSON: {error.msg} at character {error.pos}"
        raise FormatError(name, rule, number) from None
    except (RecursionError, ValueError) as error:  # numbers of thousands of digits
        rule = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise FormatError(name, f"invalid JSON: {rule}", number) from None


def _checked_object(name: str, number: int, item: Any) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise FormatError(name, f"expected a JSON object, got {shown(_plain(item))}", number)
    return item


# --- Parquet, and data frames of pandas, polars, pyarrow and ``datasets``.
#
# A folder of Parquet files is one corpus.


def read_parquet(path: PathLike, options: CorpusOptions) -> Iterator[Document]:
    """Yield the documents of a file or folder; their lines are rows, counted from 1."""

    def choose(name: str, columns: list[str]) -> list[str]:
        try:
            return list(_columns_of_table(columns, options))
        except ValueError as error:
            raise FormatError(name, str(error)) from None

    for name, first, batch in read_batches(path, choose):
        values = {column: batch.column(column).to_pylist() for column in batch.schema.names}
        yield from _documents_of_columns(name, first, values, options)


def read_frame(frame: Any, options: CorpusOptions) -> Iterator[Document]:
    """Yield the documents of a data frame; their lines are rows, counted from 1."""
    name = f"the {type(frame).__name__}"
    columns = getattr(frame, "column_names", None)
    columns = list(frame.columns) if columns is None else columns
    values: dict[str, list[Any]] = {}
    try:
        for column in _columns_of_table(columns, options):
            given = frame[column]
            named = [m for m in ("to_pylist", "tolist", "to_list") if hasattr(given, m)]
            values[column] = getattr(given, named[0])() if named else list(given)
    except ValueError as error:
        raise FormatError(name, str(error)) from None
    # ``datasets`` has the names of labels that are numbers beside the column.
    kind: Any = getattr(frame, "features", {}).get(label_column(columns, options))
    kind = getattr(kind, "feature", kind)
    if options.label_names is None and hasattr(kind, "names"):
        options = replace(options, label_names=kind.names)
    yield from _documents_of_columns(name, 0, values, options)


def _columns_of_table(columns: Iterable[str], options: CorpusOptions) -> dict[str, None]:
    known = list(columns)
    of_labels = label_column(known, options)
    return dict.fromkeys([*text_columns(known, options), *([of_labels] if of_labels else [])])


def _documents_of_columns(
    name: str, first: int, values: dict[str, list[Any]], options: CorpusOptions
) -> Iterator[Document]:
    texts, of_labels = text_columns(values, options), label_column(values, options)
    split = label_splitter(options)
    for row, parts in enumerate(zip(*(values[key] for key in texts), strict=True)):
        number = first + row + 1
        try:
            text = joined(list(map(text_of, texts, parts)))
            labels = None
            if of_labels is not None:
                labels = labels_of(of_labels, values[of_labels][row], split, options.name_of)
        except ValueError as error:
            raise FormatError(name, str(error), number) from None
        yield Document(number, text, labels)


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
    """
    for number, line in _numbered(stream, _split):
        yield number, _decoded(stream.name, number, line)


def _numbered(
    stream: InputStream, split: Callable[[bytes], list[Any]]
) -> Iterator[tuple[int, Any]]:
    number = 0
    for run in stream.lines():
        for line in split(run.removeprefix(_BYTE_ORDER_MARK) if number == 0 else run):
            number += 1
            yield number, line


def _decoded(name: str, number: int, line: bytes) -> str:
    try:
        return line.removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        rule = f"invalid UTF-8 at byte {error.start} of the line{_other_encoding(line)}"
        raise FormatError(name, rule, number) from None


def _other_encoding(line: bytes) -> str:
    """Return what to do if a line makes sense in the usual encoding of Western Europe."""
    for encoding in ("latin-1", "cp1252"):
        with suppress(UnicodeDecodeError):
            found = [one for one in line.decode(encoding) if not one.isascii()]
            if all(one.isprintable() for one in found) and any(map(str.isalpha, found)):
                return f": give --encoding {encoding}"
    return ""


_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def in_utf8(stream: InputStream, encoding: str | None) -> InputStream:
    """Return a stream in UTF-8; its byte order mark, as Excel writes it, beats the encoding."""
    encoding = _MARKS.get(stream.peek(2), encoding)
    if encoding is None or stream.peek(3) == _BYTE_ORDER_MARK:
        return stream
    blocks = _blocks_in_utf8(stream, encoding)
    raw = cast("IO[bytes]", SimpleNamespace(read=lambda _: next(blocks, b"")))
    return InputStream(raw, stream.name, limits=stream.limits)


def _blocks_in_utf8(stream: InputStream, encoding: str) -> Iterator[bytes]:
    try:
        for text in codecs.iterdecode(iter(stream.read, b""), encoding):
            yield text.encode()
    except UnicodeError as error:
        rule = f"invalid {encoding}: {getattr(error, 'reason', error)}"
        raise FormatError(stream.name, f"{rule}: give --encoding") from None


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


class _SeveralError(ValueError):
    """A string that may be several labels."""


def _one_name(field: str) -> list[str]:
    """Return the name in a field; raise ValueError if the field may have several."""
    found = _PUNCTUATION.search(field) or re.search(r"\s", field.strip())
    if found:
        separator = "space" if found.group().isspace() else f"'{found.group()}'"
        raise _SeveralError(
            f"labels '{shown(field)}' may be several: give --label-separator {separator}, or "
            "none if they are one"
        )
    return [field] if field else []


def split_uris(field: str) -> list[str]:
    """Split URIs at white space and remove the angle brackets of Annif."""
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
