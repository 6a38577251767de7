"""SLEEC: local low-rank embeddings of the labels, regressed on the features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._parameters import Choice, Float, Int
from defrag.classifiers._base import unit_rows
from defrag.classifiers.embeddings._algebra import (
    conjugate_gradients,
    gram,
    multiply,
    orthonormal_basis,
    symmetric_eigenpairs,
)
from defrag.classifiers.embeddings._base import NeighbourEnsemble
from defrag.classifiers.embeddings._labels import label_neighbours

if TYPE_CHECKING:
    from defrag.typing import Csr, Floats, Seed

__all__ = ["SLEEC"]

_KMEANS_ROUNDS = 7
_START_ROUNDS = 6
"""Rounds of subspace iteration before the first step; a later step needs one, as it begins with
the subspace of the step before."""


class SLEEC(NeighbourEnsemble):
    """Sparse local embeddings for extreme classification (Bhatia et al., 2015).

    Each learner clusters the points by spherical k-means. In a cluster, points get vectors of
    low rank whose inner products are the cosines of the labels of points that are neighbours by
    labels (singular value projection), and ridge regression maps features to these vectors. A
    new point is mapped in its nearest cluster, and its nearest neighbours vote with their
    labels.

    Parameters
    ----------
    n_learners : int, default=10
        Partitions of the points.
    cluster_size : int, default=3000
        Points per cluster, on average; published with 6000.
    n_components : int, default=100
        Length of the vectors.
    label_neighbors : int, default=15
        Neighbours by labels whose cosines the vectors keep.
    n_neighbors : int, default=10
        Neighbours that vote, in each learner.
    votes : {"rank", "count"}, default="rank"
        The r-th nearest neighbour has 1 / r votes, or each has one, as published.
    search : {"exact", "hnsw"}, default="exact"
        Exact neighbours, or approximate ones by a graph for each cluster of more than 50,000
        points, built when it is first searched; needs ``pip install defrag[ann]``.
    l2 : float, default=1.0
        The regulariser of the regression.
    n_rounds : int, default=30
        Steps of singular value projection.
    n_steps : int, default=15
        Steps of conjugate gradients of the regression.
    random_state : int, RandomState, Generator or None, default=None
        Seed; the same int gives the same model whatever ``n_jobs``.
    n_jobs : int, optional
        Threads, as in scikit-learn; -1 for all.
    verbose : int, default=0
        Show progress bars on a terminal.

    Attributes
    ----------
    learners_ : list of Learner
        The fitted partitions and maps.
    point_labels_ : csr_array
        The labels of the training points that have any.
    classes_ : ndarray
        The classes, or the label ids.
    n_labels_ : int
        How many labels there are.
    n_features_in_ : int
        How many features X had.

    See Also
    --------
    AnnexML : Vectors learnt so that label neighbours are near, by gradient steps.
    LEML : One linear map for all points.

    Notes
    -----
    The score of a label is the share of the votes of the neighbours that have it. The published
    L1 penalty of the embeddings does nothing at its published setting and is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag import SLEEC
    >>> X = np.kron(np.eye(3), np.ones((4, 2)))
    >>> Y = [[0], [0], [0], [0], [1, 2], [1, 2], [1], [1], [3], [3], [3], [3]]
    >>> model = SLEEC(2, n_neighbors=3, random_state=0).fit(X, Y)
    >>> labels, scores = model.predict_topk(X[3:5], k=1)
    >>> labels.ravel()
    array([0, 1], dtype=int32)
    """

    def __init__(
        self,
        n_learners: int = 10,
        *,
        cluster_size: int = 3000,
        n_components: int = 100,
        label_neighbors: int = 15,
        n_neighbors: int = 10,
        votes: str = "rank",
        search: str = "exact",
        l2: float = 1.0,
        n_rounds: int = 30,
        n_steps: int = 15,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_learners = n_learners
        self.cluster_size = cluster_size
        self.n_components = n_components
        self.label_neighbors = label_neighbors
        self.n_neighbors = n_neighbors
        self.votes = votes
        self.search = search
        self.l2 = l2
        self.n_rounds = n_rounds
        self.n_steps = n_steps
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    seconds_per_step = 1.1e-8

    parameter_rules: ClassVar[dict[str, Any]] = {
        "n_learners": Int(1, 65536),
        "cluster_size": Int(1),
        "n_components": Int(1, 65536),
        "label_neighbors": Int(1, 65536),
        "n_neighbors": Int(1, 65536),
        "votes": Choice(("rank", "count")),
        "search": Choice(("exact", "hnsw")),
        "l2": Float(0.0, open_low=True),
        "n_rounds": Int(1),
        "n_steps": Int(1),
        "n_jobs": Int(none=True),
        "verbose": Int(0),
    }

    def _partition(self, X: Csr, Y: Csr, n_clusters: int, seed: int) -> Csr:  # noqa: ARG002 - features alone
        return centroids(X, n_clusters, seed, n_threads=_native.n_threads(self.n_jobs))

    def _embed(self, X: Csr, Y: Csr, seed: int) -> tuple[Floats, Floats]:
        wanted = label_neighbours(Y, self.label_neighbors, power=0.5, n_threads=1)
        Z = project(
            _cosines(wanted, Y), min(self.n_components, X.shape[0]), n_rounds=self.n_rounds,
            seed=seed,
        )  # fmt: skip
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
        # As many columns in every cluster, however few points it has.
        missing = self.n_components - weights.shape[1]
        if missing > 0:
            weights = np.pad(weights, ((0, 0), (0, missing)))
        return weights, _native.sparse_dense(X, weights, n_threads=1)


def centroids(X: Csr, n_clusters: int, seed: int, *, n_threads: int) -> Csr:
    """Cluster points by their cosines and return the unit centres, features by clusters."""
    found = _native.spherical_kmeans(
        X, n_clusters=n_clusters, max_rounds=_KMEANS_ROUNDS, seed=seed, n_threads=n_threads
    )
    known = np.flatnonzero(found.cluster >= 0)
    ones = np.ones(len(known), dtype=np.float32)
    members = sparse.csr_array((ones, (found.cluster[known], known)), (n_clusters, X.shape[0]))
    sums = _native.multiply(members, X, n_threads=n_threads)
    return sparse.csr_array(unit_rows(sums, n_threads).T)


def _cosines(neighbours: Csr, Y: Csr) -> Csr:
    """Return the cosines of the labels of neighbours, of both directions."""
    roots = np.sqrt(np.maximum(np.diff(Y.indptr), 1)).astype(np.float32)
    cosines = neighbours.copy()
    cosines.data = cosines.data / np.repeat(roots, np.diff(neighbours.indptr))
    both = sparse.csr_array(cosines.maximum(sparse.csr_array(cosines.T)))
    both.sort_indices()
    return both


def project(target: Csr, rank: int, *, n_rounds: int, seed: int) -> Floats:
    """Find vectors whose inner products are those of a symmetric sparse matrix where it is known.

    Singular value projection: a gradient step of length 1 on the known entries, then the
    nearest positive semi-definite matrix of that rank, by one round of subspace iteration from
    the subspace of the step before. The matrix is never formed.
    """
    n = target.shape[0]
    U: Floats = np.random.default_rng(seed).standard_normal((n, rank), np.float32)
    Z = np.zeros((n, rank), dtype=np.float32)
    step = target.copy()
    for number in range(n_rounds):
        if number:
            step.data = target.data - _native.pair_products(target, Z, Z, n_threads=1)
        for _ in range(1 if number else _START_ROUNDS):
            U = orthonormal_basis(_moved(step, Z, U), n_threads=1)
        values, turn = symmetric_eigenpairs(gram(U, _moved(step, Z, U), n_threads=1))
        U = multiply(U, turn, n_threads=1)
        Z = U * np.sqrt(np.maximum(values, 0.0)).astype(np.float32)
    return Z


def _moved(step: Csr, Z: Floats, U: Floats) -> Floats:
    """Multiply the present matrix plus the step by U."""
    result = _native.sparse_dense(step, U, n_threads=1)
    result += multiply(Z, gram(Z, U, n_threads=1), n_threads=1)
    return result
