"""Corpora of texts as data files of the verbs."""

from __future__ import annotations

import functools
import inspect
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defrag._progress import progress_pulse
from defrag.cli._console import escaped, print_message
from defrag.cli._data import Form, form_of_name, read_names
from defrag.cli._flags import flag_name, refuse_flags
from defrag.io.corpora import CORPUS_FORMS, collect_texts, corpus_form, open_corpus
from defrag.io.documents import CorpusOptions, counted
from defrag.io.files import display_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from defrag.io.corpora import CorpusForm, LabelledTexts

__all__ = [
    "COLUMN_FLAGS",
    "AnyForm",
    "AnyFromFlag",
    "corpus_flags",
    "form_of_corpus",
    "form_of_matrix",
    "read_corpus",
    "read_labelled",
    "refuse_columns",
    "text_options",
]

AnyForm = Enum(  # type: ignore[misc] # the formats name the members
    "AnyForm", {word: word for word in (*(form.value for form in Form), *CORPUS_FORMS)}, type=str
)

AnyFromFlag = Annotated[
    AnyForm | None,
    typer.Option(
        "--from",
        "--format",
        help="Format of the data; default: by name, or by content for matrices.",
    ),
]

COLUMN_FLAGS = {
    "text_column": "Column or key of the texts; default: text, or title and content.",
    "labels_column": "Column or key of the labels; default: labels, or subject_uris.",
    "label_separator": "Separator of labels written as one string; also: space, none.",
}
"""Flags for reading tables of texts, with their help texts."""

# Parts of the names of two files, of the texts or features and of the labels.
_PAIRS = (("X", "Y"), ("texts", "labels"))

# Formats without columns, and those of them that separate labels by spaces.
_WITHOUT_COLUMNS = ("annif", "fasttext", "pecos", "libmultilabel", "lines")
_AT_SPACES = ("libmultilabel", "lines")

# Formats whose labels are in another file, and whose labels may be numbers.
_WITH_LABEL_FILE = ("lines",)
_WITH_NUMBERS = ("jsonl", "pecos", "tsv")


def corpus_flags(verb: Callable[..., None]) -> Callable[..., None]:
    """Decorate a verb with the flags for reading tables, passed to it as ``options``."""
    signature = inspect.signature(verb, eval_str=True)
    own = [p for p in signature.parameters.values() if p.name != "options"]
    others = [own.pop()] if own[-1].kind is inspect.Parameter.VAR_KEYWORD else []
    flags = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                str | None,
                typer.Option(flag_name(name), metavar="TEXT", help=text, rich_help_panel="Texts"),
            ],
        )
        for name, text in COLUMN_FLAGS.items()
    ]

    @functools.wraps(verb)
    def run(**arguments: Any) -> None:
        given = {name: arguments.pop(name) for name in COLUMN_FLAGS}
        verb(options=CorpusOptions(**given), **arguments)

    run.__signature__ = signature.replace(parameters=[*own, *flags, *others])  # type: ignore[attr-defined]
    return run


def form_of_corpus(
    path: str, form: AnyForm | None, options: CorpusOptions | None = None
) -> CorpusForm | None:
    """Return the format of a corpus by the flag or the file name; None for matrices.

    Raises
    ------
    ValueError
        If a flag is given that the format does not use, or if a folder is not a corpus.
    """
    if form is None:
        found = None if form_of_name(path) is not None else corpus_form(path)
        if found is None and path != "-" and Path(path).is_dir():
            _refuse_folder(Path(path))
    else:
        found = next((word for word in CORPUS_FORMS if word == form.value), None)
    if found is None and options is not None:
        refuse_columns("without texts", options)
    elif found in _WITHOUT_COLUMNS and options is not None:
        where = f"with texts in the format {found}"
        separator = None if found in _AT_SPACES else options.label_separator
        given = {
            "--text-column": options.text_column,
            "--labels-column": options.labels_column,
            "--label-separator": separator,
        }
        refuse_flags(where, given)
    return found


def _refuse_folder(folder: Path) -> None:
    """Raise ValueError for a folder that is no corpus, with the flags that read its files."""
    names = {file.name for file in folder.iterdir()}
    for name in sorted(names):
        for texts, labels in _PAIRS:
            other = name.replace(texts, labels)
            if other != name and other in names:
                raise ValueError(
                    f"{folder}: is a directory: give the file {folder / name} and --labels "
                    f"{folder / other}, with --from lines if they have texts and label names"
                )
    raise ValueError(
        f"{folder}: is a directory, not a file; a folder of texts has x.txt with x.tsv or x.key "
        "for each text (annif), or Parquet files"
    )


def refuse_columns(where: str, options: CorpusOptions) -> None:
    """Raise ValueError if a flag for reading tables is given where it changes nothing."""
    refuse_flags(where, {flag_name(name): getattr(options, name) for name in COLUMN_FLAGS})


def form_of_matrix(form: AnyForm | None) -> Form | None:
    """Return the format of a matrix given by the flag, or None."""
    return None if form is None else Form(form.value)


def text_options(
    options: CorpusOptions, form: CorpusForm, labels: str | None, label_names: str | None
) -> CorpusOptions:
    """Return the options with the files of labels and of label names.

    Raises
    ------
    ValueError
        If the format does not use them.
    """
    if form not in _WITH_LABEL_FILE:
        refuse_flags(f"with texts in the format {form}", {"--labels": labels})
    if form not in _WITH_NUMBERS:
        refuse_flags(f"with texts in the format {form}", {"--label-names": label_names})
    names = None if label_names is None else read_names(label_names, None, "name", "label")
    return replace(options, labels_path=labels, label_names=names)


def read_corpus(path: str, form: CorpusForm, options: CorpusOptions) -> LabelledTexts:
    """Read all texts of a corpus and print their number as a message."""
    with (
        progress_pulse(f"reading {escaped(display_name(path))}"),
        open_corpus(path, form, options) as corpus,
    ):
        found = collect_texts(corpus)
    n_texts = counted(len(found.texts), "text")
    print_message(f"{escaped(corpus.name)}: {n_texts} ({corpus.form})")
    return found


def read_labelled(
    path: str, form: CorpusForm, options: CorpusOptions
) -> tuple[list[str], list[list[str]]]:
    """Read all texts of a corpus and their labels; see ``read_corpus``.

    Raises
    ------
    ValueError
        If the corpus has no labels.
    """
    texts, labels = read_corpus(path, form, replace(options, labels="required"))
    if labels is None:
        hint = ": give --labels" if form in _WITH_LABEL_FILE else ""
        raise ValueError(f"{display_name(path)}: has no labels{hint}")
    return texts, labels
