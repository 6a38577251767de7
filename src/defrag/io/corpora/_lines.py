r"""Formats with one text per line: Annif, fastText, PECOS, LibMultiLabel and plain texts.

=============  =============================================================
annif          ``text<TAB><uri> <uri>``
fasttext       ``__label__a __label__b text``
pecos          ``0,3<TAB>text``, or with relevances ``0::0.5,3::1<TAB>text``
libmultilabel  ``id<TAB>label label<TAB>text``
lines          ``text``; the labels are in another file, separated by spaces
=============  =============================================================
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from defrag.exceptions import FormatError
from defrag.io.corpora._documents import CorpusOptions, Document, counted, numbered_lines, shown
from defrag.io.corpora._label_fields import space_splitter, split_uris
from defrag.io.files import open_input

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag.io.files import InputStream

__all__ = [
    "PECOS_LABEL",
    "read_annif",
    "read_fasttext",
    "read_libmultilabel",
    "read_lines",
    "read_pecos",
]

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
