"""Read data by what is in the file, for the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from defrag import _native
from defrag.exceptions import FormatError
from defrag.io._text import check_limit, parse_text
from defrag.io.files import display_name, open_input
from defrag.io.npz import parse_npz
from defrag.io.xmc import check_rows, read_labels

if TYPE_CHECKING:
    from defrag.io.files import InputStream, PathLike
    from defrag.typing import Csr

__all__ = ["DataForm", "data_form", "parse_data", "read_data"]

DataForm: TypeAlias = Literal["combined", "features", "npz"]
"""What a data file says by itself that it is."""

_ZIP_MAGIC = b"PK\x03\x04"
_LONGEST_HEADER_BYTES = 1 << 16


def read_data(
    path: PathLike,
    *,
    labels: PathLike | None = None,
    n_features: int | None = None,
    n_labels: int | None = None,
    strict: bool = False,
) -> tuple[Csr, Csr | None]:
    """Read points, and their labels where there are any, from a file of any kind.

    The content decides, not the name: a numpy archive by its first bytes, text by the
    number of words in its header (three: combined; two: features only). svmlight text has
    no header to be known by; use ``read_svmlight``.

    Parameters
    ----------
    path : path
        The file; text may be compressed, ``-`` is standard input.
    labels : path, optional
        The label file, where ``path`` holds features only.
    n_features, n_labels : int, optional
        Numbers of columns that overrule the file's.
    strict : bool, default=False
        Whether what is otherwise warned about is an error.

    Returns
    -------
    X : csr_array of shape (n, d), float32
        The features.
    Y : csr_array of shape (n, L), float32, or None
        The labels, 0 or 1; None where the file holds features only.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import read_data, write_features
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "test.txt"
    >>> write_features(path, [[0, 0.5], [2, 0]])
    >>> X, Y = read_data(path)
    >>> X.shape, Y
    ((2, 2), None)
    """
    with open_input(path) as stream:
        X, Y = parse_data(stream, n_features=n_features, n_labels=n_labels, strict=strict)
        name = stream.name
    if labels is None:
        return X, Y
    if Y is not None:
        raise FormatError(name, f"has labels already, besides those of {display_name(labels)}")
    Y = read_labels(labels, n_labels=n_labels, strict=strict)
    check_rows(display_name(labels), X, Y)
    return X, Y


def data_form(stream: InputStream) -> DataForm:
    """Tell the form of a data file by its beginning, which stays in the stream."""
    if stream.peek(len(_ZIP_MAGIC)) == _ZIP_MAGIC:
        return "npz"
    return "features" if _header_size(stream) == 2 else "combined"


def parse_data(
    stream: InputStream,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    strict: bool = False,
) -> tuple[Csr, Csr | None]:
    """Read from an open stream, as ``read_data`` does."""
    n_features = check_limit("n_features", n_features)
    n_labels = check_limit("n_labels", n_labels)
    form = data_form(stream)
    if form == "npz":
        X, Y = parse_npz(stream)
        X = _widen(stream.name, "feature", X, n_features)
        return X, None if Y is None else _widen(stream.name, "label", Y, n_labels)
    if form == "features":
        return parse_text(stream, form, strict=strict, n_features=n_features).pairs, None
    parsed = parse_text(stream, form, strict=strict, n_features=n_features, n_labels=n_labels)
    return parsed.pairs, parsed.labels


def _header_size(stream: InputStream) -> int:
    """Count the words of the first line that is no comment."""
    start = 0
    while line := stream.peek_line(start, _LONGEST_HEADER_BYTES):
        if not line.startswith(b"#"):
            return len(line.partition(b"#")[0].split())
        start += len(line)
    return 0


def _widen(name: str, noun: str, matrix: Csr, width: int | None) -> Csr:
    """Give a matrix the number of columns that the caller asked for."""
    if width is None or matrix.shape[1] == width:
        return matrix
    if matrix.nnz and matrix.indices.max() >= width:
        message = f"{noun} index {matrix.indices.max()}, but n_{noun}s is {width}"
        raise FormatError(name, message)
    return _native.csr_from_parts(_native.csr_parts(matrix), (matrix.shape[0], width))
