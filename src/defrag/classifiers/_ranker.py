"""Rankers of labels: classifiers, and classifiers restricted to some labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier
    from defrag.typing import Csr, Floats, Ids

__all__ = ["SCORES_AT_A_TIME", "FilteredRanker", "Ranker"]

SCORES_AT_A_TIME = 1 << 23
"""Number of scores in memory at a time when all labels are scored."""


class Ranker(Protocol):
    """Interface of classifiers, and of classifiers restricted to some labels."""

    def rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:
        """Return the best labels of each row; see :meth:`Classifier.rank`."""


@dataclass(frozen=True)
class FilteredRanker:
    """A ranker that ranks all labels of a classifier and keeps some of them."""

    base: Classifier
    labels: Ids

    def rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:  # noqa: ARG002 - always exhaustive
        """Return the best labels of each row; see :meth:`Classifier.rank`."""
        kept_labels = np.full((X.shape[0], k), -1, dtype=np.int32)
        kept_scores = np.zeros((X.shape[0], k), dtype=np.float32)
        n_ranked = max(1, self.base.max_ranked())
        step = 1 + SCORES_AT_A_TIME // n_ranked
        for first in range(0, X.shape[0], step):
            rows = slice(first, first + step)
            labels, scores = self.base.rank(X[rows], n_ranked, exhaustive=True)
            kept = np.isin(labels, self.labels)
            kept &= np.cumsum(kept, axis=1) <= k
            place = np.cumsum(kept, axis=1) - 1
            row = np.nonzero(kept)[0]
            kept_labels[first + row, place[kept]] = labels[kept]
            kept_scores[first + row, place[kept]] = scores[kept]
        return kept_labels, kept_scores
