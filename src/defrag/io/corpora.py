"""Corpora: texts and the names of their labels, in a file or a folder of any format.

`read_texts` is the door of the library; the commands open a corpus, read it document by document,
and say which format they took it for. The readers of the formats are in ``documents.py``.
"""

from __future__ import annotations

import errno
import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from defrag.exceptions import FormatError
from defrag.io import documents
from defrag.io.documents import CorpusOptions, Document
from defrag.io.files import (
    InputStream,
    PathLike,
    ReadLimits,
    check_form,
    display_name,
    open_input,
    without_compression,
)
from defrag.io.parquet import is_parquet
from defrag.io.remote import is_uri, matching_uris

CorpusForm: TypeAlias = Literal[
    "jsonl", "csv", "tsv", "annif", "fasttext", "pecos", "libmultilabel", "lines", "parquet"
]
"""A format of corpora."""

CORPUS_FORMS: tuple[CorpusForm, ...] = get_args(CorpusForm)

_READERS: dict[CorpusForm, Callable[[InputStream, CorpusOptions], Iterator[Document]]] = {
    "jsonl": documents.read_json_lines,
    "csv": documents.read_csv,
    "tsv": documents.read_tsv,
    "annif": documents.read_annif,
    "fasttext": documents.read_fasttext,
    "pecos": documents.read_pecos,
    "libmultilabel": documents.read_libmultilabel,
    "lines": documents.read_lines,
}

_BY_SUFFIX: dict[str, CorpusForm] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
    ".csv": "csv", ".tsv": "tsv", ".ft": "fasttext",
}  # fmt: skip
_BY_FIRST_CHARACTERS: dict[str, CorpusForm] = {
    "{": "jsonl", "[": "jsonl", "__label__": "fasttext", "PAR1": "parquet",
}  # fmt: skip

# Bytes and lines inspected of a tab-separated file without a header.
_INSPECTED_BYTES = 1 << 18
_INSPECTED_LINES = 100
_TEXT_COLUMNS = {"text", "title", "content"}
_URIS = re.compile(r"<[^<>\s]+>(\s+<[^<>\s]+>)*\s*")
_NUMBERS = re.compile(rf"{documents.PECOS_LABEL.pattern}(,{documents.PECOS_LABEL.pattern})*")


class LabelledTexts(NamedTuple):
    """Texts, and the names of their labels if the file has any."""

    texts: list[str]
    labels: list[list[str]] | None


