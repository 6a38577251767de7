"""The table of formats of corpora, and which of them a file has."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from defrag.io.corpora._documents import CorpusOptions, Document
from defrag.io.corpora._json_lines import read_json_lines
from defrag.io.files import display_name, open_input, without_compression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from defrag.io.files import InputStream, PathLike
    from defrag.io.limits import ReadLimits

__all__ = ["CORPUS_FORMS", "Corpus", "CorpusForm", "corpus_form", "open_corpus"]

CorpusForm: TypeAlias = Literal["jsonl"]
"""A format of corpora."""

CORPUS_FORMS: tuple[CorpusForm, ...] = get_args(CorpusForm)

_READERS: dict[CorpusForm, Callable[[InputStream, CorpusOptions], Iterator[Document]]] = {
    "jsonl": read_json_lines,
}

_BY_SUFFIX: dict[str, CorpusForm] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}


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
        Its documents, read as they are asked for.
    """

    name: str
    form: CorpusForm
    documents: Iterator[Document]


def corpus_form(path: PathLike) -> CorpusForm | None:
    """Return the format of a corpus by its name; None if the name does not say it."""
    suffix = os.path.splitext(without_compression(os.fspath(path)))[1].lower()  # noqa: PTH122 - may be "-"
    return _BY_SUFFIX.get(suffix)


@contextmanager
def open_corpus(
    path: PathLike,
    form: CorpusForm | None = None,
    options: CorpusOptions | None = None,
    limits: ReadLimits | None = None,
) -> Iterator[Corpus]:
    """Open a corpus to read its documents one after the other.

    Parameters
    ----------
    path : path
        The file; may be compressed, ``-`` is standard input.
    form : CorpusForm, optional
        Its format; default: by its name.
    options : CorpusOptions, optional
        What the reader cannot know from the file.
    limits : ReadLimits, optional
        Bounds of what reading may cost.

    Raises
    ------
    ValueError
        If there is no such format, or if none is given and the name does not say one.
    """
    form = form or corpus_form(path)
    if form not in _READERS:
        known = ", ".join(CORPUS_FORMS)
        got = "its name does not say which" if form is None else f"got {form!r}"
        raise ValueError(f"{display_name(path)}: the format must be one of {known}: {got}")
    with open_input(path, limits) as stream:
        yield Corpus(stream.name, form, _READERS[form](stream, options or CorpusOptions()))
