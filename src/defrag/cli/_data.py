"""Data files of the verbs: XMC text, svmlight text or numpy archives."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from scipy import sparse

from defrag._progress import progress_pulse
from defrag.cli._console import escaped
from defrag.exceptions import FormatError
from defrag.io import read_labels, write_features, write_npz, write_svmlight, write_xmc
from defrag.io.corpora import CORPUS_FORMS, likely_forms
from defrag.io.documents import shown
from defrag.io.files import display_name, open_input, without_compression
from defrag.io.formats import data_form, parse_data
from defrag.io.xmc import check_rows, read_svmlight

if TYPE_CHECKING:
    from defrag.io.files import InputStream
    from defrag.typing import Csr

__all__ = [
    "BaseFlag",
    "Data",
    "Form",
    "FromFlag",
    "LabelNamesFlag",
    "LabelsFlag",
    "StrictFlag",
    "TruncatedFlag",
    "VocabularyFlag",
    "check_base",
    "form_of_name",
    "form_of_output",
    "parse",
    "read",
    "read_all_names",
    "read_names",
    "refuse_texts",
    "write",
]

LabelsFlag = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="The label file, if DATA has features only."),
]
LabelNamesFlag = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Names of the labels, one per line, stored in the model."),
]
VocabularyFlag = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Names of the features, one per line, stored in the model."),
]
StrictFlag = Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")]

TruncatedFlag = Annotated[
    bool,
    typer.Option("--allow-truncated", help="Accept fewer points than a header declares."),
]

# A header may have wrong numbers, but no words: these are of texts.
_NUMBERS = re.compile(rb"[\s\d.,:eE+-]*(#|\Z)")
_HEADER_BYTES = 1 << 16
_TEXT_SUFFIXES = ("", ".txt", ".xmc")
_FORM_BY_SUFFIX = {
    ".npz": "npz",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}


class Form(str, Enum):
    """Formats of data files."""

    xmc = "xmc"
    svmlight = "svmlight"
    npz = "npz"


FromFlag = Annotated[
    Form | None,
    typer.Option("--from", help="Format of the input; default: by name and content."),
]
BaseFlag = Annotated[
    bool | None,
    typer.Option("--zero-based/--one-based", help="First feature id of an svmlight file, 0 or 1."),
]


@dataclass(frozen=True)
class Data:
    """Points, their labels if any, and the format of the file."""

    X: Csr
    Y: Csr | None
    form: Form
    zero_based: bool | None = None

    def with_features(self, X: Csr) -> Data:
        """Return the same points and labels with other features."""
        return replace(self, X=X)


def form_of_name(path: str) -> Form | None:
    """Return the format of a file by the suffix of its name, or None."""
    found = _FORM_BY_SUFFIX.get(_suffix(path))
    return None if found is None else Form(found)


def form_of_output(path: str) -> Form:
    """Return the format of an output by its name; raise ValueError for unknown suffixes."""
    form = form_of_name(path)
    if form is None and _suffix(path) not in _TEXT_SUFFIXES:
        known = ", ".join((*_TEXT_SUFFIXES[1:], *_FORM_BY_SUFFIX))
        raise ValueError(
            f"{path}: unknown suffix {_suffix(path)!r}: use one of {known}, or give --to"
        )
    return form or Form.xmc


def _suffix(path: str) -> str:
    """Return the suffix of a name, without that of a compression."""
    return os.path.splitext(without_compression(path))[1].lower()  # noqa: PTH122 - may be "-"


def read(
    path: str,
    *,
    labels: str | None = None,
    form: Form | None = None,
    zero_based: bool | None = None,
    n_features: int | None = None,
    n_labels: int | None = None,
    strict: bool = False,
    allow_truncated: bool = False,
) -> Data:
    """Read a data file of any format; ``-`` is standard input.

    Parameters
    ----------
    path : str
        The file. svmlight text needs ``form`` or a suffix; the others are detected by content.
    labels : str, optional
        The label file of the split form.
    form : Form, optional
        The format.
    zero_based : bool, optional
        First feature id of an svmlight file, for which it is required.
    n_features, n_labels : int, optional
        Numbers of columns that override those of the file.
    strict : bool
        Whether warnings are errors.
    allow_truncated : bool
        Whether fewer points than declared are a warning instead of an error.
    """
    form = form or form_of_name(path)
    limits: dict[str, Any] = {"n_features": n_features, "n_labels": n_labels}
    with progress_pulse(f"reading {escaped(display_name(path))}"):
        if form is Form.svmlight:
            base = check_base(path, zero_based)
            X, Y = read_svmlight(path, zero_based=base, strict=strict, **limits)
            data = Data(X, Y, form, zero_based)
        else:
            with open_input(path) as stream:
                data = parse(stream, form, strict=strict, allow_truncated=allow_truncated, **limits)
        if labels is None:
            return data
        if data.Y is not None:
            raise ValueError(f"{display_name(path)}: has labels already, besides those of {labels}")
        Y = read_labels(labels, n_labels=n_labels, strict=strict, allow_truncated=allow_truncated)
        check_rows(display_name(labels), data.X, Y)
    return replace(data, Y=Y)


def parse(stream: InputStream, form: Form | None = None, **options: Any) -> Data:
    """Read XMC text or an archive from an open stream; see ``read``."""
    refuse_texts(stream)
    found = Form.npz if data_form(stream) == "npz" else Form.xmc
    if form is not None and form is not found:
        raise ValueError(f"{stream.name}: expected {form.value}, found {found.value}")
    return Data(*parse_data(stream, **options), found)


def refuse_texts(stream: InputStream) -> None:
    """Raise FormatError if a stream has neither an archive nor a line of numbers as a header.

    A header of wrong numbers is left to the reader of matrices, which knows the rules.
    """
    if data_form(stream) == "npz":
        return
    header = _first_line(stream)
    if _NUMBERS.match(header):
        return
    forms = likely_forms(stream)
    if forms:
        flags = " or ".join(f"--from {form}" for form in forms)
        message = (
            "looks like texts: commands that take texts read them with "
            f"{flags}; a matrix begins with a line of the numbers of points, features and labels"
        )
        raise FormatError(stream.name, message)
    got = shown(header.decode("utf-8", "replace").strip())
    message = (
        f"the header must be the numbers of points, features and labels, got {got!r}: texts need "
        f"--from FORMAT, one of {', '.join(CORPUS_FORMS)}"
    )
    raise FormatError(stream.name, message, 1)


def _first_line(stream: InputStream) -> bytes:
    """Return the first line of a stream that is not a comment; it is not advanced."""
    start = 0
    while (line := stream.peek_line(start, _HEADER_BYTES)).startswith(b"#"):
        start += len(line)
    return line


def read_all_names(
    label_names: str | None, vocabulary: str | None, *, n_labels: int, n_features: int
) -> dict[str, list[str]]:
    """Read the given files of names and return the arguments of ``save``."""
    names = {}
    if label_names is not None:
        names["label_names"] = read_names(label_names, n_labels, "name", "label")
    if vocabulary is not None:
        names["vocabulary"] = read_names(vocabulary, n_features, "word", "feature")
    return names


def read_names(path: str, expected: int | None, noun: str, column: str) -> list[str]:
    """Read the names of the columns of a matrix, one per line.

    Parameters
    ----------
    path : str
        The file.
    expected : int or None
        Number of columns, if it is known.
    noun, column : str
        Nouns for a name and a column in error messages.
    """
    with open_input(path) as stream:
        text = stream.read_all().decode("utf-8", "surrogateescape")
    names = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    if expected is not None and len(names) != expected:
        raise ValueError(
            f"{display_name(path)}: {len(names)} {noun}s, but the data have {expected} {column}s"
        )
    return names


def check_base(path: str, zero_based: bool | None) -> bool:
    """Return ``zero_based``, or raise ValueError if it is None."""
    if zero_based is None:
        raise ValueError(
            f"{display_name(path)}: the first feature id of svmlight is unknown: "
            "give --zero-based or --one-based"
        )
    return zero_based


def write(path: str, data: Data, *, labels: str | None = None) -> None:
    """Write a data file in the format of the data; ``-`` is standard output."""
    with progress_pulse(f"writing {escaped(path)}"):
        if data.form is Form.npz:
            write_npz(path, data.X, data.Y)
        elif data.form is Form.svmlight:
            base = check_base(path, data.zero_based)
            labelled = data.Y if data.Y is not None else no_labels(data.X)
            write_svmlight(path, data.X, labelled, zero_based=base)
        elif data.Y is None:
            write_features(path, data.X)
        else:
            write_xmc(path, data.X, data.Y, labels_path=labels)


def no_labels(X: Csr) -> Csr:
    """Return a label matrix without labels for the points of X."""
    return sparse.csr_array((X.shape[0], 0), dtype=X.dtype)
