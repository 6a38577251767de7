"""The text format of the Extreme Classification Repository, combined or split.

The format is specified in ``cpp/core/xmc_parser.hpp``, beside the parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scipy import sparse

from defrag import _native
from defrag._validation import check_labels, check_matrix
from defrag.exceptions import FormatError
from defrag.io._text import check_limit, parse_text
from defrag.io.files import atomic_writer, display_name, open_input

if TYPE_CHECKING:
    from defrag.io.files import InputStream, PathLike
    from defrag.typing import Csr, LabelsLike, MatrixLike

__all__ = ["read_features", "read_labels", "read_xmc", "write_features", "write_xmc"]


def read_xmc(
    path: PathLike,
    *,
    labels: PathLike | None = None,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: bool = True,
    drop_non_finite: bool = False,
    strict: bool = False,
) -> tuple[Csr, Csr]:
    """Read points and their labels.

    Parameters
    ----------
    path : path
        A combined file (header ``n d L``, lines ``label,label feature:value ...``), or the
        feature file of the split form (header ``n d``). May be compressed with gzip or xz;
        ``-`` is standard input.
    labels : path, optional
        The label file of the split form (header ``n L``, lines ``label:1 ...``).
    n_features, n_labels : int, optional
        Numbers of columns that overrule the header, such as those of the training data
        when a test file is read.
    zero_based : bool, default=True
        Whether ids count from 0 or from 1. This is never guessed.
    drop_non_finite : bool, default=False
        Whether values such as ``nan`` are left out, with a warning, or are an error.
    strict : bool, default=False
        Whether what is otherwise warned about (a number of points that differs from the
        header, repeated features or labels in a line) is an error.

    Returns
    -------
    X : csr_array of shape (n, d), float32
        The features.
    Y : csr_array of shape (n, L), float32
        The labels, 0 or 1.

    Raises
    ------
    FormatError
        If the file breaks a rule of the format; says which line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import read_xmc
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = path.write_text("2 3 4\\n0,3 1:0.5 2:1\\n 0:2\\n")
    >>> X, Y = read_xmc(path)
    >>> X.toarray()
    array([[0. , 0.5, 1. ],
           [2. , 0. , 0. ]], dtype=float32)
    >>> Y.toarray()
    array([[1., 0., 0., 1.],
           [0., 0., 0., 0.]], dtype=float32)
    """
    first = 0 if zero_based else 1
    if labels is not None:
        X = read_features(
            path,
            n_features=n_features,
            zero_based=zero_based,
            drop_non_finite=drop_non_finite,
            strict=strict,
        )
        Y = read_labels(labels, n_labels=n_labels, zero_based=zero_based, strict=strict)
        check_rows(display_name(labels), X, Y)
        return X, Y
    with open_input(path) as stream:
        parsed = parse_text(
            stream,
            "combined",
            strict=strict,
            n_features=check_limit("n_features", n_features),
            n_labels=check_limit("n_labels", n_labels),
            first_feature=first,
            first_label=first,
            drop_non_finite=drop_non_finite,
        )
    return parsed.features, parsed.labels
