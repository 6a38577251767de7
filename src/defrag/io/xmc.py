"""Points and labels as text: the format of the Extreme Classification Repository, and svmlight.

Both are specified in ``cpp/core/formats/xmc_parser.hpp``, beside the parser; this module turns what
it returns into matrices, warnings and errors that name file and line. Predictions have the same
grammar (``predictions.py``); ``points.py`` finds out which format a file has.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from defrag import _native
from defrag._native import ParsedText
from defrag._validation import check_labels, check_matrix
from defrag.exceptions import FormatError, FormatWarning
from defrag.io.files import (
    InputStream,
    PathLike,
    ReadLimits,
    atomic_writer,
    display_name,
    open_input,
)
from defrag.typing import Csr, LabelsLike, MatrixLike


def read_xmc(
    path: PathLike,
    *,
    labels_path: PathLike | None = None,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: bool = True,
    drop_non_finite: bool = False,
    strict: bool = False,
    allow_truncated: bool = False,
    limits: ReadLimits | None = None,
) -> tuple[Csr, Csr]:
    r"""Read points and their labels from XMC text.

    Parameters
    ----------
    path : path
        A combined file (header ``n d L``, lines ``label,label feature:value ...``), or the
        feature file of the split form (header ``n d``). May be compressed with gzip or xz;
        ``-`` is standard input.
    labels_path : path, optional
        The label file of the split form (header ``n L``, lines ``label:1 ...``).
    n_features, n_labels : int, optional
        Numbers of columns that override the header, such as those of the training data
        for a test file.
    zero_based : bool, default=True
        Whether ids count from 0 or from 1.
    drop_non_finite : bool, default=False
        Whether values such as ``nan`` are dropped with a warning instead of being an error.
    strict : bool, default=False
        Whether warnings (a number of points that differs from the header, repeated features
        or labels in a line) are errors.
    allow_truncated : bool, default=False
        Whether fewer points than the header declares are a warning instead of an error.
    limits : ReadLimits, optional
        Limits on the expansion of compressed files and on columns without entries.

    Returns
    -------
    X : csr_array of shape (n, d), float32
        The features.
    Y : csr_array of shape (n, L), float32
        The labels, 0 or 1.

    Raises
    ------
    FormatError
        If the file violates a rule of the format; names the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import read_xmc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = path.write_text("2 3 4\n0,3 1:0.5 2:1\n 0:2\n")
    >>> X, Y = read_xmc(path)
    >>> X.toarray()
    array([[0. , 0.5, 1. ],
           [2. , 0. , 0. ]], dtype=float32)
    >>> Y.toarray()
    array([[1., 0., 0., 1.],
           [0., 0., 0., 0.]], dtype=float32)
    """
    how: dict[str, Any] = {"zero_based": zero_based, "strict": strict}
    how |= {"allow_truncated": allow_truncated, "limits": limits}
    of_features: dict[str, Any] = {"n_features": n_features, "drop_non_finite": drop_non_finite}
    if labels_path is not None:
        X = read_features(path, **of_features, **how)
        Y = read_labels(labels_path, n_labels=n_labels, **how)
        check_rows(display_name(labels_path), X, Y)
        return X, Y
    parsed = _read(path, "combined", n_labels=n_labels, **of_features, **how)
    return parsed.pairs, parsed.labels


def read_features(path: PathLike, **how: Any) -> Csr:
    """Read a feature file, header ``n d``, lines ``feature:value ...``; as `read_xmc` reads it."""
    return _read(path, "features", **how).pairs


def read_labels(path: PathLike, **how: Any) -> Csr:
    """Read a label file, header ``n L``, lines ``label:1 ...``; those of zero or less are none."""
    return _read(path, "labels", **how).labels


def write_xmc(
    path: PathLike, X: MatrixLike, Y: LabelsLike = None, *, labels_path: PathLike | None = None
) -> None:
    """Write points and their labels as XMC text; ``read_xmc`` restores the same bits.

    Parameters
    ----------
    path : path
        The combined file, or, without labels or with ``labels_path``, the feature file of the
        split form. It is written atomically, and compressed if its name ends in ``.gz`` or
        ``.xz``; ``-`` is standard output.
    X : matrix of shape (n, d)
        Finite features.
    Y : labels of n points, optional
        An indicator matrix, label lists, or one class per point.
    labels_path : path, optional
        The label file of the split form.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import write_xmc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> write_xmc(path, [[0, 0.1], [2, 0]], [[0, 2], []])
    >>> print(path.read_text(), end="")
    2 2 3
    0,2 1:0.1
     0:2
    """
    X = check_matrix(X, name="X")
    labels = None if Y is None else check_labels(Y, n_rows=X.shape[0]).matrix
    if labels is not None and labels_path is None:
        with atomic_writer(path) as file:
            file.write(b"%d %d %d\n" % (*X.shape, labels.shape[1]))
            file.writelines(_native.format_rows(X, labels, layout="combined"))
        return
    with atomic_writer(path) as file:
        file.write(b"%d %d\n" % X.shape)
        file.writelines(_native.format_rows(X, layout="features"))
    if labels is not None and labels_path is not None:
        with atomic_writer(labels_path) as file:
            file.write(b"%d %d\n" % labels.shape)
            file.writelines(_native.format_rows(X, labels, layout="labels"))


# --- svmlight text: no header, lines ``label,label feature:value ...``.


def read_svmlight(path: PathLike, *, zero_based: bool, **how: Any) -> tuple[Csr, Csr]:
    """Read points and labels; the file does not show whether ids of features count from 0 or 1.

    The files on the LIBSVM page count features from 1, those of scikit-learn from 0. ``how`` is as
    of `read_xmc`; without numbers of columns, there are as many as the largest id needs.
    """
    parsed = _read(path, "svmlight", zero_based=zero_based, first_label=0, **how)
    return parsed.pairs, parsed.labels


def write_svmlight(path: PathLike, X: MatrixLike, Y: LabelsLike, *, zero_based: bool) -> None:
    """Write points and labels, such as ``0,2 1:0.5``; the file has no numbers of columns."""
    X = check_matrix(X, name="X")
    Y = check_labels(Y, n_rows=X.shape[0]).matrix
    first = 0 if zero_based else 1
    with atomic_writer(path) as file:
        file.writelines(_native.format_rows(X, Y, layout="svmlight", first_feature=first))


# --- Parsing, with errors and warnings that name file and line.

_TALLIES = {
    "repeated_features": "features are repeated in a line, here first; their values were summed",
    "repeated_labels": "labels are repeated in a line, here first; they count once",
    "non_finite": "values are not finite, here first; they were dropped",
    "skipped_lines": "empty lines were skipped, here first; a point without labels and features is "
    "a line with one space",
}
"""What the parser counts."""


@dataclass(frozen=True)
class FileWarnings:
    """Warnings about a file, which are errors if ``strict``."""

    name: str
    strict: bool

    def add(self, message: str, line: int | None = None) -> None:
        """Warn, or raise FormatError if ``strict``."""
        if self.strict:
            raise FormatError(self.name, message, line)
        place = self.name if line is None else f"{self.name}:{line}"
        warnings.warn(f"{place}: {message}", FormatWarning, stacklevel=6)


def _read(
    path: PathLike,
    layout: str,
    *,
    limits: ReadLimits | None = None,
    zero_based: bool = True,
    **options: Any,
) -> ParsedText:
    """Parse a file in one of the layouts of the parser; options are those of `parse_text`."""
    first = 0 if zero_based else 1
    options = {"first_feature": first, "first_label": first, **options}
    with open_input(path, limits) as stream:
        return parse_text(stream, layout, **options)


def parse_text(
    stream: InputStream,
    layout: str,
    *,
    strict: bool = False,
    allow_truncated: bool = False,
    **options: Any,
) -> ParsedText:
    """Parse a stream in one of the layouts of the parser and issue its warnings."""
    for name in ("n_features", "n_labels"):
        check_limit(name, options.get(name))
    parser = _native.TextParser(layout, **options)
    try:
        for text in stream.lines():
            parser.feed(text)
        parsed = parser.finish()
    except _native.ParseError as error:
        line, message = error.args
        raise FormatError(stream.name, message, line or None) from None
    for noun, matrix in (
        ("label" if layout == "scores" else "feature", parsed.pairs),
        ("label", parsed.labels),
    ):
        if options.get(f"n_{noun}s") is None:
            stream.limits.check_columns(stream.name, noun, matrix.shape[1], matrix.nnz)
    n_rows = (parsed.labels if layout == "labels" else parsed.pairs).shape[0]
    declared = n_rows if parsed.declared_rows is None else parsed.declared_rows
    checks = {"strict": strict, "allow_truncated": allow_truncated}
    check_parsed(stream.name, parsed, declared, n_rows, **checks)
    return parsed


def check_parsed(
    name: str,
    parsed: ParsedText,
    declared: int,
    found: int,
    *,
    strict: bool,
    allow_truncated: bool,
) -> None:
    """Issue the warnings of the parser, and compare the declared and the true number of points."""
    file_warnings = FileWarnings(name, strict)
    if declared != found:
        message = f"the header declares {declared} points, the file has {found}"
        if declared > found and not allow_truncated:
            message += "; a truncated file is read only with allow_truncated"
            raise FormatError(name, message)
        file_warnings.add(message)
    for field, message in _TALLIES.items():
        tally = getattr(parsed, field)
        if tally.count:
            file_warnings.add(f"{tally.count} {message}", tally.first_line)


def check_limit(name: str, value: int | None) -> None:
    """Raise ValueError if a number of columns is out of range."""
    if value is not None and not 0 <= value < 2**31:
        raise ValueError(f"{name} must be in [0, 2**31), got {value!r}")


def check_rows(name: str, X: Csr, Y: Csr) -> None:
    """Raise FormatError unless features and labels have the same number of points."""
    if X.shape[0] != Y.shape[0]:
        raise FormatError(name, f"{Y.shape[0]} points, but the feature file has {X.shape[0]}")
