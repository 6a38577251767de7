"""Files of points of any format: XMC text, svmlight text and numpy archives.

The format is known by the suffix of a name or by the content; svmlight text has no header, so its
suffix or the caller must tell it. The commands read and write all their data by these functions;
a file of any size costs `RowBlocks`, which ``defrag predict`` reads, the memory of a block.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from scipy import sparse

from defrag import _native
from defrag._native import ParsedText
from defrag.exceptions import FormatError
from defrag.io import xmc
from defrag.io.corpora import CORPUS_FORMS, CorpusForm, corpus_form, likely_forms
from defrag.io.documents import shown
from defrag.io.files import (
    InputStream,
    PathLike,
    ReadLimits,
    atomic_writer,
    display_name,
    open_input,
    without_compression,
)
from defrag.io.npz import parse_npz, write_npz
from defrag.typing import Csr

PointForm: TypeAlias = Literal["xmc", "svmlight", "npz"]
"""Format of a file of points."""

POINT_FORMS: tuple[PointForm, ...] = get_args(PointForm)

DataForm: TypeAlias = Literal["combined", "features", "npz"]
"""Format of a data file, as far as its content shows."""

_ZIP_MAGIC = b"PK\x03\x04"
_LONGEST_HEADER_BYTES = 1 << 16

ROWS_AT_A_TIME = 20_000
"""Rows per block of a matrix in memory."""

# Parts of the names of two files, of the texts or features and of the labels.
_PAIRS = (("X", "Y"), ("texts", "labels"))
# A header may have wrong numbers, but no words: these are of texts.
_NUMBERS = re.compile(rb"[\s\d.,:eE+-]*(#|\Z)")
_TEXT_SUFFIXES = ("", ".txt", ".xmc")
_FORM_BY_SUFFIX: dict[str, PointForm] = {
    ".npz": "npz", ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
}  # fmt: skip


@dataclass(frozen=True)
class Points:
    """Points of a file.

    Attributes
    ----------
    X : csr_array of shape (n, d), float32
        The features.
    Y : csr_array of shape (n, L), float32, or None
        The labels, 0 or 1; None if the file contains features only.
    form : {"xmc", "svmlight", "npz"}
        The format of the file.
    zero_based : bool or None
        First feature id of an svmlight file.
    """

    X: Csr
    Y: Csr | None
    form: PointForm = "xmc"
    zero_based: bool | None = None

    def with_features(self, X: Csr) -> Points:
        """Return the same points and labels with other features."""
        return replace(self, X=X)


def form_of_name(path: str) -> PointForm | None:
    """Return the format of a file by the suffix of its name; None if its content decides.

    Examples
    --------
    >>> form_of_name("train.svm.xz"), form_of_name("train.txt")
    ('svmlight', None)
    """
    return _FORM_BY_SUFFIX.get(_suffix(path))


def form_of_output(path: str) -> PointForm:
    """Return the format of an output by its name; raise ValueError for unknown suffixes."""
    form = form_of_name(path)
    if form is None and _suffix(path) not in _TEXT_SUFFIXES:
        known = ", ".join((*_TEXT_SUFFIXES[1:], *_FORM_BY_SUFFIX))
        raise ValueError(
            f"{path}: unknown suffix {_suffix(path)!r}: use one of {known}, or give --to"
        )
    return form or "xmc"


def _suffix(path: str) -> str:
    """Return the suffix of a name, without that of a compression."""
    return os.path.splitext(without_compression(path))[1].lower()  # noqa: PTH122 - may be "-"


def text_form(path: str, form: str | None = None) -> CorpusForm | None:
    """Return the format of a file of texts, by a word or by its name; None for points.

    Examples
    --------
    >>> text_form("docs.jsonl"), text_form("docs", "lines"), text_form("train.txt")
    ('jsonl', 'lines', None)
    """
    if form is not None:
        return next((word for word in CORPUS_FORMS if word == form), None)
    found = None if form_of_name(path) is not None else corpus_form(path)
    if found is None and path != "-" and Path(path).is_dir():
        _refuse_folder(Path(path))
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


def read_points(
    path: PathLike,
    *,
    labels: PathLike | None = None,
    form: str | None = None,
    zero_based: bool | None = None,
    n_features: int | None = None,
    n_labels: int | None = None,
    strict: bool = False,
    allow_truncated: bool = False,
    limits: ReadLimits | None = None,
) -> Points:
    r"""Read points, their labels if there are any, and the format of their file.

    Parameters
    ----------
    path : path
        The file; text may be compressed, ``-`` is standard input.
    labels : path, optional
        The label file, if ``path`` contains features only.
    form : {"xmc", "svmlight", "npz"}, optional
        The format; default: by the suffix of the name, then by the content: a numpy archive by
        its first bytes, XMC text by the number of words in its header.
    zero_based : bool, optional
        First feature id of an svmlight file, for which it is required.
    n_features, n_labels : int, optional
        Numbers of columns that override those of the file.
    strict, allow_truncated, limits
        As in `read_xmc`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import read_points
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "test.svm"
    >>> _ = path.write_text("0,2 1:0.5\n1 2:4\n")
    >>> points = read_points(path, zero_based=False)
    >>> points.X.shape, points.Y.shape, points.form
    ((2, 2), (2, 3), 'svmlight')
    """
    name = os.fspath(path)
    form = form or form_of_name(name)
    widths = {"n_features": n_features, "n_labels": n_labels}
    checks = {"strict": strict, "allow_truncated": allow_truncated}
    if form == "svmlight":
        base = check_base(name, zero_based)
        X, Y = xmc.read_svmlight(path, zero_based=base, strict=strict, limits=limits, **widths)
        points = Points(X, Y, "svmlight", zero_based)
    else:
        with open_input(path, limits) as stream:
            points = parse_points(stream, form, n_features=n_features, n_labels=n_labels, **checks)
    if labels is None:
        return points
    if points.Y is not None:
        message = f"has labels already, besides those of {display_name(labels)}"
        raise FormatError(display_name(path), message)
    Y = xmc.read_labels(labels, n_labels=n_labels, limits=limits, **checks)
    xmc.check_rows(display_name(labels), points.X, Y)
    return replace(points, Y=Y)


def parse_points(
    stream: InputStream,
    form: str | None = None,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    **checks: bool,
) -> Points:
    """Read XMC text or an archive from an open stream; see :func:`read_points`."""
    refuse_texts(stream)
    layout = data_form(stream)
    found: PointForm = "npz" if layout == "npz" else "xmc"
    if form not in {None, found}:
        raise ValueError(f"{stream.name}: expected {form}, found {found}")
    xmc.check_limit("n_features", n_features)
    xmc.check_limit("n_labels", n_labels)
    if found == "npz":
        X, Y = parse_npz(stream, n_features=n_features, n_labels=n_labels)
        X = _widen(stream.name, "feature", X, n_features)
        return Points(X, Y if Y is None else _widen(stream.name, "label", Y, n_labels), "npz")
    n_labels = n_labels if layout == "combined" else None
    parsed = xmc.parse_text(stream, layout, n_features=n_features, n_labels=n_labels, **checks)
    return Points(parsed.pairs, parsed.labels if layout == "combined" else None)


def refuse_texts(stream: InputStream) -> None:
    """Raise FormatError if a stream has neither an archive nor a line of numbers as a header.

    A header of wrong numbers is left to the reader of matrices, which knows the rules.
    """
    if data_form(stream) == "npz":
        return
    header = first_line(stream)
    if _NUMBERS.match(header):
        return
    forms = likely_forms(stream)
    if forms:
        flags = " or ".join(f"--from {form}" for form in forms)
        raise FormatError(
            stream.name,
            f"looks like texts: commands that take texts read them with {flags}; a matrix begins "
            "with a line of the numbers of points, features and labels",
        )
    got = shown(header.decode("utf-8", "replace").strip())
    raise FormatError(
        stream.name,
        f"the header must be the numbers of points, features and labels, got '{got}': texts need "
        f"--from FORMAT, one of {', '.join(CORPUS_FORMS)}",
        1,
    )


def check_base(path: str, zero_based: bool | None) -> bool:
    """Return ``zero_based``, or raise ValueError if it is None."""
    if zero_based is None:
        raise ValueError(
            f"{display_name(path)}: the first feature id of svmlight is unknown: "
            "give --zero-based or --one-based"
        )
    return zero_based


def write_points(path: str, points: Points, *, labels: str | None = None) -> None:
    """Write points in their format; ``-`` is standard output.

    Parameters
    ----------
    path : str
        The file.
    points : Points
        The points.
    labels : str, optional
        The label file, if the labels of XMC text are to be written separately.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from scipy import sparse
    >>> from defrag.io import Points, read_points, write_points
    >>> path = str(pathlib.Path(tempfile.mkdtemp()) / "train.npz")
    >>> write_points(path, Points(sparse.csr_array([[0.5, 0], [2, 0]]), None, "npz"))
    >>> read_points(path).X.shape
    (2, 2)
    """
    X, Y = points.X, points.Y
    if points.form == "npz":
        write_npz(path, X, Y)
    elif points.form == "svmlight":
        base = check_base(path, points.zero_based)
        labelled = sparse.csr_array((X.shape[0], 0), dtype=X.dtype) if Y is None else Y
        xmc.write_svmlight(path, X, labelled, zero_based=base)
    else:
        xmc.write_xmc(path, X, Y, labels_path=labels)


# --- Matrices in an open stream: at once, or block by block.


def data_form(stream: InputStream) -> DataForm:
    """Return the format of a data file; the stream is not advanced."""
    if stream.peek(len(_ZIP_MAGIC)) == _ZIP_MAGIC:
        return "npz"
    words = first_line(stream).partition(b"#")[0].split()
    return "features" if len(words) == 2 else "combined"


def first_line(stream: InputStream) -> bytes:
    """Return the first line of a stream that is not a comment; it is not advanced."""
    start = 0
    while (line := stream.peek_line(start, _LONGEST_HEADER_BYTES)).startswith(b"#"):
        start += len(line)
    return line


def _widen(name: str, noun: str, matrix: Csr, width: int | None) -> Csr:
    """Return a matrix with the requested number of columns."""
    if width is None or matrix.shape[1] == width:
        return matrix
    if matrix.nnz and matrix.indices.max() >= width:
        message = f"{noun} index {matrix.indices.max()}, but n_{noun}s is {width}"
        raise FormatError(name, message)
    return _native.csr_from_parts(
        (matrix.indptr, matrix.indices, matrix.data), (matrix.shape[0], width)
    )


class RowBlocks:
    r"""The features of a data file, block by block.

    Text is parsed a few megabytes at a time; an archive is read at once. Labels are checked
    and discarded. ``n_rows`` and ``n_features`` are the sizes that the header declares; after the
    last block, ``n_rows`` is the true number.
    """

    def __init__(
        self, stream: InputStream, *, strict: bool = False, allow_truncated: bool = False
    ) -> None:
        self.name = stream.name
        self._checks = {"strict": strict, "allow_truncated": allow_truncated}
        form = data_form(stream)
        if form == "npz":
            X, _ = parse_npz(stream)
            self.n_rows, self.n_features = X.shape
            self._blocks = cut_rows(X)
            return
        parts = _parsed_parts(stream, form)
        # An empty file or a wrong header fails here, before any output is written.
        first = next(part for part in parts if part.declared_rows is not None)
        self.n_rows, self.n_features = first.declared_rows or 0, first.pairs.shape[1]
        self._blocks = self._rows(chain([first], parts))

    def __iter__(self) -> Iterator[Csr]:
        return self._blocks

    def _rows(self, parts: Iterable[ParsedText]) -> Iterator[Csr]:
        found = 0
        for parsed in parts:
            if parsed.pairs.shape[0]:
                found += parsed.pairs.shape[0]
                yield parsed.pairs
        declared, self.n_rows = self.n_rows, found
        xmc.check_parsed(self.name, parsed, declared, found, **self._checks)


def _parsed_parts(stream: InputStream, form: str) -> Iterator[ParsedText]:
    """Yield the rows of runs of lines and, after the last one, the remaining rows."""
    parser = _native.TextParser(form)
    try:
        for text in stream.lines():
            parser.feed(text)
            yield parser.take_rows()
        yield parser.finish()
    except _native.ParseError as error:
        line, message = error.args
        raise FormatError(stream.name, message, line or None) from None


def cut_rows(X: Csr) -> Iterator[Csr]:
    """Yield a matrix in blocks of rows."""
    for start in range(0, X.shape[0], ROWS_AT_A_TIME):
        yield X[start : start + ROWS_AT_A_TIME]


# --- Names of columns.


def read_names(path: str, expected: int | None, noun: str, column: str) -> list[str]:
    """Read the names of the columns of a matrix, one per line; ``expected`` is their number."""
    with open_input(path) as stream:
        text = stream.read_all().decode("utf-8", "surrogateescape")
    names = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    if expected is not None and len(names) != expected:
        raise ValueError(
            f"{display_name(path)}: {len(names)} {noun}s, but the data have {expected} {column}s"
        )
    return names


def write_names(path: str, names: Sequence[str]) -> None:
    """Write names, one per line; raise ValueError if one has a line break."""
    for name in names:
        if "\n" in name or name.endswith("\r"):
            raise ValueError(f"{path}: a name must be one line, got {name!r}")
    with atomic_writer(path) as file:
        file.write("".join(f"{name}\n" for name in names).encode())
