r"""Tables with a header: comma-separated (csv) or tab-separated (tsv).

The columns ``text`` (or ``title`` and ``content``) and ``labels`` are read, or Annif's
``subject_uris``, or those named by the options. In a csv file a field may be quoted, as in RFC
4180; in a tsv file a quote is an ordinary character.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from defrag.exceptions import FormatError
from defrag.io.corpora._documents import (
    CorpusOptions,
    Document,
    counted,
    no_labels,
    numbered_lines,
    shown,
)
from defrag.io.corpora._label_fields import label_splitter, split_uris

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag.io.files import InputStream

__all__ = ["csv_records", "read_csv", "read_tsv"]

_QUOTED = re.compile(r'"([^"]*(?:""[^"]*)*)"(?=,|\Z)')
_PLAIN = re.compile(r"[^,]*")
_URIS = "subject_uris"


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
    texts = _text_columns(stream.name, number, header, options)
    labels = _label_column(stream.name, number, header, options)
    uris = labels is not None and header[labels] == _URIS and options.label_separator is None
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


def _text_columns(name: str, line: int, header: list[str], options: CorpusOptions) -> list[int]:
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


def _label_column(name: str, line: int, header: list[str], options: CorpusOptions) -> int | None:
    if options.labels == "ignored":
        return None
    if options.labels_column is not None:
        return _find(name, line, header, options.labels_column)
    found = next((header.index(column) for column in ("labels", _URIS) if column in header), None)
    if found is None and options.labels == "required":
        raise FormatError(name, no_labels(f"column 'labels' or {_URIS!r}", header))
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
