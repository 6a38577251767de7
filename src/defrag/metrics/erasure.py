"""How precision falls when features go missing, and the simulation that erases them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from defrag._parameters import Float
from defrag._validation import check_matrix, check_seed
from defrag.metrics.ranking import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag.typing import Csr, LabelsLike, MatrixLike, Seed

__all__ = ["ErasureCurve", "erase_features", "erasure_curve"]


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


@dataclass(frozen=True)
class ErasureCurve:
    """What a model does on rows that are erased to several degrees.

    Attributes
    ----------
    shares : tuple of float
        The shares of the features that were erased.
    values : dict from name to ndarray of float64, shape (n_shares, n_seeds)
        The measures of :func:`defrag.metrics.evaluate`, in percent.
    """

    shares: tuple[float, ...]
    values: dict[str, NDArray[np.float64]]

    def mean(self, measure: str) -> NDArray[np.float64]:
        """Give the mean of a measure over the seeds, for every share."""
        return np.asarray(self.values[measure].mean(axis=1))


def erasure_curve(
    model: Any,
    X: MatrixLike,
    Y: LabelsLike,
    *,
    shares: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    seeds: Sequence[int] = (0, 1, 2),
    k: Sequence[int] = (1, 3, 5),
) -> ErasureCurve:
    """Erase features of the points, rank their labels, and say how good they are.

    Parameters
    ----------
    model : classifier
        Fitted; anything with ``predict_topk``.
    X : sparse or dense matrix, shape (n_points, n_features)
        The points.
    Y : labels
        Their true labels.
    shares : sequence of float, default=(0.0, 0.1, ..., 0.9)
        The shares of the features to erase; see :func:`erase_features`.
    seeds : sequence of int, default=(0, 1, 2)
        Every erasure is done once per seed.
    k : sequence of int, default=(1, 3, 5)
        How many labels of each point to look at.

    Returns
    -------
    curve : ErasureCurve
        Every measure for every share and seed.
    """
    reports = []
    for share in shares:
        # Where nothing is erased, nothing is left to chance.
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
