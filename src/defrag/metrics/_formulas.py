"""Formulas of the ranking metrics, on checked rankings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from defrag.metrics._ranked import top_columns

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from defrag.metrics._ranked import Ranked
    from defrag.typing import Ids

__all__ = [
    "Ideal",
    "coverage_of",
    "ideal_ranking",
    "ndcg_of",
    "precision_of",
    "psndcg_of",
    "psp_of",
    "recall_of",
]


@dataclass(frozen=True)
class Ideal:
    """The best possible ranking: true labels by decreasing weight.

    Attributes
    ----------
    labels : ndarray of int32, shape (n_points, k)
        True labels, padded with -1.
    gains : ndarray of float64, shape (n_points, k)
        Their weights, padded with 0.
    found : ndarray of float64, shape (n_points, k)
        Weights of the predicted labels, 0 for wrong predictions.
    """

    labels: Ids
    gains: NDArray[np.float64]
    found: NDArray[np.float64]


def ideal_ranking(ranked: Ranked, inverse_propensity: ArrayLike, k: int) -> Ideal:
    """Check the weights and return the true labels ranked by them."""
    weights = np.asarray(inverse_propensity, dtype=np.float64)
    if weights.shape != (ranked.n_labels,):
        raise ValueError(
            f"inverse_propensity must have one weight for each of {ranked.n_labels} labels, "
            f"got shape {weights.shape}"
        )
    if not np.isfinite(weights).all() or (weights.size and weights.min() <= 0):
        bad = weights[~(np.isfinite(weights) & (weights > 0))][0]
        raise ValueError(f"inverse_propensity must be finite and > 0, got {bad}")
    truth = ranked.truth
    scores = sparse.csr_array((weights[truth.indices], truth.indices, truth.indptr), truth.shape)
    labels = top_columns(scores, k)
    padded = np.append(weights, 0.0)
    return Ideal(labels, padded[labels], np.where(ranked.hits, padded[ranked.labels], 0.0))


def discounts(k: int) -> NDArray[np.float64]:
    """Return 1 / log2(r + 1) for the ranks r = 1 to k."""
    return 1.0 / np.log2(np.arange(2, k + 2))


def precision_of(ranked: Ranked, k: int) -> float:
    """Return P@k."""
    return float(ranked.hits[:, :k].sum(axis=1).mean() / k)


def recall_of(ranked: Ranked, k: int) -> float:
    """Return R@k."""
    return float((ranked.hits[:, :k].sum(axis=1) / np.maximum(ranked.n_true, 1)).mean())


def _ideal_gain(ranked: Ranked, k: int) -> NDArray[np.float64]:
    """Return the ideal discounted gain of each point, 1 for points without labels."""
    sums = np.concatenate([[1.0], np.cumsum(discounts(k))])
    return np.asarray(sums[np.minimum(ranked.n_true, k)])


def ndcg_of(ranked: Ranked, k: int) -> float:
    """Return nDCG@k."""
    return float((ranked.hits[:, :k] @ discounts(k) / _ideal_gain(ranked, k)).mean())


def psp_of(ideal: Ideal, k: int) -> float:
    """Return PSP@k."""
    return _ratio(ideal.found[:, :k].sum(), ideal.gains[:, :k].sum())


def psndcg_of(ranked: Ranked, ideal: Ideal, k: int, normalisation: str) -> float:
    """Return PSnDCG@k."""
    found, best = ideal.found[:, :k] @ discounts(k), ideal.gains[:, :k] @ discounts(k)
    if normalisation == "pyxclib":
        scale = _ideal_gain(ranked, k)
        found, best = found / scale, best / scale
    return _ratio(found.sum(), best.sum())


def coverage_of(ranked: Ranked, ideal: Ideal | None, k: int, denominator: str) -> float:
    """Return the fraction of labels that are predicted correctly for at least one point."""
    found = len(np.unique(ranked.labels[:, :k][ranked.hits[:, :k]]))
    if denominator == "ideal" and ideal is not None:
        best = ideal.labels[:, :k]
        return _ratio(found, len(np.unique(best[best >= 0])))
    if denominator == "test":
        return _ratio(found, len(np.unique(ranked.truth.indices)))
    return _ratio(found, ranked.n_labels)


def _ratio(part: float, whole: float) -> float:
    """Return part / whole, or 0 if whole is 0."""
    return float(part / whole) if whole > 0 else 0.0
