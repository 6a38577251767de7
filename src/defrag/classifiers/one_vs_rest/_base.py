"""Base class of one-vs-rest classifiers, trained in batches of labels."""

from __future__ import annotations

import math
from abc import abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from sklearn.base import clone

from defrag import _native
from defrag._estimator import all_or_nothing
from defrag._native import FlatWeights
from defrag._progress import progress_bar
from defrag._validation import check_features, check_labels, check_seed
from defrag.classifiers._base import Classifier, labels_with_points, unit_rows
from defrag.classifiers._cost import LANES, Cost
from defrag.classifiers.one_vs_rest._explain import flat_explainer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from defrag.explain.explainers import Explainer
    from defrag.typing import Csr, Floats, Ids, LabelsLike, MatrixLike, Progress

__all__ = ["LabelBatch", "OneVsRest", "join_weights"]

# Steps per point in addition to its non-zeros.
_STEPS_PER_POINT = 40
# Weights of a classifier per non-zero of an average point, and bytes per weight while batches
# are joined.
_WEIGHTS_PER_NON_ZERO, _BYTES_PER_WEIGHT = 9, 24


@dataclass(frozen=True)
class LabelBatch:
    """Classifiers of a batch of labels, the result of :meth:`OneVsRest.fit_batch`.

    Parameters
    ----------
    first, last : int
        The range ``first`` to ``last - 1`` among the labels with points.
    n_trained : int
        Number of labels with points.
    n_labels : int
        Number of labels.
    labels : ndarray of int32, shape (last - first,)
        Ids of the labels.
    weights : csr_array, shape (n_features + 1, last - first)
        One column per label; the last row contains the biases.
    """

    first: int
    last: int
    n_trained: int
    n_labels: int
    labels: Ids
    weights: Csr


