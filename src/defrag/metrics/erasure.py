"""Erasure of features, and the metrics of a classifier on erased points.

Shows how robust a classifier is to missing features, which is what ``Fiat`` is for: it learns its
odds from points erased by `erase_features`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag._parameters import Float
from defrag._validation import check_matrix, check_seed
from defrag.metrics.ranking import evaluate
from defrag.typing import Csr, LabelsLike, MatrixLike, Seed

_SHARE = Float(0.0, 1.0)


def erase_features(X: MatrixLike, share: float, random_state: Seed = 0) -> Csr:
    """Return X with a fraction of the non-zeros of every row erased at random.

    Parameters
    ----------
    X : sparse or dense matrix, shape (n_points, n_features)
        The points.
    share : float
        Fraction to erase: a row with m non-zeros loses ``round(share * m)`` of them, chosen
        uniformly.
    random_state : int, RandomState, Generator or None, default=0
        Seed.

    Returns
    -------
    erased : csr_array, shape (n_points, n_features)
        The remaining features, with unchanged values.

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
    # One combined key sorts several times faster than two keys.
    order = np.argsort(rows + keys, kind="stable")
    place = np.empty(X.nnz, dtype=np.int64)
    place[order] = np.arange(X.nnz) - np.repeat(X.indptr[:-1], sizes)
    kept = place >= np.round(share * sizes)[rows]
    indptr = np.append(0, np.cumsum(np.bincount(rows[kept], minlength=X.shape[0])))
    return sparse.csr_array((X.data[kept], X.indices[kept], indptr), shape=X.shape)


@dataclass(frozen=True)
class ErasureCurve:
    """Metrics of a classifier on points with erased features.

    Attributes
    ----------
    shares : tuple of float
        Fractions of the features that were erased.
    values : dict from name to ndarray of float64, shape (n_shares, n_seeds)
        The metrics of :func:`defrag.metrics.evaluate`, in percent.
    """

    shares: tuple[float, ...]
    values: dict[str, NDArray[np.float64]]

    def mean(self, metric: str) -> NDArray[np.float64]:
        """Return the mean of a metric over the seeds, for each fraction."""
        return np.asarray(self.values[metric].mean(axis=1))


def erasure_curve(
    model: Any,
    X: MatrixLike,
    Y: LabelsLike,
    *,
    shares: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    seeds: Sequence[int] = (0, 1, 2),
    k: Sequence[int] = (1, 3, 5),
) -> ErasureCurve:
    """Compute the metrics of a classifier on points with erased features.

    Parameters
    ----------
    model : classifier
        A fitted model with the method ``predict_topk``.
    X : sparse or dense matrix, shape (n_points, n_features)
        The points.
    Y : labels
        Their true labels.
    shares : sequence of float, default=(0.0, 0.1, ..., 0.9)
        Fractions of the features to erase; see :func:`erase_features`.
    seeds : sequence of int, default=(0, 1, 2)
        Seeds of the erasures; every fraction is erased once per seed.
    k : sequence of int, default=(1, 3, 5)
        Numbers of labels per point that count.

    Returns
    -------
    curve : ErasureCurve
        Every metric for every fraction and seed.
    """
    reports = []
    for share in shares:
        # Without erasure, all seeds give the same result.
        chosen = seeds if share > 0 else seeds[:1]
        found = [
            evaluate(Y, model.predict_topk(erase_features(X, share, seed), max(k))[0], k=k)
            for seed in chosen
        ]
        reports.append(found * (len(seeds) // len(chosen)))
    values = {
        name: np.array([[report[name] for report in row] for row in reports])
        for name in reports[0][0]
    }
    return ErasureCurve(tuple(shares), values)
