"""SLEEC: local low-rank embeddings of labels, predicted from features by regression.

A baseline. AnnexML uses its neighbours by labels and its centres, LPSR its centres.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._parameters import Float, Int, param
from defrag.baselines._neighbours import (
    NeighbourEnsemble,
    conjugate_gradients,
    gram,
    multiply,
    orthonormal_basis,
    symmetric_eigenpairs,
)
from defrag.classifiers._support import unit_rows
from defrag.typing import Csr, Floats


def label_neighbours(Y: Csr, n_neighbours: int, *, power: float, n_threads: int) -> Csr:
    """Return the points with the most similar labels, for each point, including itself.

    The similarity is the number of common labels divided by the number of labels of the neighbour,
    raised to ``power``; 0.5 gives the order of cosines. Neighbours have a common label.
    """
    counts = np.diff(Y.indptr)
    scaled = Y.copy()
    scaled.data = np.repeat(np.maximum(counts, 1) ** -power, counts).astype(np.float32)
    index = sparse.csr_array(scaled.T)
    best = _native.best_matches(Y, index, n_best=n_neighbours, n_threads=n_threads)
    found = sparse.csr_array((best.scores, best.columns, best.indptr), (Y.shape[0], Y.shape[0]))
    found.sort_indices()
    return found


_KMEANS_ROUNDS = 7
_START_ROUNDS = 6
"""Rounds of subspace iteration in the first step; later steps need one round, since they start
from the subspace of the previous step."""


class SLEEC(NeighbourEnsemble):
    """Sparse local embeddings for extreme classification (Bhatia et al., 2015).

    Each learner clusters the points by spherical k-means. In each cluster, singular value
    projection finds low-rank embeddings of the points whose inner products approximate the
    cosines between the labels of neighbours by labels, and ridge regression maps features to
    these embeddings. A new point is embedded by the map of its nearest cluster, and its nearest
    neighbours vote with their labels.

    See Also
    --------
    AnnexML : Embeddings learnt by gradient steps.
    LEML : One linear map for all points.

    Notes
    -----
    The score of a label is the fraction of the votes that go to it. The L1 penalty of the
    embeddings has no effect at its published setting and is omitted.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import SLEEC
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = [[0], [0], [0], [0], [1, 2], [1, 2], [1], [1], [3], [3], [3], [3]]
    >>> model = SLEEC(2, n_neighbors=3, random_state=0).fit(X, Y)
    >>> labels, scores = model.predict_topk(X[3:5], k=1)
    >>> labels.ravel()
    array([0, 1], dtype=int32)
    """

    cluster_size: int = param(
        doc="Mean number of points per cluster; 6000 in the publication.", default=3000
    )
    n_components: int = param(default=100)
    label_neighbors: int = param(
        doc="Number of neighbours by labels whose cosines the embeddings approximate.", default=15
    )
    l2: float = param(Float(0.0, open_low=True), "Regulariser of the regression.", default=1.0)
    n_rounds: int = param(Int(1), "Number of steps of singular value projection.", default=30)
    n_steps: int = param(
        Int(1), "Number of steps of conjugate gradients of the regression.", default=15
    )

    _seconds_per_step = 1.1e-8

    def _partition(self, X: Csr, Y: Csr, n_clusters: int, seed: int) -> Csr:  # noqa: ARG002 - by features only
        return centroids(X, n_clusters, seed, n_threads=self._threads)

    def _embed(self, X: Csr, Y: Csr, seed: int) -> tuple[Floats, Floats]:
        wanted = _cosines(label_neighbours(Y, self.label_neighbors, power=0.5, n_threads=1), Y)
        rank = min(self.n_components, X.shape[0])
        Z = project(wanted, rank, n_rounds=self.n_rounds, seed=seed)
        XT = sparse.csr_array(X.T)
        weights = conjugate_gradients(
            X,
            XT,
            _native.sparse_dense(XT, Z, n_threads=1),
            weights=np.ones(Z.shape[1], dtype=np.float32),
            ridge=self.l2,
            n_steps=self.n_steps,
            n_threads=1,
        )
        # Clusters with few points have a lower rank: pad to the same number of columns.
        missing = self.n_components - weights.shape[1]
        if missing > 0:
            weights = np.pad(weights, ((0, 0), (0, missing)))
        return weights, _native.sparse_dense(X, weights, n_threads=1)


def centroids(X: Csr, n_clusters: int, seed: int, *, n_threads: int) -> Csr:
    """Return unit centres of spherical k-means, shape (n_features, n_clusters)."""
    found = _native.spherical_kmeans(
        X, n_clusters=n_clusters, max_rounds=_KMEANS_ROUNDS, seed=seed, n_threads=n_threads
    )
    known = np.flatnonzero(found.cluster >= 0)
    ones = np.ones(len(known), dtype=np.float32)
    members = sparse.csr_array((ones, (found.cluster[known], known)), (n_clusters, X.shape[0]))
    sums = _native.multiply(members, X, n_threads=n_threads)
    return sparse.csr_array(unit_rows(sums, n_threads).T)


def _cosines(neighbours: Csr, Y: Csr) -> Csr:
    """Return the symmetric matrix of the cosines between the labels of neighbours."""
    roots = np.sqrt(np.maximum(np.diff(Y.indptr), 1)).astype(np.float32)
    cosines = neighbours.copy()
    cosines.data = cosines.data / np.repeat(roots, np.diff(neighbours.indptr))
    both = sparse.csr_array(cosines.maximum(sparse.csr_array(cosines.T)))
    both.sort_indices()
    return both


def project(target: Csr, rank: int, *, n_rounds: int, seed: int) -> Floats:
    """Return vectors whose inner products approximate the stored entries of a symmetric matrix.

    Singular value projection alternates a gradient step of length 1 on the stored entries and a
    projection to the nearest positive semi-definite matrix of the given rank, by one round of
    subspace iteration from the previous subspace. The matrix itself is never formed.
    """
    n = target.shape[0]
    U: Floats = np.random.default_rng(seed).standard_normal((n, rank), np.float32)
    Z = np.zeros((n, rank), dtype=np.float32)
    step = target.copy()
    for number in range(n_rounds):
        if number:
            step.data = target.data - _native.pair_products(target, Z, Z, n_threads=1)
        for _ in range(1 if number else _START_ROUNDS):
            U = orthonormal_basis(_multiply_updated(step, Z, U), n_threads=1)
        values, rotation = symmetric_eigenpairs(gram(U, _multiply_updated(step, Z, U), n_threads=1))
        U = multiply(U, rotation, n_threads=1)
        Z = U * np.sqrt(np.maximum(values, 0.0)).astype(np.float32)
    return Z


def _multiply_updated(step: Csr, Z: Floats, U: Floats) -> Floats:
    """Return (Z Z' + step) U."""
    result = _native.sparse_dense(step, U, n_threads=1)
    result += multiply(Z, gram(Z, U, n_threads=1), n_threads=1)
    return result
