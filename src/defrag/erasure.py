"""Features that go missing, simulated: the protocol by which imputation is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from defrag._validation import Float, check_matrix, check_seed

if TYPE_CHECKING:
    from defrag.typing import Csr, MatrixLike, Seed

__all__ = ["erase_features"]

_SHARE = Float(0.0, 1.0)


def erase_features(X: MatrixLike, share: float, random_state: Seed = 0) -> Csr:
    """Delete a share of the non-zeros of every row, at random.

    Parameters
    ----------
    X : sparse or dense matrix, shape (n_points, n_features)
        The points.
    share : float
        Of the m non-zeros of a row, ``round(share * m)`` go, each as likely as the others.
    random_state : int, RandomState, Generator or None, default=0
        Seed.

    Returns
    -------
    erased : csr_array, shape (n_points, n_features)
        What is left, values as they were.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.metrics import erase_features
    >>> np.diff(erase_features(np.ones((3, 10)), 0.8).indptr).tolist()
    [2, 2, 2]
    """
    if not _SHARE.accepts(share):
        raise ValueError(f"share must be {_SHARE.describe()}, got {share!r}")
    X = check_matrix(X, name="X")
    sizes = np.diff(X.indptr)
    rows = np.repeat(np.arange(X.shape[0]), sizes)
    keys = np.random.default_rng(check_seed(random_state)).random(X.nnz)
    # One key is sorted several times as fast as two.
    order = np.argsort(rows + keys, kind="stable")
    place = np.empty(X.nnz, dtype=np.int64)
    place[order] = np.arange(X.nnz) - np.repeat(X.indptr[:-1], sizes)
    kept = place >= np.round(share * sizes)[rows]
    indptr = np.append(0, np.cumsum(np.bincount(rows[kept], minlength=X.shape[0])))
    return sparse.csr_array((X.data[kept], X.indices[kept], indptr), shape=X.shape)
