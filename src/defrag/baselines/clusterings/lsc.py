"""LSC: landmark-based spectral clustering (Chen and Cai, 2011), of Table 1 of the paper."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from defrag import _native
from defrag._parameters import Float, Int, param
from defrag._progress import progress_pulse
from defrag._validation import canonical_csr
from defrag.agglomeration._groups import random_buckets
from defrag.baselines.clusterings._base import (
    VectorRival,
    check_memory,
    start_clusters,
    sum_clusters,
)
from defrag.typing import Csr, Ids, LabelsLike

_LANDMARK_ROUNDS = 5
_MIN_EIGENVALUE = 1e-10
# If all features are equal, their distances are rounding errors.
_MIN_WIDTH = 1e-9


class LSC(VectorRival):
    """Cluster features by spectral clustering with landmarks.

    Landmarks are the centres of a short k-means; features are represented by their
    similarities to the nearest landmarks, reduced to the leading singular vectors, and
    clustered by spherical k-means. Memory and time grow with the number of features times the
    number of groups, and with the square and the cube of the number of landmarks, which exceeds
    the number of groups: use it for at most a few thousand features.

    See Also
    --------
    sklearn.cluster.SpectralClustering : For few features.

    Notes
    -----
    Features that never occur are put into random groups.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import LSC
    >>> X = np.kron(np.eye(3), np.ones((2, 4))) + 0.01
    >>> groups = LSC(n_clusters=3, sample_points=1.0, random_state=0).fit(X)
    >>> [len(set(groups.labels_[i : i + 4])) for i in (0, 4, 8)]
    [1, 1, 1]
    """

    n_landmarks: int = param(
        Int(1),
        "Number of landmarks; at least one more than groups and at most one per feature is used.",
        default=1000,
    )
    n_neighbors: int = param(Int(1), "Number of landmarks that represent a feature.", default=5)
    n_init: int = param(
        Int(1), "Number of runs of the final k-means, of which the best is used.", default=10
    )
    max_iter: int = param(
        Int(1, 2**31 - 1), "Maximum number of iterations of the final k-means.", default=100
    )
    max_memory_gb: float = param(
        Float(0.0, open_low=True), "Raise ValueError if more memory is needed.", default=4.0
    )

    def _find(self, X: Csr, Y: LabelsLike, n_clusters: int, seed: int) -> Ids:
        n_landmarks = min(max(self.n_landmarks, n_clusters + 1), X.shape[1])
        # Singular vectors in double and single precision, sparse and compact; three squares.
        n_bytes = 32.0 * X.shape[1] * n_clusters + 24.0 * n_landmarks**2
        what = f"{X.shape[1]} features, {n_clusters} groups and {n_landmarks} landmarks"
        check_memory(self, n_bytes, what)
        seen, items = self._unit_vectors(X, Y)
        labels = random_buckets(np.arange(X.shape[1], dtype=np.int32), n_clusters, seed)
        if not len(seen):
            return labels
        with progress_pulse("clustering features", enabled=self.verbose > 0):
            cluster = start_clusters(
                items,
                min(n_landmarks, len(seen)),
                n_sampled=len(seen),
                max_rounds=_LANDMARK_ROUNDS,
                seed=seed,
                n_threads=self._threads,
            )
            near = landmark_weights(items, cluster, self.n_neighbors, self._threads)
            rows = canonical_csr(spectral_rows(near, n_clusters), name="singular vectors")
            runs = [
                _native.spherical_kmeans(
                    rows,
                    n_clusters=n_clusters,
                    max_rounds=self.max_iter,
                    seed=seed,
                    item=1 + run,
                    n_threads=self._threads,
                )
                for run in range(self.n_init)
            ]
        best = max(runs, key=lambda run: run.objective)
        labels[seen] = np.where(best.cluster >= 0, best.cluster, labels[seen])
        self.n_iter_ = best.n_rounds
        return labels


def landmark_weights(items: Csr, cluster: Ids, n_neighbors: int, n_threads: int) -> Csr:
    """Return weights of the nearest cluster means for unit items.

    A weight is exp(-D / (2 s^2)), where D is a squared distance and s the mean of all of
    them, as in the authors' program; the weights of an item sum to 1. No cluster is empty.
    """
    n_clusters = int(cluster.max()) + 1
    sizes = np.bincount(cluster[cluster >= 0], minlength=n_clusters)
    means = sparse.diags_array(1.0 / sizes) @ sum_clusters(items, cluster, n_clusters, n_threads)
    squares = np.asarray((means * means).sum(axis=1))
    mean_distance = (
        1.0
        + squares.mean()
        - 2.0 * float(np.asarray(items.mean(axis=0)) @ np.asarray(means.mean(axis=0)))
    )
    # D = 3 - 2 s with s = <item, mean> - |mean|^2 / 2 + 1 > 0, which is largest for the
    # nearest mean and is a product of vectors with one more coordinate.
    ones = sparse.csr_array(np.ones((items.shape[0], 1), dtype=np.float32))
    offset = sparse.csr_array((1.0 - squares / 2.0)[:, None])
    extended = canonical_csr(sparse.hstack([items, ones], format="csr"), name="items")
    index = canonical_csr(sparse.hstack([means, offset], format="csr").T.tocsr(), name="means")
    found = _native.best_matches(extended, index, n_best=n_neighbors, n_threads=n_threads)
    distances = 3.0 - 2.0 * found.scores.astype(np.float64)
    # Subtracting the smallest distance avoids underflow; the factor cancels in the division.
    distances -= np.repeat(distances[found.indptr[:-1]], np.diff(found.indptr))
    weights = np.exp(-distances / max(2.0 * mean_distance**2, _MIN_WIDTH))
    shape = (items.shape[0], n_clusters)
    near = sparse.csr_array((weights, found.columns, found.indptr), shape=shape)
    return sparse.csr_array(sparse.diags_array(1.0 / np.asarray(near.sum(axis=1))) @ near)


def spectral_rows(near: Csr, n_vectors: int) -> NDArray[np.float32]:
    """Return the L2-normalised rows of left singular vectors, from the second on, of weights.

    Columns, one for each landmark, are divided by the square root of their sums first.
    """
    sums = np.asarray(near.sum(axis=0))
    scaled = near @ sparse.diags_array(np.divide(1.0, np.sqrt(sums), where=sums > 0, out=sums * 0))
    n_landmarks = near.shape[1]
    first = max(0, n_landmarks - 1 - n_vectors)
    squares = (scaled.T @ scaled).toarray()
    values, vectors = linalg.eigh(squares, subset_by_index=[first, n_landmarks - 1])
    # Eigenvalues increase; the last belongs to the constant vector.
    good = values[:-1] > _MIN_EIGENVALUE
    left = scaled @ (vectors[:, :-1][:, good] / np.sqrt(values[:-1][good]))
    lengths = np.linalg.norm(left, axis=1, keepdims=True)
    return np.asarray(left / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)
