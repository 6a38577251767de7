"""Candidate labels of a base classifier, and their re-ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from defrag import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr, Floats, Ids

__all__ = ["Candidates", "add_nearest", "factors", "log_scores", "ranked_labels"]

# Scores of zero are replaced by the smallest positive number before the logarithm.
_MIN_SCORE = np.nextafter(np.float32(0.0), np.float32(1.0))


@dataclass(frozen=True)
class Candidates:
    """Candidate labels of rows, with the terms of their scores.

    Attributes
    ----------
    labels : ndarray of int32, shape (n_rows, n_candidates)
        Label ids, padded with -1.
    log_scores : ndarray of float32, same shape
        Logarithms of the scores of the base classifier.
    cosines : ndarray of float32, same shape
        Cosines between rows and prototypes of labels.
    bonus : ndarray of float32, shape (n_labels,)
        Logarithms of the inverse propensities.
    """

    labels: Ids
    log_scores: Floats
    cosines: Floats
    bonus: Floats

    def best(self, strengths: Floats, weights: Floats, k: int, *, n_threads: int) -> Ids:
        """Return the columns of the best candidates, shape (n_rows, n_settings, k)."""
        return _native.rank_candidates(
            self.labels,
            self.log_scores,
            self.cosines,
            self.bonus,
            strengths=strengths,
            weights=weights,
            k=k,
            n_threads=n_threads,
        )

    def sums(self, strength: float, weight: float) -> NDArray[np.float64]:
        """Return the sums by which candidates are ranked; minus infinity for padding."""
        known = self.labels >= 0
        bonus = weight * self.bonus[np.where(known, self.labels, 0)]
        sums = self.log_scores.astype(np.float64) + strength * self.cosines + bonus
        return np.where(known, sums, -np.inf)

    def rows(self, begin: int, end: int) -> Candidates:
        """Return a range of rows."""
        part = slice(begin, end)
        return Candidates(self.labels[part], self.log_scores[part], self.cosines[part], self.bonus)


def log_scores(scores: Floats) -> Floats:
    """Return the logarithms of the scores of a classifier."""
    return np.log(np.maximum(scores, _MIN_SCORE)).astype(np.float32)


def factors(
    alpha: NDArray[np.float64], gamma: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[Floats, Floats]:
    """Return the factors of cosine and bonus relative to the log score of the base."""
    return (
        np.asarray(gamma * (1.0 - alpha) / alpha, dtype=np.float32),
        np.asarray(weight / alpha, dtype=np.float32),
    )


def add_nearest(labels: Ids, logs: Floats, nearest: Csr, width: int) -> tuple[Ids, Floats]:
    """Return candidates and the labels of nearest prototypes, with the lowest score of the row."""
    sizes = np.diff(nearest.indptr)
    rows = np.repeat(np.arange(len(labels)), sizes)
    place = np.arange(nearest.nnz) - np.repeat(nearest.indptr[:-1], sizes)
    more = np.full((len(labels), width), -1, dtype=np.int32)
    more[rows, place] = np.where(nearest.data > 0, nearest.indices, -1)
    n_labels = nearest.shape[1]
    first = np.arange(len(labels), dtype=np.int64)[:, None] * n_labels
    known = (first + labels)[labels >= 0]
    more[np.isin(first + more, known)] = -1
    lowest = np.min(logs, axis=1, where=labels >= 0, initial=0.0)
    added = np.broadcast_to(lowest[:, None], more.shape).astype(np.float32)
    return np.hstack([labels, more]), np.hstack([logs, added])


def ranked_labels(
    found: Candidates, columns: Ids, strength: float, weight: float
) -> tuple[Ids, Floats]:
    """Return labels and scores of the given columns; the first has the best score of the base."""
    taken = np.maximum(columns, 0)
    labels = np.where(columns >= 0, np.take_along_axis(found.labels, taken, 1), -1)
    logs, cosines = (np.take_along_axis(one, taken, 1) for one in (found.log_scores, found.cosines))
    sums = logs.astype(np.float64) + strength * cosines + weight * found.bonus[labels]
    best = np.max(found.log_scores, axis=1, where=found.labels >= 0, initial=-np.inf)
    with np.errstate(invalid="ignore"):  # rows without candidates
        logs = np.minimum(best[:, None] + sums - sums[:, :1], best[:, None])
    scores = np.where(labels >= 0, np.exp(logs), 0.0).astype(np.float32)
    # Different sums may round to equal scores: sort by the returned scores.
    order = np.lexsort((labels, -scores, labels < 0))
    return (
        np.take_along_axis(labels, order, 1).astype(np.int32),
        np.take_along_axis(scores, order, 1),
    )
