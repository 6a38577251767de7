"""One-vs-rest: a linear classifier per label, trained on all points, and DiSMEC.

:class:`OneVsRest` trains labels in batches and ranks with all weights at once; DiSMEC, PPDSparse
and ProXML differ only in how a batch is solved. Sixteen labels share every pass over the points.
"""

# ruff: noqa: SLF001 - the units of a training are a part of its classifier

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._native import FlatWeights, SolverOptions
from defrag._parameters import Choice, Float, Int, fitted, param
from defrag._progress import progress_bar
from defrag._scratch import Arrays
from defrag.classifiers._division import Divisible, Division, Piece, Units, Work
from defrag.classifiers._following import Shapes
from defrag.classifiers._support import LANES, Cost, labels_with_points, unit_rows
from defrag.classifiers._weights import CLASS_WEIGHT, STORED_CLASS_WEIGHT
from defrag.explain.explainers import Explainer, SingleIndex
from defrag.persistence._weights import check_flat_weights
from defrag.persistence.fields import Array, Object, State, Weights
from defrag.typing import Csr, Floats, Ids, Progress

# --- Explanations of one-vs-rest classifiers, from the weights of single labels.


def flat_explainer(flat: FlatWeights, labels: Ids) -> Explainer:
    """Return an explainer of some labels; a label without a classifier has the score 0."""
    place = np.searchsorted(flat.labels, labels)
    outputs = np.minimum(place, len(flat.labels) - 1)
    known = flat.labels[outputs] == labels

    def weights(features: Ids) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return weights_of(flat, outputs, features), flat.bias[outputs].astype(np.float64)

    from scipy.special import expit  # noqa: PLC0415 - slow to import, for explanations only

    return SingleIndex(weights, expit, known)


def weights_of(flat: FlatWeights, outputs: NDArray[np.int64], features: Ids) -> NDArray[np.float64]:
    """Return weights, shape (n_outputs, n_features), found by bisection within each feature."""
    shape = len(outputs), len(features)
    if not len(flat.weights):
        return np.zeros(shape)
    low = np.broadcast_to(flat.feature_ptr[features], shape).copy()
    end = np.broadcast_to(flat.feature_ptr[features + 1], shape)
    high, last = end.copy(), len(flat.outputs) - 1
    wanted = outputs[:, None]
    while (low < high).any():
        middle = (low + high) // 2
        before = (flat.outputs[np.minimum(middle, last)] < wanted) & (low < high)
        low, high = np.where(before, middle + 1, low), np.where(before, high, middle)
    place = np.minimum(low, last)
    found = (low < end) & (flat.outputs[place] == wanted)
    return np.where(found, flat.weights_at(place, features).astype(np.float64), 0.0)


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
    weights: Floats | None = None


_FLAT_WEIGHTS = State(
    Array("labels", "int32"),
    Array("feature_ptr", "int64"),
    Array("outputs", ("uint16", "int32")),
    Weights(get=lambda flat: (flat.widened(), flat.feature_ptr)),  # int8: a scale per feature
    Array("bias"),
    make=FlatWeights,
    check=check_flat_weights,
)


