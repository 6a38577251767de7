"""Multi-label svmlight text: no header, lines ``label,label feature:value ...``.

The format is specified in ``cpp/core/xmc_parser.hpp``, beside the parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from defrag import _native
from defrag._validation import check_labels, check_matrix
from defrag.io.files import atomic_writer, open_input
from defrag.io.xmc import check_limit, parse_text

if TYPE_CHECKING:
    from defrag.io.files import PathLike, ReadLimits
    from defrag.typing import Csr, LabelsLike, MatrixLike

__all__ = ["read_svmlight", "write_svmlight"]


def read_svmlight(
    path: PathLike,
    *,
    zero_based: bool,
    zero_based_labels: bool = True,
    n_features: int | None = None,
    n_labels: int | None = None,
    drop_non_finite: bool = False,
    strict: bool = False,
    limits: ReadLimits | None = None,
) -> tuple[Csr, Csr]:
    r"""Read points and their labels from svmlight text.

    Parameters
    ----------
    path : path
        The file; may be compressed, ``-`` is standard input.
    zero_based : bool
        Whether feature ids count from 0 or from 1, which the file does not show. The files
        on the LIBSVM page count from 1, those of scikit-learn from 0.
    zero_based_labels : bool, default=True
        The same for labels.
    n_features, n_labels : int, optional
        Numbers of columns; default: the largest id plus one.
    drop_non_finite : bool, default=False
        Whether values such as ``nan`` are dropped with a warning instead of being an error.
    strict : bool, default=False
        Whether warnings (empty lines, repeated features or labels in a line) are errors.
    limits : ReadLimits, optional
        Limits on the expansion of compressed files and on columns without entries.

    Returns
    -------
    X : csr_array of shape (n, d), float32
        The features.
    Y : csr_array of shape (n, L), float32
        The labels, 0 or 1.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import read_svmlight
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.svm"
    >>> _ = path.write_text("0,2 1:0.5 3:1 # a comment\n1 2:4\n")
    >>> X, Y = read_svmlight(path, zero_based=False)
    >>> X.toarray()
    array([[0.5, 0. , 1. ],
           [0. , 4. , 0. ]], dtype=float32)
    """
    with open_input(path, limits) as stream:
        parsed = parse_text(
            stream,
            "svmlight",
            strict=strict,
            n_features=check_limit("n_features", n_features),
            n_labels=check_limit("n_labels", n_labels),
            first_feature=0 if zero_based else 1,
            first_label=0 if zero_based_labels else 1,
            drop_non_finite=drop_non_finite,
        )
    return parsed.pairs, parsed.labels


def write_svmlight(
    path: PathLike,
    X: MatrixLike,
    Y: LabelsLike,
    *,
    zero_based: bool,
    zero_based_labels: bool = True,
) -> None:
    """Write points and their labels as svmlight text.

    ``read_svmlight`` restores the same bits if it is given the numbers of columns, which the
    file does not contain.

    Parameters
    ----------
    path : path
        The file, as for ``write_xmc``.
    X : matrix of shape (n, d)
        Finite features.
    Y : labels of n points
        An indicator matrix, label lists, or one class per point.
    zero_based : bool
        Whether feature ids count from 0 or from 1.
    zero_based_labels : bool, default=True
        The same for labels.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from defrag.io import write_svmlight
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.svm"
    >>> write_svmlight(path, [[0.5, 1], [0, 2]], [[0, 2], [1]], zero_based=False)
    >>> print(path.read_text(), end="")
    0,2 1:0.5 2:1
    1 2:2
    """
    X = check_matrix(X, name="X")
    Y = check_labels(Y, n_rows=X.shape[0]).matrix
    with atomic_writer(path) as file:
        file.writelines(
            _native.format_rows(
                X,
                Y,
                layout="svmlight",
                first_feature=0 if zero_based else 1,
                first_label=0 if zero_based_labels else 1,
            )
        )
