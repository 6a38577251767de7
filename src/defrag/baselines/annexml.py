"""AnnexML: a learnt partition, and embeddings with high cosines for label neighbours.

A baseline. The pairs of a step are products of sparse and dense matrices instead of a loop over
points in random order, so that the result does not depend on the number of threads.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._parameters import Float, Int, param
from defrag.baselines._neighbours import NeighbourEnsemble, conjugate_gradients, route
from defrag.baselines.sleec import centroids, label_neighbours
from defrag.persistence.trees import offsets
from defrag.typing import Csr, Floats, Ids

_PARTITION_ROUNDS = 2
_PARTITION_STEPS = 5
_PAIRS_PER_POINT = 5000
"""For the partition, the most frequent labels of a point are left out if it would be compared with
more points than this."""


class AnnexML(NeighbourEnsemble):
    """Approximate nearest neighbour search for extreme multi-label classification (Tagami, 2017).

    Each learner partitions the points by linear scorers that keep points with similar labels
    together. In each cluster, AdaGrad learns a linear map that gives a point higher cosines with
    its neighbours by labels than with random points, by minimising the loss
    ``log(1 + sum over negatives of exp(-cosine_scale (cos(i, positive) - cos(i, negative))))``.
    The publication updates the map point by point; here every step uses all points of the
    cluster and embeds each of them once instead of twenty times. A new point is embedded by the
    map of its cluster, and its nearest neighbours by cosine vote with their labels.

    See Also
    --------
    SLEEC : Embeddings by factorisation and regression.

    Notes
    -----
    The score of a label is the fraction of the votes that go to it.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import AnnexML
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = [[0], [0], [0], [0], [1, 2], [1, 2], [1], [1], [3], [3], [3], [3]]
    >>> model = AnnexML(2, n_neighbors=3, random_state=0).fit(X, Y)
    >>> labels, scores = model.predict_topk(X[3:5], k=1)
    >>> labels.ravel()
    array([0, 1], dtype=int32)
    """

    n_learners: int = param(default=15)
    label_neighbors: int = param(
        doc="Number of neighbours by labels of a point, the positives.", default=10
    )
    n_negatives: int = param(
        Int(1, 65536),
        "Number of random points of the cluster in each step, the negatives.",
        default=10,
    )
    cosine_scale: float = param(
        Float(0.0, 50.0, open_low=True), "Scale of the cosines in the loss.", default=10.0
    )
    learning_rate: float = param(
        Float(0.0, 100.0, open_low=True), "Learning rate of AdaGrad.", default=0.1
    )
    n_steps: int = param(Int(1), "Number of steps, each over all points of a cluster.", default=60)

    euclidean = False
    _seconds_per_step = 3e-8

    def _partition(self, X: Csr, Y: Csr, n_clusters: int, seed: int) -> Csr:
        """Return linear scorers that predict the cluster of most label neighbours of a point."""
        router = centroids(X, n_clusters, seed, n_threads=self._threads)
        near = label_neighbours(_rare_labels(Y), self.label_neighbors + 1, power=1.0,
                                n_threads=self._threads)  # fmt: skip
        near.data[:] = 1.0
        XT = sparse.csr_array(X.T)
        times = partial(_native.sparse_dense, n_threads=self._threads)
        one_hot = np.eye(n_clusters, dtype=np.float32)
        for _ in range(_PARTITION_ROUNDS):
            counts = times(near, one_hot[route(X, router, n_threads=self._threads)])
            scorers = conjugate_gradients(
                X,
                XT,
                times(XT, one_hot[counts.argmax(axis=1)]),
                weights=np.ones(n_clusters, dtype=np.float32),
                ridge=1.0,
                n_steps=_PARTITION_STEPS,
                n_threads=self._threads,
            )
            router = sparse.csr_array(scorers)
        return router

    def _embed(self, X: Csr, Y: Csr, seed: int) -> tuple[Floats, Floats]:
        rng = np.random.default_rng(seed)
        anchors, positives = positive_pairs(Y, self.label_neighbors)
        XT = sparse.csr_array(X.T)
        width = np.sqrt(max(1.0, X.nnz / X.shape[0]))
        shape = (X.shape[1], self.n_components)
        weights = (rng.uniform(-1.0, 1.0, shape) / width).astype(np.float32)
        energy = np.ones_like(weights)
        rate = np.float32(self.learning_rate)
        for _ in range(self.n_steps if len(anchors) else 0):
            U, lengths = unit_vectors(_native.sparse_dense(X, weights, n_threads=1))
            negatives = rng.integers(X.shape[0], size=(len(anchors), self.n_negatives),
                                      dtype=np.int32)  # fmt: skip
            slopes = cosine_slopes(U, anchors, positives, negatives, self.cosine_scale)
            # The derivative of the normalisation keeps only the part orthogonal to each vector.
            tangent = slopes - np.einsum("ij,ij->i", slopes, U)[:, None] * U
            gradient = _native.sparse_dense(XT, tangent / lengths, n_threads=1)
            energy += gradient * gradient
            weights -= rate * gradient / np.sqrt(energy)
        return weights, unit_vectors(_native.sparse_dense(X, weights, n_threads=1))[0]


def unit_vectors(Z: Floats) -> tuple[Floats, Floats]:
    """Return L2-normalised rows and their norms; zero rows are unchanged."""
    lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))[:, None]
    lengths[lengths < np.float32(1e-12)] = 1.0
    return Z / lengths, lengths


def positive_pairs(Y: Csr, n_positives: int) -> tuple[Ids, Ids]:
    """Return the points with label neighbours, and ``n_positives`` of each, repeated if fewer."""
    near = label_neighbours(Y, n_positives + 1, power=1.0, n_threads=1)
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(near.indptr))
    others = near.indices != rows
    counts = np.bincount(rows[others], minlength=Y.shape[0])
    columns = near.indices[others]
    starts = offsets(counts)[:-1]
    anchors = np.flatnonzero(counts).astype(np.int32)
    cycle = np.arange(n_positives)[None, :] % np.minimum(counts[anchors], n_positives)[:, None]
    return anchors, columns[starts[anchors][:, None] + cycle].astype(np.int32)


def cosine_slopes(
    U: Floats, anchors: Ids, positives: Ids, negatives: Ids, cosine_scale: float
) -> Floats:
    """Return the gradient, with respect to unit vectors U, of the summed losses of the anchors.

    The loss of an anchor is the mean over its positives; anchors increase.
    """
    n, n_positives = len(U), positives.shape[1]
    partners = np.hstack([positives, negatives])
    counts = np.zeros(n, dtype=np.int64)
    counts[anchors] = partners.shape[1]
    unknown = np.empty(partners.size, dtype=np.float32)
    pairs = sparse.csr_array((unknown, partners.ravel(), offsets(counts)), shape=(n, n))
    cosines = _native.pair_products(pairs, U, U, n_threads=1).reshape(partners.shape)
    # A cosine is at most 1: subtracting 1 keeps the exponents from being positive.
    powers = np.exp(np.float32(cosine_scale) * (cosines - np.float32(1.0)))
    near, far = powers[:, :n_positives], powers[:, n_positives:]
    total = far.sum(axis=1, keepdims=True)
    inverse = 1.0 / (near + total)
    scale = np.float32(cosine_scale / n_positives)
    slopes = np.hstack([-scale * total * inverse, scale * far * inverse.sum(axis=1, keepdims=True)])
    pairs.data = slopes.astype(np.float32, copy=False).ravel()
    result = _native.sparse_dense(pairs, U, n_threads=1)
    result += _native.sparse_dense(sparse.csr_array(pairs.T), U, n_threads=1)
    return result


def _rare_labels(Y: Csr) -> Csr:
    """Return the rarest labels of each point, up to ``_PAIRS_PER_POINT`` points in total."""
    frequency = np.bincount(Y.indices, minlength=Y.shape[1])[Y.indices]
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    order = np.lexsort((Y.indices, frequency, rows))
    running = np.cumsum(frequency[order])
    before = running[Y.indptr[:-1]] - frequency[order][Y.indptr[:-1]]
    spent = running - before[rows] if len(order) else running
    first = np.zeros(len(order), dtype=bool)
    first[Y.indptr[:-1]] = True
    kept = np.zeros(len(order), dtype=bool)
    kept[order] = first | (spent <= _PAIRS_PER_POINT)
    pointers = offsets(kept)[Y.indptr]
    return sparse.csr_array((Y.data[kept], Y.indices[kept], pointers), shape=Y.shape)
