"""Base class of one-vs-rest classifiers, trained in batches of labels."""

from __future__ import annotations

import math
from abc import abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._native import FlatWeights
from defrag._progress import progress_bar
from defrag.classifiers._base import labels_with_points, unit_rows
from defrag.classifiers._cost import LANES, Cost
from defrag.classifiers._division import Divisible, Division, csr_arrays, csr_from_arrays
from defrag.classifiers.one_vs_rest._explain import flat_explainer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.classifiers._division import Arrays, Piece
    from defrag.explain.explainers import Explainer
    from defrag.typing import Csr, Floats, Ids, Progress

__all__ = ["OneVsRest", "join_weights"]

# Steps per point in addition to its non-zeros.
_STEPS_PER_POINT = 40
# Weights of a classifier per non-zero of an average point, and bytes per weight while batches
# are joined.
_WEIGHTS_PER_NON_ZERO, _BYTES_PER_WEIGHT = 9, 24


@dataclass(frozen=True)
class OneVsRestData:
    """Unit rows, the labels with points, and the points of each of them."""

    X: Csr
    labels: Ids
    positives: Csr


class OneVsRest(Divisible):
    """Base class of one-vs-rest classifiers; a subclass trains a batch in :meth:`_solve`.

    A batch depends only on the data, the seed and its range of labels. The size of the batches
    bounds the memory of training and does not change the result.
    """

    batch_size: int
    verbose: int
    weights_: FlatWeights

    @abstractmethod
    def _solve(
        self, X: Csr, positives: Csr, *, first: int, seed: int, progress: Progress | None
    ) -> Csr:
        """Train the classifiers of a batch.

        Parameters
        ----------
        X : csr_array, shape (n_points, n_features)
            Unit or empty rows, including points without labels, which are negatives of all
            labels.
        positives : csr_array, shape (n_batch, n_points)
            Points of each label of the batch, at least one per label.
        first : int
            Position of the first label of the batch among the labels with points, a multiple
            of 16; random streams are keyed by it plus the position in the batch.
        seed : int
            Seed.
        progress : callable or None
            Called with the fraction of this batch that is done.

        Returns
        -------
        weights : csr_array, shape (n_features + 1, n_batch)
            One column per label; the last row contains the biases.
        """

    def prepare(self, X: Csr, Y: Csr) -> OneVsRestData:
        """Return unit rows and the points of each label that has any."""
        labels = labels_with_points(Y)
        positives = sparse.csr_array(Y.T)
        if len(labels) < Y.shape[1]:
            positives = positives[labels]
        return OneVsRestData(unit_rows(X, _native.n_threads(self.n_jobs)), labels, positives)

    def divide(self, data: OneVsRestData, seed: int) -> Division:  # noqa: ARG002 - nothing random
        """Return blocks of sixteen labels, each of which is trained on all points."""
        return Division({"labels": data.labels}, np.ones(-(-len(data.labels) // LANES)))

    def train_units(
        self,
        data: OneVsRestData,
        seed: int,
        outline: Arrays,  # noqa: ARG002 - data has the labels
        first: int,
        last: int,
    ) -> Arrays:
        """Train a range of blocks; see :meth:`Divisible.train_units`."""
        begin, end = first * LANES, min(last * LANES, len(data.labels))
        step = -(-self.batch_size // LANES) * LANES
        batches = []
        with progress_bar("training labels", enabled=self.verbose > 0) as progress:
            for low in range(begin, end, step):
                high = min(low + step, end)
                inner = None
                if progress is not None:
                    inner = _batch_progress(progress, low - begin, high - begin, end - begin)
                positives = data.positives[low:high]
                batches.append(self._solve(data.X, positives, first=low, seed=seed, progress=inner))
        return csr_arrays(_join(batches, self.n_jobs))

    def assemble(self, outline: Arrays, pieces: Sequence[Piece]) -> None:
        """Set the weights; see :meth:`Divisible.assemble`."""
        weights = [csr_from_arrays(piece.arrays) for piece in pieces]
        self.weights_ = join_weights(outline["labels"], weights, self.n_jobs)

    seconds_per_step = 6.5e-9

    def training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost, estimated from one pass over the points per block of sixteen labels."""
        n_points = max(1, X.shape[0])
        n_steps = math.ceil(Y.shape[1] / LANES) * (X.nnz + _STEPS_PER_POINT * n_points)
        n_weights = Y.shape[1] * min(X.shape[1], _WEIGHTS_PER_NON_ZERO * X.nnz / n_points)
        return Cost(n_steps * self.seconds_per_step, n_weights * _BYTES_PER_WEIGHT)

    def rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:  # noqa: ARG002 - always exhaustive
        """Return the best labels of each row; see :meth:`Classifier.rank`."""
        threads = _native.n_threads(self.n_jobs)
        rows = _native.unit_rows(X, n_threads=threads)
        return _native.flat_search(self.weights_, rows, k=k, n_threads=threads)

    def explainer(self, row: Csr | None, labels: Ids, k: int) -> Explainer:  # noqa: ARG002 - no search
        """Return an explainer of linear scores; see :meth:`Classifier.explainer`."""
        return flat_explainer(self.weights_, labels)

    def restricted(self, labels: Ids) -> OneVsRest:
        """Return a copy of the classifier with the weights of some labels only."""
        flat = self.weights_
        outputs = np.flatnonzero(np.isin(flat.labels, labels))
        part = sparse.csr_array(flat.by_output[outputs].T)
        restricted = copy(self)
        restricted.weights_ = FlatWeights(
            labels=flat.labels[outputs],
            feature_ptr=part.indptr.astype(np.int64),
            outputs=_native.narrow(part.indices, len(outputs)),
            weights=part.data.astype(np.float32, copy=False),
            bias=flat.bias[outputs],
        )
        return restricted

    def max_ranked(self) -> int:
        """Return the largest number of labels that :meth:`rank` can find for a point."""
        return len(self.weights_.labels)


def _join(batches: list[Csr], n_jobs: int | None) -> Csr:
    """Return matrices side by side."""
    if len(batches) == 1:
        return batches[0]
    joined: Csr = _native.join_columns(batches, n_threads=_native.n_threads(n_jobs))
    return joined


def join_weights(labels: Ids, batches: list[Csr], n_jobs: int | None = None) -> FlatWeights:
    """Return the joined weights of batches of labels.

    Parameters
    ----------
    labels : ndarray of int32
        The labels of all batches, in increasing order.
    batches : list of csr_array, shape (n_features + 1, n_batch)
        Weights and, in the last row, biases.
    n_jobs : int, optional
        Number of threads.
    """
    joined = _join(batches, n_jobs)
    n_features = joined.shape[0] - 1
    bias = joined[[n_features]].toarray().ravel()
    end = joined.indptr[n_features]
    return FlatWeights(
        labels=labels,
        feature_ptr=joined.indptr[:-1].astype(np.int64),
        outputs=_native.narrow(joined.indices[:end], len(labels)),
        weights=joined.data[:end].astype(np.float32, copy=False),
        bias=bias.astype(np.float32, copy=False),
    )


def _batch_progress(progress: Progress, first: int, last: int, total: int) -> Progress:
    """Return a callable that reports the progress of a batch as progress of all batches."""
    return lambda share: progress((first + share * (last - first)) / total)
