"""Data as the verbs take and give them: text, svmlight or archive, told by name or content."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from scipy import sparse

from defrag._progress import progress_pulse
from defrag.cli._console import escaped
from defrag.io import read_labels, write_features, write_npz, write_svmlight, write_xmc
from defrag.io.files import display_name, open_input
from defrag.io.formats import data_form, parse_data
from defrag.io.svmlight import read_svmlight
from defrag.io.xmc import check_rows

if TYPE_CHECKING:
    from defrag.io.files import InputStream
    from defrag.typing import Csr

__all__ = [
    "BaseFlag",
    "Data",
    "Form",
    "FromFlag",
    "LabelsFlag",
    "StrictFlag",
    "TruncatedFlag",
    "check_base",
    "form_of_name",
    "form_of_output",
    "parse",
    "read",
    "read_names",
    "write",
]

LabelsFlag = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="The label file, where DATA holds features only."),
]
StrictFlag = Annotated[
    bool, typer.Option("--strict", help="Make an error of what is otherwise a warning.")
]

TruncatedFlag = Annotated[
    bool,
    typer.Option("--allow-truncated", help="Accept fewer points than a header declares."),
]

_COMPRESSED = (".gz", ".xz")
_TEXT_ENDINGS = ("", ".txt", ".xmc")
_BY_EXTENSION = {".npz": "npz", ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight"}


class Form(str, Enum):
    """The forms of a data file: text with a header, text without one, archive."""

    xmc = "xmc"
    svmlight = "svmlight"
    npz = "npz"


FromFlag = Annotated[
    Form | None,
    typer.Option("--from", help="The form of the input; default: by its name and content."),
]
BaseFlag = Annotated[
    bool | None,
    typer.Option("--zero-based/--one-based", help="How an svmlight file counts features."),
]


@dataclass(frozen=True)
class Data:
    """Points, their labels where there are any, and the form they came in."""

    X: Csr
    Y: Csr | None
    form: Form
    zero_based: bool | None = None

    def with_features(self, X: Csr) -> Data:
        """Give the same points and labels with other features."""
        return replace(self, X=X)


def form_of_name(path: str) -> Form | None:
    """Tell the form of a file by the end of its name, or None."""
    found = _BY_EXTENSION.get(_ending(path))
    return None if found is None else Form(found)


def form_of_output(path: str) -> Form:
    """Return the form that the name of an output asks for, or raise a ValueError."""
    form = form_of_name(path)
    if form is None and _ending(path) not in _TEXT_ENDINGS:
        known = ", ".join((*_TEXT_ENDINGS[1:], *_BY_EXTENSION))
        raise ValueError(
            f"{path}: no form of data has the ending {_ending(path)!r}: use one of {known}, or "
            "give --to"
        )
    return form or Form.xmc


def _ending(path: str) -> str:
    """Return the ending of a name before that of a compression."""
    for ending in _COMPRESSED:
        path = path.removesuffix(ending)
    return os.path.splitext(path)[1].lower()  # noqa: PTH122 - may be "-"


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
    """Read a data file of any form, ``-`` being standard input.

    Parameters
    ----------
    path : str
        The file. Only svmlight has to be named, by ``form`` or by the end of the name;
        the others are told by their content.
    labels : str, optional
        The label file of the split form.
    form : Form, optional
        The form.
    zero_based : bool, optional
        How an svmlight file counts; without it such a file is refused.
    n_features, n_labels : int, optional
        Numbers of columns that overrule the file's.
    strict : bool
        Whether what is otherwise warned about is an error.
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
    """Read text with a header, or an archive, from an open stream, as ``read`` does."""
    found = Form.npz if data_form(stream) == "npz" else Form.xmc
    if form is not None and form is not found:
        raise ValueError(f"{stream.name}: expected {form.value}, found {found.value}")
    return Data(*parse_data(stream, **options), found)


def read_names(path: str, expected: int, noun: str, column: str) -> list[str]:
    """Read the names of the columns of a matrix, one per line.

    Parameters
    ----------
    path : str
        The file.
    expected : int
        How many columns there are.
    noun, column : str
        What a name and a column are called where the numbers differ.
    """
    with open_input(path) as stream:
        text = stream.read_all().decode("utf-8", "surrogateescape")
    names = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    if len(names) != expected:
        raise ValueError(
            f"{display_name(path)}: {len(names)} {noun}s, but the data have {expected} {column}s"
        )
    return names


def check_base(path: str, zero_based: bool | None) -> bool:
    """Ask for what an svmlight file does not say."""
    if zero_based is None:
        raise ValueError(
            f"{display_name(path)}: svmlight files do not say how they count features: "
            "give --zero-based or --one-based"
        )
    return zero_based


def write(path: str, data: Data, *, labels: str | None = None) -> None:
    """Write a data file in the form that the data carry, ``-`` being standard output."""
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
    """Give labels of points that have none."""
    return sparse.csr_array((X.shape[0], 0), dtype=X.dtype)