class OneVsRest(Divisible):
    """Base class of one-vs-rest classifiers; a subclass trains a batch in :meth:`_solve`.

    A batch depends only on the data, the seed and its range of labels. The size of the batches
    bounds the memory of training and does not change the result.
    """

    C: float = param(
        Float(0.0, open_low=True), "Weight of the loss relative to the regulariser.", default=1.0
    )
    batch_size: int = param(
        Int(1),
        "Number of labels that are trained together, rounded up to a multiple of 16. It bounds "
        "the memory of training and does not change the result.",
        default=1024,
    )

    weights_: FlatWeights = fitted("FlatWeights", "The classifiers of the labels with points.")

    _state = State(Object("weights_", _FLAT_WEIGHTS))

    @abstractmethod
    def _solve(
        self, X: Csr, positives: Csr, *, first: int, seed: int, progress: Progress | None
    ) -> Csr:
        """Train the classifiers of a batch.

        - ``X``, shape (n_points, n_features): unit or empty rows, including points without labels,
          which are negatives of all labels.
        - ``positives``, shape (n_batch, n_points): points of each label of the batch, at least one
          per label.
        - ``first``: position of the first label of the batch among the labels with points, a
          multiple of 16; random streams are keyed by it plus the position in the batch.
        - ``progress`` (optional): called with the fraction of this batch that is done.
        - Returns ``weights``, shape (n_features + 1, n_batch): one column per label; the last row
          contains the biases.
        """

    def _units(self) -> LabelUnits:
        """Return blocks of sixteen labels, each of which is trained on all points."""
        return LabelUnits(self)

    _seconds_per_step = 6.5e-9

    def _training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost, estimated from one pass over the points per block of sixteen labels."""
        n_points = max(1, X.shape[0])
        n_steps = math.ceil(Y.shape[1] / LANES) * (X.nnz + _STEPS_PER_POINT * n_points)
        n_weights = Y.shape[1] * min(X.shape[1], _WEIGHTS_PER_NON_ZERO * X.nnz / n_points)
        return Cost(n_steps * self._seconds_per_step, n_weights * _BYTES_PER_WEIGHT)

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:  # noqa: ARG002 - always exhaustive
        rows = _native.unit_rows(X, n_threads=self._threads)
        return _native.flat_search(self.weights_, rows, k=k, n_threads=self._threads)

    def _explainer(self, row: Csr | None, labels: Ids, k: int) -> Explainer:  # noqa: ARG002 - no search
        return flat_explainer(self.weights_, labels)

    def _restricted(self, labels: Ids) -> OneVsRest:
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

    def _max_ranked(self) -> int:
        return len(self.weights_.labels)


class LabelUnits(Units):
    """Training of one-vs-rest classifiers in blocks of sixteen labels.

    The outline is the labels with points, the result of some blocks their weights as a matrix.
    """

    model: OneVsRest

    def prepare(self, X: Csr, Y: Csr) -> OneVsRestData:
        """Return unit rows and the points of each label that has any."""
        labels = labels_with_points(Y)
        positives = sparse.csr_array(Y.T)
        if len(labels) < Y.shape[1]:
            positives = positives[labels]
        rows = unit_rows(X, self.model._threads)
        return OneVsRestData(rows, labels, positives)

    def divide(
        self,
        data: OneVsRestData,
        seed: int,  # noqa: ARG002 - nothing is random
        shapes: Shapes | None = None,  # noqa: ARG002 - of label trees
    ) -> Division:
        """Return equally expensive blocks."""
        return Division({"labels": data.labels}, np.ones(-(-len(data.labels) // LANES)))

    def train(self, data: OneVsRestData, work: Work) -> Csr:
        """Train a range of blocks, in batches."""
        model = self.model
        begin, end = work.first * LANES, min(work.last * LANES, len(data.labels))
        step = -(-model.batch_size // LANES) * LANES
        batches = []
        with progress_bar("training labels", enabled=model.verbose > 0) as progress:
            for low in range(begin, end, step):
                high = min(low + step, end)
                inner = None
                if progress is not None:
                    inner = _batch_progress(progress, low - begin, high - begin, end - begin)
                own = data.positives[low:high]
                more = {} if data.weights is None else {"weights": data.weights}
                batches.append(
                    model._solve(data.X, own, first=low, seed=work.seed, progress=inner, **more)
                )
        return _join(batches, model.n_jobs)

    def join(self, outline: Arrays, pieces: Sequence[Piece]) -> None:
        """Set the weights."""
        found = [piece.result for piece in pieces]
        self.model.weights_ = join_weights(outline["labels"], found, self.model.n_jobs)


def _join(batches: list[Csr], n_jobs: int | None) -> Csr:
    """Return matrices side by side."""
    if len(batches) == 1:
        return batches[0]
    joined: Csr = _native.join_columns(batches, n_threads=_native.n_threads(n_jobs))
    return joined


def join_weights(labels: Ids, batches: list[Csr], n_jobs: int | None = None) -> FlatWeights:
    """Return the joined weights of batches of labels.

    - ``labels``: the labels of all batches, in increasing order.
    - ``batches``, shape (n_features + 1, n_batch): weights and, in the last row, biases.
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


# --- DiSMEC: one-vs-rest with the squared hinge loss; small weights are dropped.

# Shrinking: a block of labels drops rows without a projected gradient and restores all rows in
# every fourth pass. This takes a third of the time of keeping all rows close to a margin, which
# most rows are, and ends equally close to the optimum; without restoring, it ends 4 to 10% away.
_SHRINK, _RESTORE = -0.01, 4


class DiSMEC(OneVsRest):
    """One linear classifier per label, trained on all points (Babbar and Schoelkopf, 2017).

    Minimises the squared hinge loss with an L2 regulariser and drops small weights. The
    publication uses a Newton method per label; here sixteen labels share the passes over the
    points.

    See Also
    --------
    LabelTree : Many times faster with many labels, slightly less accurate.
    Agglomerated : Classifiers on agglomerated features.

    Notes
    -----
    The score of a label with margin z is 1 / (1 + exp(-z)), which is above one half if the
    margin is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import DiSMEC
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = [[0], [0], [0], [0], [1, 2], [1, 2], [1], [1], [3], [3], [3], [3]]
    >>> model = DiSMEC(random_state=0).fit(X, Y)
    >>> labels, scores = model.predict_topk(X[3:5], k=2)
    >>> labels[:, 0], labels[1]
    (array([0, 1], dtype=int32), array([1, 2], dtype=int32))
    """

    preset: str = param(
        Choice(("fast", "default", "exact")),
        "Number of passes of the solver over the points: 5, 8, or up to 20 until the "
        "projected gradients differ by at most 0.1.",
        default="default",
        kw_only=False,
    )
    weight_threshold: float = param(
        Float(0.0), "Weights up to this absolute value are dropped.", default=0.01
    )

    _seconds_per_step = 5.3e-9

    class_weight: Any = CLASS_WEIGHT

    _state = State(parameters={"class_weight": STORED_CLASS_WEIGHT}, absent={"class_weight": None})

    def _takes_weights(self) -> bool:
        return True

    def _solve(
        self,
        X: Csr,
        positives: Csr,
        *,
        first: int,
        seed: int,
        progress: Progress | None,
        weights: Floats | None = None,
    ) -> Csr:
        options = SolverOptions(
            cost=self.C,
            max_passes={"fast": 5, "default": 8, "exact": 20}[self.preset],
            tolerance=0.1 if self.preset == "exact" else 0.0,
            shrink=_SHRINK,
            restore=_RESTORE,
            threshold=self.weight_threshold,
            seed=seed,
        )
        solution = _native.solve_blocks(
            X,
            positives,
            options,
            first_block=first // LANES,
            weights=weights,
            n_threads=self._threads,
            progress=progress,
        )
        bias = sparse.csr_array(solution.bias[None, :])
        return sparse.csr_array(sparse.vstack([solution.weights, bias], format="csr"))