def read_texts(
    path: Any,
    *,
    form: CorpusForm | None = None,
    labels_path: PathLike | None = None,
    text_column: str | Sequence[str] | None = None,
    labels_column: str | None = None,
    label_separator: str | None = None,
    label_names: Sequence[str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    limits: ReadLimits | None = None,
) -> LabelledTexts:
    r"""Read texts and the names of their labels.

    Parameters
    ----------
    path : path, or data frame
        The file; may be compressed, ``-`` is standard input. Or a folder in Annif's format:
        ``x.txt`` with ``x.tsv`` or ``x.key`` for each text. Or a data frame of pandas, polars,
        pyarrow or ``datasets`` with the columns of a table.
    form : str, optional
        The format; default: by the suffix of the name.

        - ``jsonl`` (``.jsonl``, ``.json``): objects, one per line or in an array, with a
          ``text``, or a ``title`` and a ``content``, which are joined by a line feed, and
          ``labels``: names, numbers, objects with a ``name`` or ``id``, or null for none;
        - ``csv``, ``tsv``: tables with a header, as spreadsheets write them;
        - ``annif``: ``text<TAB><uri> <uri>``;
        - ``fasttext`` (``.ft``): ``__label__a __label__b text``;
        - ``pecos``: ``0,3<TAB>text``;
        - ``libmultilabel``: ``id<TAB>label label<TAB>text``;
        - ``lines``: texts only, one per line;
        - ``parquet`` (``.parquet``, or a folder of such files): the columns ``text`` and
          ``labels``, lists of strings; needs pyarrow.

        A ``.tsv`` file without a header is read as ``annif``, ``pecos`` or ``libmultilabel`` if
        its lines match exactly one of them.
    labels_path : path, optional
        The labels of ``lines``: names separated by spaces, one line per text.
    text_column : str or sequence of str, optional
        The column of a table, or the key of JSON objects; default: ``text``, or ``title`` and
        ``content``. Several, such as ``("title", "type", "body")``, make one text of which each
        but the last is a line; :class:`TextClassifier` tries such lines as features of their own.
    labels_column : str, optional
        The column or key of the labels; default: the first of ``labels``, ``label``, ``tags``,
        ``subjects``, ``subject_uris`` and ``target_ind`` if there is one.
    label_separator : str, optional
        Separator of labels that are written as one string: some characters, ``"space"``, or
        ``"none"`` if each string is one label. Without it, a string in a table or in JSON lines
        that may be several labels (it has white space, a comma, a semicolon or a bar) is an
        error. It replaces the spaces of ``lines`` and ``libmultilabel``; without it, a name
        with a comma, a semicolon or a bar is a warning there.
    label_names : sequence of str, optional
        The names of labels that are numbers; default: the numbers, or the names that a data
        set of ``datasets`` has for them.
    delimiter : str, optional
        The character between the fields of a table, or ``"tab"``; default: what the header of a
        csv file shows.
    encoding : str, optional
        The encoding of a file without a byte order mark; default: UTF-8.
    limits : ReadLimits, optional
        Limits on the cost of reading.

    Returns
    -------
    texts : list of str
        The texts.
    labels : list of lists of str, or None
        The names of their labels; None if no text has any.

    Raises
    ------
    FormatError
        If the file violates a rule of its format, or if only some texts have labels; names
        the line.
    ValueError
        If the format is not known.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import read_texts
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "docs.jsonl"
    >>> _ = path.write_text('{"text": "quick sort", "labels": ["sorting"]}\n')
    >>> read_texts(path)
    LabelledTexts(texts=['quick sort'], labels=[['sorting']])
    """
    columns = text_column, labels_column, label_separator
    options = CorpusOptions(*columns, labels_path, label_names, "optional", delimiter, encoding)
    if not isinstance(path, (str, os.PathLike)):
        if not hasattr(path, "columns") and not hasattr(path, "column_names"):
            raise ValueError(f"path must be a path or a data frame, got {type(path).__name__}")
        name = f"the {type(path).__name__}"
        return collect_texts(Corpus(name, "parquet", documents.read_frame(path, options)))
    with open_corpus(path, form, options, limits) as corpus:
        return collect_texts(corpus)


def collect_texts(corpus: Corpus) -> LabelledTexts:
    """Read all documents of an open corpus; see ``read_texts``."""
    pairs = list(texts_and_labels(corpus))
    labels = [names for _, names in pairs if names is not None]
    return LabelledTexts([text for text, _ in pairs], labels or None)


def texts_and_labels(corpus: Corpus) -> Iterator[tuple[str, list[str] | None]]:
    """Yield the texts of a corpus with their labels, which all of them have or none."""
    n_texts = n_labelled = 0
    for line, text, names, file in corpus.documents:
        n_texts += 1
        n_labelled += names is not None
        if 0 < n_labelled < n_texts:
            rule = "a text without labels, but others have them"
            raise FormatError(file or corpus.name, rule, line)
        yield text, names
    if not n_texts:
        raise FormatError(corpus.name, "has no texts")


@dataclass(frozen=True)
class Corpus:
    """An open corpus: its name in error messages, its format, its documents, read lazily."""

    name: str
    form: CorpusForm
    documents: Iterator[Document]


def corpus_form(path: PathLike) -> CorpusForm | None:
    """Return the format of a corpus by its name; None if the name does not show it.

    The name of a tab-separated file does not show which of the formats with tabs it has: that
    follows from its content, if it fits exactly one of them.
    """
    if is_parquet(Path(path)):
        return "parquet"
    if Path(path).is_dir():
        return "annif" if documents.is_folder(Path(path)) else None
    name = without_compression(os.fspath(path)).lower()
    return next((form for suffix, form in _BY_SUFFIX.items() if name.endswith(suffix)), None)


def corpus_files(path: PathLike) -> list[str]:
    """Return the files that match a path with ``*``, ``?`` or ``[``, in order; or the path."""
    name = os.fspath(path)
    if not glob.has_magic(name) or Path(name).exists():
        return [name]
    matching = matching_uris if is_uri(name) else partial(glob.glob, recursive=True)
    found = sorted(matching(name))
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no file matches", name)
    return found


def _in_turn(
    files: list[str], form: CorpusForm, options: CorpusOptions, limits: ReadLimits | None
) -> Iterator[Document]:
    """Yield the documents of several files."""
    for file in files:
        with open_corpus(file, form, options, limits) as one:
            for document in one.documents:
                yield document if document.file else document._replace(file=file)


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

    - ``path``: the file or its URI; may be compressed, ``-`` is standard input. Or a pattern such
      as ``docs/*.jsonl.gz``, whose files are read in the order of their names. Or a folder of
      Annif, or of Parquet files, which cannot be compressed as a whole.
    - ``options`` (optional): options that the file does not contain.
    """
    options = options or CorpusOptions()
    known = check_form(path, form or corpus_form(path), {}, CORPUS_FORMS)
    files, found = corpus_files(path), None
    if files != [os.fspath(path)]:
        found = _in_turn(files, known, options, limits)
    elif known == "annif" and Path(path).is_dir():
        found = documents.read_folder(Path(path), options, limits)
    elif known == "parquet":
        found = documents.read_parquet(path, options)
    if found is not None:
        yield Corpus(display_name(path), known, found)
        return
    with open_input(path, limits) as given:
        stream = documents.in_utf8(given, options.encoding)
        if known == "tsv":
            known = _form_with_tabs(stream, options)
        yield Corpus(stream.name, known, _READERS[known](stream, options))


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
    if len(rows[0]) > 1 and _is_header(rows[0]):
        return ["tsv"]
    header = re.split("[,;|]", lines[0])
    if len(header) > 1 and _is_header(header):
        return ["csv"]
    return _forms_with_tabs(rows)


def _is_header(fields: list[str]) -> bool:
    return any(field.strip(' "').casefold() in _TEXT_COLUMNS for field in fields)


def _form_with_tabs(stream: InputStream, options: CorpusOptions) -> CorpusForm:
    """Return the format of a tab-separated file; the stream is not advanced."""
    rows = [line.split("\t") for line in _first_lines(stream)]
    named = options.text_column is not None or options.labels_column is not None
    if named or not rows or _is_header(rows[0]):
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