class OneVsRest(Classifier):
    """Base class of one-vs-rest classifiers; a subclass trains a batch in :meth:`_solve`.

    A batch depends only on the data, the seed and its range of labels, so batches can be
    trained in any order, in several processes or on several machines; ``fit`` is equivalent to
    :meth:`fit_batch` for each of :meth:`batches`, followed by :meth:`join`. The size of the
    batches bounds the memory of training and does not change the result.
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

    def _train(self, X: Csr, Y: Csr, seed: int) -> None:
        X = unit_rows(X, _native.n_threads(self.n_jobs))
        points = points_of_labels(Y)
        n_trained = len(points.labels)
        batches = []
        with progress_bar("training labels", enabled=self.verbose > 0) as progress:
            for first, last in self._ranges(n_trained):
                inner = None if progress is None else _part_of(progress, first, last, n_trained)
                batches.append(self._solve(X, points.matrix[first:last], first=first, seed=seed,
                                           progress=inner))  # fmt: skip
        self.weights_ = join_weights(points.labels, batches)

    def batches(self, Y: LabelsLike) -> list[tuple[int, int]]:
        """Return the batches of the labels with points.

        Parameters
        ----------
        Y : indicator matrix or label lists
            The labels of the training points.

        Returns
        -------
        ranges : list of (int, int)
            Values of ``first`` and ``last`` for :meth:`fit_batch`.
        """
        self.check_parameters()
        n_rows = Y.shape[0] if hasattr(Y, "shape") else len(Y)
        return self._ranges(len(labels_with_points(check_labels(Y, n_rows=n_rows).matrix)))

    def fit_batch(self, X: MatrixLike, Y: LabelsLike, first: int, last: int) -> LabelBatch:
        """Train the classifiers of a range of labels; does not modify this estimator.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            The points.
        Y : indicator matrix or label lists
            Their labels.
        first, last : int
            One of the ranges of :meth:`batches`: positions ``first`` to ``last - 1`` among the
            labels with points, in the order of their ids.

        Returns
        -------
        batch : LabelBatch
            The batch, for :meth:`join`. ``random_state`` must be an int, the same for all
            batches of a model.
        """
        self.check_parameters()
        seed = check_seed(self.random_state)
        X = check_features(clone(self), X, reset=True)
        labels = check_labels(Y, n_rows=X.shape[0])
        points = points_of_labels(labels.matrix)
        n_trained = len(points.labels)
        whole = first % LANES == 0 and (last % LANES == 0 or last == n_trained)
        if not whole or not 0 <= first < last <= n_trained:
            raise ValueError(f"a batch must be a range of the {n_trained} labels with points, "
                             f"in whole blocks of {LANES}, got {first} to {last}")  # fmt: skip
        X = unit_rows(X, _native.n_threads(self.n_jobs))
        weights = self._solve(X, points.matrix[first:last], first=first, seed=seed, progress=None)
        return LabelBatch(
            first, last, n_trained, labels.matrix.shape[1], points.labels[first:last], weights
        )

    @all_or_nothing
    def join(self, batches: Iterable[LabelBatch]) -> OneVsRest:
        """Set the weights from batches of labels.

        Parameters
        ----------
        batches : iterable of LabelBatch
            All batches of a model, in any order.

        Returns
        -------
        self : OneVsRest
            The fitted classifier, equal to that of ``fit``.
        """
        self.check_parameters()
        ordered = sorted(batches, key=lambda batch: batch.first)
        sizes = {(b.n_trained, b.n_labels, b.weights.shape[0]) for b in ordered}
        if len(sizes) != 1:
            raise ValueError(f"batches must be of one model, got {len(sizes)} of them")
        n_trained, n_labels, height = sizes.pop()
        reached = 0
        for batch in ordered:
            if batch.first != reached:
                raise ValueError(f"batches must have every label once, got one that begins at "
                                 f"{batch.first} after {reached}")  # fmt: skip
            reached = batch.last
        if reached != n_trained:
            raise ValueError(f"batches must have all {n_trained} labels, got {reached}")
        labels = np.concatenate([batch.labels for batch in ordered])
        self.weights_ = join_weights(labels, [batch.weights for batch in ordered])
        self.n_features_in_ = height - 1
        self._set_labels(n_labels)
        return self

    def _ranges(self, n_trained: int) -> list[tuple[int, int]]:
        step = -(-self.batch_size // LANES) * LANES
        return [(first, min(first + step, n_trained)) for first in range(0, n_trained, step)]

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
        """Return the scores of labels by their weights; see :meth:`Classifier.explainer`."""
        return flat_explainer(self.weights_, labels)

    def restricted(self, labels: Ids) -> OneVsRest:
        """Return a classifier that has the weights of some labels only."""
        flat = self.weights_
        outputs = np.flatnonzero(np.isin(flat.labels, labels))
        part = sparse.csr_array(flat.by_output[outputs].T)
        narrow = copy(self)
        narrow.weights_ = FlatWeights(
            labels=flat.labels[outputs],
            feature_ptr=part.indptr.astype(np.int64),
            outputs=_as_outputs(part.indices, len(outputs)),
            weights=part.data.astype(np.float32, copy=False),
            bias=flat.bias[outputs],
        )
        return narrow

    def max_ranked(self) -> int:
        """Return the largest number of labels that :meth:`rank` can find for a point."""
        return len(self.weights_.labels)


@dataclass(frozen=True)
class PointsOfLabels:
    """Labels with points, and a row of points for each."""

    labels: Ids
    matrix: Csr


def points_of_labels(Y: Csr) -> PointsOfLabels:
    """Return the points of each label."""
    labels = labels_with_points(Y)
    matrix = sparse.csr_array(Y.T)
    return PointsOfLabels(labels, matrix if len(labels) == Y.shape[1] else matrix[labels])


def join_weights(labels: Ids, batches: list[Csr]) -> FlatWeights:
    """Return the joined weights of batches of labels.

    Parameters
    ----------
    labels : ndarray of int32
        The labels of all batches, in increasing order.
    batches : list of csr_array, shape (n_features + 1, n_batch)
        Weights and, in the last row, biases.
    """
    joined = sparse.csr_array(sparse.hstack(batches, format="csr"))
    n_features = joined.shape[0] - 1
    bias = joined[[n_features]].toarray().ravel()
    end = joined.indptr[n_features]
    return FlatWeights(
        labels=labels,
        feature_ptr=joined.indptr[:-1].astype(np.int64),
        outputs=_as_outputs(joined.indices[:end], len(labels)),
        weights=joined.data[:end].astype(np.float32, copy=False),
        bias=bias.astype(np.float32, copy=False),
    )


def _as_outputs(outputs: Ids, n_outputs: int) -> NDArray[np.uint16] | Ids:
    """Return outputs in the narrowest type that the search takes."""
    narrow: NDArray[np.uint16] | Ids = (
        outputs.astype(np.uint16) if n_outputs <= 2**16 else outputs.astype(np.int32, copy=False)
    )
    return narrow


def _part_of(progress: Progress, first: int, last: int, total: int) -> Progress:
    """Return a callable that reports the progress of a batch as progress of all batches."""
    return lambda share: progress((first + share * (last - first)) / total)
