"""Corpora of texts as data files of the verbs."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from defrag._progress import progress_pulse
from defrag.cli._console import escaped, print_message
from defrag.cli._data import Form, form_of_name
from defrag.io.corpora import CORPUS_FORMS, corpus_form, open_corpus
from defrag.io.files import display_name
from defrag.io.texts import collect_texts

if TYPE_CHECKING:
    from defrag.io.corpora import CorpusForm
    from defrag.io.texts import LabelledTexts

__all__ = ["AnyForm", "AnyFromFlag", "form_of_corpus", "form_of_matrix", "read_corpus"]

AnyForm = Enum(  # type: ignore[misc] # the formats name the members
    "AnyForm", {word: word for word in (*(form.value for form in Form), *CORPUS_FORMS)}, type=str
)

AnyFromFlag = Annotated[
    AnyForm | None,
    typer.Option(
        "--from", "--format", help="Format of the data; default: by name, for matrices by content."
    ),
]


def form_of_corpus(path: str, form: AnyForm | None) -> CorpusForm | None:
    """Return the format of a corpus by the flag or the name of the file; None for matrices."""
    if form is None:
        return None if form_of_name(path) is not None else corpus_form(path)
    return next((word for word in CORPUS_FORMS if word == form.value), None)


def form_of_matrix(form: AnyForm | None) -> Form | None:
    """Return the format of a matrix by the flag, None if there is none."""
    return None if form is None else Form(form.value)


def read_corpus(path: str, form: CorpusForm) -> LabelledTexts:
    """Read all texts of a corpus, and say on a terminal how many they are."""
    with (
        progress_pulse(f"reading {escaped(display_name(path))}"),
        open_corpus(path, form) as corpus,
    ):
        found = collect_texts(corpus)
    print_message(f"{escaped(corpus.name)}: {len(found.texts):,} texts ({corpus.form})")
    return found
