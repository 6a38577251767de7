"""LEML: one low-rank linear map from features to labels, a baseline; LPSR can rank with it."""

from __future__ import annotations

from copy import copy
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _native
from defrag._native import RowPanels
from defrag._parameters import VERBOSE, Float, Int, fitted, param
from defrag._progress import progress_bar
from defrag.baselines._neighbours import (
    COMPONENTS,
    ROWS_AT_A_TIME,
    conjugate_gradients,
    gram,
    multiply,
    one_blas_thread,
    orthonormal_basis,
    symmetric_eigenpairs,
    unpack_panels,
)
from defrag.classifiers._base import Classifier
from defrag.classifiers._following import Shapes
from defrag.classifiers._support import Cost, labels_with_points, unit_rows
from defrag.explain.explainers import Explainer, SingleIndex
from defrag.persistence._weights import LANES, check_label_ids, panel_runs
from defrag.persistence.fields import Array, Number, Part, State, Weights
from defrag.typing import Csr, Floats, Ids, Progress

_START_ROUNDS = 3
"""Rounds of subspace iteration for the leading singular vectors of the labels."""

_MARGIN = 0.125
"""Products within this distance of 0 or 1, or beyond, are mapped to stay between 0 and 1."""


def _set_factors(part: Part, model: LEML) -> None:
    """Check the factors of a file and set them; those of float32 stay mapped."""
    n_labels, rank = len(model.labels_), part.state["rank"]
    n_panels = -(-n_labels // LANES)
    model.feature_factors_, lines = unpack_panels(part, model.n_features_in_, n_panels, rank)
    model.label_factors_ = RowPanels(lines, n_labels)


class LEML(Classifier):
    """Low-rank linear map from features to labels (Yu et al., 2014).

    Minimises ``||Y - X W H'||^2 + l2 (||W||^2 + ||H||^2)`` over W, of shape (n_features,
    n_components), and H, of shape (n_labels, n_components), by alternating least squares: H is
    computed from its normal equations, W by conjugate gradients. A matrix of the shape of Y is
    never dense. The publication starts with random factors; here H starts with the leading
    singular vectors of Y, which saves most of the rounds.

    See Also
    --------
    SLEEC : Local embeddings and nearest neighbours; more accurate on rare labels.
    DiSMEC : A full-rank linear map.

    Notes
    -----
    The score of a label is the product x W h', an estimate of 0 or 1. Values below 1/8 or above
    7/8 are mapped such that every score is strictly between 0 and 1 and the order is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import LEML
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = [[0], [0], [0], [0], [1, 2], [1, 2], [1], [1], [3], [3], [3], [3]]
    >>> model = LEML(n_components=3, l2=0.1, random_state=0).fit(X, Y)
    >>> labels, scores = model.predict_topk(X[3:5], k=2)
    >>> labels[:, 0], labels[1]
    (array([0, 1], dtype=int32), array([1, 2], dtype=int32))
    """

    n_components: int = param(
        COMPONENTS,
        "The rank; at most the number of points, features and labels.",
        default=500,
        kw_only=False,
    )
    l2: float = param(Float(0.0, open_low=True), "Regulariser of both factors.", default=1.0)
    n_rounds: int = param(Int(1), "Number of updates of each factor.", default=3)
    n_steps: int = param(Int(1), "Number of steps of conjugate gradients in a round.", default=5)
    verbose: int = param(VERBOSE, "Whether to show progress bars on a terminal.", default=0)

    feature_factors_: Floats = fitted(
        "ndarray of float32, shape (n_features, n_components)", "The factor W."
    )
    label_factors_: RowPanels = fitted("RowPanels", "The rows of H, for the labels in ``labels_``.")
    labels_: Ids = fitted("ndarray of int32", "The labels that have points.")

    _seconds_per_step = 1.2e-10

    _state = State(
        Number(rule=COMPONENTS, name="rank", get=lambda model: model.feature_factors_.shape[1]),
        Array("labels_", "int32"),
        Weights(
            "", get=lambda model: panel_runs(model.feature_factors_, model.label_factors_.lines)
        ),
        check=check_label_ids,
        finish=_set_factors,
    )

    def _train(self, X: Csr, Y: Csr, seed: int, shapes: Shapes | None = None) -> None:  # noqa: ARG002 - of label trees
        X = unit_rows(X, self._threads)
        self.labels_ = labels_with_points(Y)
        Y = sparse.csr_array(Y[:, self.labels_]) if len(self.labels_) < Y.shape[1] else Y
        with one_blas_thread(), progress_bar("factorising", enabled=self.verbose > 0) as progress:
            self.feature_factors_, H = self._factorise(X, Y, seed, progress)
        self.label_factors_ = RowPanels.pack(H)

    def _factorise(
        self, X: Csr, Y: Csr, seed: int, progress: Progress | None
    ) -> tuple[Floats, Floats]:
        n_threads = self._threads
        times = partial(_native.sparse_dense, n_threads=n_threads)
        XT, YT = sparse.csr_array(X.T), sparse.csr_array(Y.T)
        H = self._initial_label_factors(Y, YT, seed)
        W = np.zeros((X.shape[1], H.shape[1]), dtype=np.float32)
        for number in range(self.n_rounds):
            # In the basis of the eigenvectors of H'H, the columns of W are independent problems.
            values, basis = symmetric_eigenpairs(gram(H, H, n_threads=n_threads))
            rotated = multiply(H, basis, n_threads=n_threads)
            W = conjugate_gradients(
                X,
                XT,
                times(XT, times(Y, rotated)),
                weights=np.maximum(values, 0.0).astype(np.float32),
                ridge=self.l2,
                n_steps=self.n_steps,
                n_threads=n_threads,
                start=multiply(W, basis, n_threads=n_threads) if number else None,
            )
            A = times(X, W)
            system = gram(A, A, n_threads=n_threads)
            system[np.diag_indices_from(system)] += self.l2
            H = multiply(times(YT, A), np.linalg.inv(system), n_threads=n_threads)
            if progress is not None:
                progress((number + 1) / self.n_rounds)
        return W, H

    def _initial_label_factors(self, Y: Csr, YT: Csr, seed: int) -> Floats:
        """Return the leading right singular vectors of Y, times the square roots of the values."""
        times = partial(_native.sparse_dense, n_threads=self._threads)
        rank = min(self.n_components, *Y.shape)
        H: Floats = np.random.default_rng(seed).standard_normal((Y.shape[1], rank), np.float32)
        for _ in range(_START_ROUNDS):
            H = times(YT, orthonormal_basis(times(Y, H), n_threads=self._threads))
        energy, basis = symmetric_eigenpairs(gram(H, H, n_threads=self._threads))
        # Columns of norm s become columns of norm sqrt(s), where s^2 are the eigenvalues of H'H.
        scale = np.power(np.maximum(energy, 1e-12), -0.25)
        return multiply(H, basis * scale, n_threads=self._threads)

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:  # noqa: ARG002 - always exhaustive
        labels = np.full((X.shape[0], k), -1, dtype=np.int32)
        scores = np.zeros((X.shape[0], k), dtype=np.float32)
        n_best = min(k, len(self.labels_))
        for first in range(0, X.shape[0], ROWS_AT_A_TIME):
            rows = slice(first, first + ROWS_AT_A_TIME)
            unit = _native.unit_rows(X[rows], n_threads=self._threads)
            embedded = _native.sparse_dense(unit, self.feature_factors_, n_threads=self._threads)
            found, products = _native.nearest_rows(
                embedded, self.label_factors_, n_best=n_best, n_threads=self._threads
            )
            ids = np.where(found >= 0, self.labels_[found], -1)
            bent = np.where(found >= 0, bend(products), np.float32(0.0))
            # Different products may round to equal scores: sort by the returned scores.
            order = np.lexsort((ids, -bent), axis=1)
            labels[rows, :n_best] = np.take_along_axis(ids, order, 1)
            scores[rows, :n_best] = np.take_along_axis(bent, order, 1)
        return labels, scores

    def _explainer(self, row: Csr | None, labels: Ids, k: int) -> Explainer:  # noqa: ARG002 - no search
        outputs = np.minimum(np.searchsorted(self.labels_, labels), len(self.labels_) - 1)
        factors = self.label_factors_.rows(outputs).astype(np.float64)
        bias = np.zeros(len(labels))

        def weights(features: Ids) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            return factors @ self.feature_factors_[features].T, bias

        def link(products: NDArray[np.float64]) -> NDArray[np.float64]:
            return bend(products.astype(np.float32)).astype(np.float64)

        known = self.labels_[outputs] == labels
        return SingleIndex(weights, link, known)

    def _restricted(self, labels: Ids) -> LEML:
        """Return a copy of the classifier with the factors of some labels only."""
        outputs = np.flatnonzero(np.isin(self.labels_, labels))
        restricted = copy(self)
        restricted.labels_ = self.labels_[outputs]
        restricted.label_factors_ = RowPanels.pack(self.label_factors_.unpack()[outputs])
        return restricted

    def _max_ranked(self) -> int:
        return len(self.labels_)

    def _training_cost(self, X: Csr, Y: Csr) -> Cost:
        """Return the cost of the products with X, with Y and with small matrices."""
        rank = min(self.n_components, *X.shape, Y.shape[1])
        n_products = (2 * self.n_steps + 3) * X.nnz + 3 * Y.nnz
        n_steps = self.n_rounds * rank * (n_products + 3 * X.shape[0] * rank)
        numbers = rank * (2 * X.shape[0] + 6 * X.shape[1] + 2 * Y.shape[1])
        return Cost(n_steps * self._seconds_per_step, 4.0 * numbers)


def bend(products: Floats) -> NDArray[np.float32]:
    """Map products to scores strictly between 0 and 1: the identity from 1/8 to 7/8.

    Outside of this range, a product at the signed distance t inside the nearer end, 0 or 1, gets
    the distance ``m**2 / (2 * m - t)`` with m = 1/8, which is continuous with slope 1. Only
    elementary operations are used, so that all machines give the same bits.
    """
    margin = np.float32(_MARGIN)
    low = margin * margin / (2 * margin - np.minimum(products, margin))
    high = 1 - margin * margin / (2 * margin - np.minimum(1 - products, margin))
    bent = np.where(products < margin, low, np.where(products > 1 - margin, high, products))
    limits = np.finfo(np.float32)
    return np.clip(bent, limits.tiny, 1 - limits.epsneg).astype(np.float32, copy=False)
