"""Parquet: a column ``text`` (or ``title`` and ``content``), and ``labels``, lists or strings.

A folder of Parquet files is one corpus. A null text counts as empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from defrag.exceptions import FormatError
from defrag.io.corpora._documents import CorpusOptions, Document, no_labels, shown
from defrag.io.corpora._label_fields import label_splitter
from defrag.io.parquet import read_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["read_parquet"]


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
        labels = None if of_labels is None else _names(name, first, batch, of_labels, split)
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


def _names(
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
