"""Ensembles of local embeddings: a linear map per cluster of points, and voting neighbours."""

from __future__ import annotations

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._native import RowPanels
from defrag._progress import progress_bar
from defrag.classifiers._base import unit_rows
from defrag.classifiers._cost import Cost
from defrag.classifiers._division import Divisible, Division, csr_arrays, csr_from_arrays
from defrag.classifiers.embeddings._algebra import one_blas_thread
from defrag.classifiers.embeddings._hnsw import HnswIndex, import_usearch
from defrag.trees.seeds import member_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from defrag.classifiers._base import Classifier
    from defrag.classifiers._division import Arrays, Piece
    from defrag.typing import Csr, Floats, Ids, Offsets

__all__ = ["Learner", "LocalMap", "NeighbourEnsemble", "assign_points", "panel_bias"]

_ROWS_AT_A_TIME = 8192
"""Number of points that are embedded and ranked at a time."""

_PANEL_ROWS = 16

SMALLEST_GRAPH = 50_000
"""Clusters of at most this many points are always searched exactly, which is faster."""


class LocalMap(NamedTuple):
    """The embedding of one cluster.

    Attributes
    ----------
    features : ndarray of int32
        The features of its points, in increasing order.
    weights : ndarray of float32, shape (n_cluster_features, n_components)
        The linear map of these features.
    vectors : ndarray of float32, shape (n_cluster_points, n_components)
        The embedded points.
    """

    features: Ids
    weights: Floats
    vectors: Floats


@dataclass(frozen=True)
class Learner:
    """One partition of the points with a linear map and embedded points per cluster.

    Parameters
    ----------
    router : csr_array, shape (n_features, n_clusters)
        Scorers of the clusters; a point belongs to the cluster with the highest score, or to the
        first one if no score is positive.
    feature_ptr, point_ptr : ndarray of int64, shape (n_clusters + 1,)
        Offsets of the clusters in ``features`` and in ``points``.
    features : ndarray of int32
        The features of each cluster, in increasing order.
    weights : ndarray of float32, shape (len(features), n_components)
        The rows of the linear maps for these features.
    points : ndarray of int32
        The points of each cluster, as rows of the stored labels.
    panels : ndarray of float32, shape (n_panels, n_components, 16)
        The embedded points by cluster; every cluster begins with a new panel.
    bias : ndarray of float32, shape (len(points),), optional
        Added to the score of each point: minus half of its squared norm, for Euclidean
        neighbours.
    """

    router: Csr
    feature_ptr: Offsets
    features: Ids
    weights: Floats
    point_ptr: Offsets
    points: Ids
    panels: Floats
    bias: Floats | None

    @classmethod
    def join(
        cls, router: Csr, members: list[Ids], maps: list[LocalMap], *, euclidean: bool
    ) -> Learner:
        """Return a learner with the concatenated maps of all clusters."""
        packed = [RowPanels.pack(one.vectors).lines for one in maps]
        point_ptr = _offsets(members)
        panels = np.concatenate(packed)
        return cls(
            router=router,
            feature_ptr=_offsets([one.features for one in maps]),
            features=np.concatenate([one.features for one in maps]),
            weights=np.concatenate([one.weights for one in maps]),
            point_ptr=point_ptr,
            points=np.concatenate(members).astype(np.int32),
            panels=panels,
            bias=panel_bias(panels, point_ptr) if euclidean else None,
        )

    def to_arrays(self, prefix: str) -> Arrays:
        """Return named arrays."""
        arrays = {prefix + name: value for name, value in vars(self).items()
                  if name not in {"router", "indexes"} and value is not None}  # fmt: skip
        return {**arrays, **csr_arrays(self.router, f"{prefix}router/")}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str) -> Learner:
        """Return the learner from the arrays of :meth:`to_arrays`."""
        names = [field.name for field in fields(cls) if field.name != "router"]
        own = {name: arrays.get(prefix + name) for name in names}
        return cls(router=csr_from_arrays(arrays, f"{prefix}router/"), **own)  # type: ignore[arg-type]

    @cached_property
    def indexes(self) -> dict[int, HnswIndex]:
        """The graphs of clusters that are searched approximately, built on first use."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        # The graphs can be built from the panels.
        return {name: value for name, value in vars(self).items() if name != "indexes"}

    def neighbours(self, X: Csr, n_best: int, *, search: str, n_threads: int) -> Ids:
        """Return the nearest points of each unit row in its cluster, padded with -1."""
        found = np.full((X.shape[0], n_best), -1, dtype=np.int32)
        cluster_of = route(X, self.router, n_threads=n_threads)
        first_panel = panel_ptr(self.point_ptr)
        for c in np.unique(cluster_of):
            if self.point_ptr[c] == self.point_ptr[c + 1]:
                continue  # only a file can have a cluster without points
            rows = np.flatnonzero(cluster_of == c)
            features = slice(self.feature_ptr[c], self.feature_ptr[c + 1])
            inside = select_columns(X[rows], self.features[features])
            embedded = _native.sparse_dense(inside, self.weights[features], n_threads=n_threads)
            points = slice(self.point_ptr[c], self.point_ptr[c + 1])
            panels = RowPanels(
                self.panels[first_panel[c] : first_panel[c + 1]],
                points.stop - points.start,
                None if self.bias is None else self.bias[points],
            )
            if search == "hnsw" and panels.n_rows > SMALLEST_GRAPH:
                if c not in self.indexes:
                    euclidean = self.bias is not None
                    self.indexes[c] = HnswIndex.build(panels.unpack(), euclidean=euclidean)
                ids = self.indexes[c].nearest(embedded, n_best=n_best, n_threads=n_threads)
            else:
                ids, _ = _native.nearest_rows(embedded, panels, n_best=n_best, n_threads=n_threads)
            found[rows] = np.where(ids >= 0, self.points[points][ids], -1)
        return found


class NeighbourEnsemble(Divisible):
    """Base class of ensembles of local embeddings.

    A subclass partitions the points in :meth:`_partition` and embeds a cluster in :meth:`_embed`.
    """

    n_learners: int
    cluster_size: int
    n_components: int
    n_neighbors: int
    votes: str
    search: str
    verbose: int
    learners_: list[Learner]
    point_labels_: Csr
    euclidean = True

    @abstractmethod
    def _partition(self, X: Csr, Y: Csr, n_clusters: int, seed: int) -> Csr:
        """Return a router, shape (n_features, n_clusters)."""

    @abstractmethod
    def _embed(self, X: Csr, Y: Csr, seed: int) -> tuple[Floats, Floats]:
        """Return the linear map and the vectors of a cluster with points X and labels Y."""

    def prepare(self, X: Csr, Y: Csr) -> tuple[Csr, Csr]:
        """Return the unit rows of the points with labels, and their labels."""
        if self.search == "hnsw":
            import_usearch()  # fail now, not after hours of training
        labelled = np.flatnonzero(np.diff(Y.indptr))
        X, Y = unit_rows(X, _native.n_threads(self.n_jobs)), sparse.csr_array(Y)
        return (X[labelled], Y[labelled]) if len(labelled) < X.shape[0] else (X, Y)

    def divide(self, data: tuple[Csr, Csr], seed: int) -> Division:  # noqa: ARG002 - units derive seeds
        """Return one unit per learner."""
        return Division(csr_arrays(data[1], "labels/"), np.ones(self.n_learners))

    def train_units(
        self,
        data: tuple[Csr, Csr],
        seed: int,
        outline: Arrays,  # noqa: ARG002 - data has the labels
        first: int,
        last: int,
    ) -> Arrays:
        """Train a range of learners; see :meth:`Divisible.train_units`."""
        X, Y = data
        n_clusters = max(1, round(X.shape[0] / self.cluster_size))
        seeds = member_seeds(seed, self.n_learners)[first:last]
        with one_blas_thread(), progress_bar("embedding", enabled=self.verbose > 0) as progress:
            partitions = [self._divide_points(X, Y, n_clusters, own) for own in seeds]
            tasks = [
                (number, c) for number, (_, members) in enumerate(partitions)
                for c in range(len(members))
            ]  # fmt: skip

            def embed(task: tuple[int, int]) -> LocalMap:
                number, c = task
                points = partitions[number][1][c]
                inside = X[points]
                features = np.unique(inside.indices).astype(np.int32)
                own = np.random.SeedSequence((seeds[number], c)).generate_state(1, np.uint64)
                weights, vectors = self._embed(
                    select_columns(inside, features), sparse.csr_array(Y[points]), int(own[0] >> 1)
                )
                return LocalMap(features, weights, vectors)

            maps: list[list[LocalMap]] = [[] for _ in seeds]
            threads = _native.n_threads(self.n_jobs)
            for done, (task, one) in enumerate(zip(tasks, map_in_order(embed, tasks, threads),
                                                   strict=True)):  # fmt: skip
                maps[task[0]].append(one)
                if progress is not None:
                    progress((done + 1) / len(tasks))
        arrays: Arrays = {}
        for number, ((router, members), own) in enumerate(
            zip(partitions, maps, strict=True), first
        ):
            learner = Learner.join(router, members, own, euclidean=self.euclidean)
            arrays |= learner.to_arrays(f"{number}/")
        return arrays

    def assemble(self, outline: Arrays, pieces: Sequence[Piece]) -> None:
        """Set the learners; see :meth:`Divisible.assemble`."""
        self.learners_ = [
            Learner.from_arrays(piece.arrays, f"{number}/")
            for piece in pieces
            for number in range(piece.first, piece.last)
        ]
        self.point_labels_ = csr_from_arrays(outline, "labels/")

    def _divide_points(self, X: Csr, Y: Csr, n_clusters: int, seed: int) -> tuple[Csr, list[Ids]]:
        """Return a router and the points of each cluster."""
        if n_clusters == 1:
            alone: Csr = sparse.csr_array(np.zeros((X.shape[1], 1), dtype=np.float32))
            return alone, [np.arange(X.shape[0], dtype=np.int32)]
        router = self._partition(X, Y, n_clusters, seed)
        threads = _native.n_threads(self.n_jobs)
        return assign_points(X, router, min_size=self.n_neighbors, n_threads=threads)

    def rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:  # noqa: ARG002 - always the neighbours
        """Return the best labels of each row; see :meth:`Classifier.rank`."""
        threads = _native.n_threads(self.n_jobs)
        n_best, n_learners = int(self.check_parameter("n_neighbors")), len(self.learners_)
        search = self.check_parameter("search")
        own = (
            np.ones(n_best)
            if self.check_parameter("votes") == "count"
            else 1.0 / np.arange(1, n_best + 1)
        )
        weights = np.tile(own / (own.sum() * n_learners), n_learners).astype(np.float32)
        labels = np.empty((X.shape[0], k), dtype=np.int32)
        scores = np.empty((X.shape[0], k), dtype=np.float32)
        for first in range(0, X.shape[0], _ROWS_AT_A_TIME):
            rows = slice(first, first + _ROWS_AT_A_TIME)
            unit = unit_rows(X[rows], threads)
            neighbours = np.hstack(
                [
                    one.neighbours(unit, n_best, search=search, n_threads=threads)
                    for one in self.learners_
                ]
            )
            labels[rows], scores[rows] = _native.rank_votes(
                neighbours,
                np.broadcast_to(weights, neighbours.shape),
                self.point_labels_,
                k=k,
                n_threads=threads,
            )
        return labels, np.minimum(scores, np.float32(1.0))

    def max_ranked(self) -> int:
        """Return the largest number of labels that :meth:`rank` can find for a point."""
        max_labels = int(np.diff(self.point_labels_.indptr).max())
        n_neighbors = int(self.check_parameter("n_neighbors"))
        return min(self.n_labels_, max_labels * n_neighbors * len(self.learners_))

    @property
    def n_members(self) -> int:
        """Number of learners that are averaged."""
        return self.n_learners

    def as_member(self) -> Classifier:
        """Return an unfitted copy with one learner."""
        member: Classifier = super().as_member().set_params(n_learners=1)
        return member

    def training_cost(self, X: Csr, Y: Csr) -> Cost:  # noqa: ARG002 - labels hardly matter
        """Return the cost, estimated from the products of the points with their maps."""
        n_products = X.nnz * self.n_components * self.n_learners
        kept = 4.0 * self.n_learners * self.n_components * (X.shape[0] + X.shape[1])
        return Cost(n_products * self.seconds_per_step, kept)


def route(X: Csr, router: Csr, *, n_threads: int) -> Ids:
    """Return the cluster of each row: the first with the highest score, 0 if none is positive."""
    cluster_of = np.zeros(X.shape[0], dtype=np.int32)
    if router.shape[1] > 1:
        best = _native.best_matches(X, router, n_best=1, n_threads=n_threads)
        found = np.diff(best.indptr) > 0
        cluster_of[found] = best.columns[best.indptr[:-1][found]]
    return cluster_of


def assign_points(X: Csr, router: Csr, *, min_size: int, n_threads: int) -> tuple[Csr, list[Ids]]:
    """Return the router without small clusters, and the points of each remaining cluster.

    Clusters of fewer than ``min_size`` points are removed until there are none; the largest one
    is kept in any case.
    """
    while True:
        cluster_of = route(X, router, n_threads=n_threads)
        sizes = np.bincount(cluster_of, minlength=router.shape[1])
        kept = (
            np.flatnonzero(sizes >= min_size) if sizes.max() >= min_size else [int(sizes.argmax())]
        )
        if len(kept) == router.shape[1]:
            order = np.argsort(cluster_of, kind="stable").astype(np.int32)
            return router, np.split(order, np.cumsum(sizes)[:-1])
        router = sparse.csr_array(router[:, kept])


def select_columns(X: Csr, features: Ids) -> Csr:
    """Return the columns ``features`` of a matrix, which are in increasing order."""
    place = np.full(X.shape[1], -1, dtype=np.int32)
    place[features] = np.arange(len(features), dtype=np.int32)
    columns = place[X.indices]
    kept = columns >= 0
    counts = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])
    return sparse.csr_array(
        (X.data[kept], columns[kept], counts[X.indptr]), shape=(X.shape[0], len(features))
    )


def panel_ptr(point_ptr: Offsets) -> Offsets:
    """Return the offsets of the panels of the clusters."""
    n_panels = -(-np.diff(point_ptr) // _PANEL_ROWS)
    return np.concatenate([[0], np.cumsum(n_panels)])


def panel_bias(panels: Floats, point_ptr: Offsets) -> Floats:
    """Return minus half of the squared norm of each point."""
    lengths = np.empty((len(panels), _PANEL_ROWS), dtype=np.float32)
    for i, panel in enumerate(panels):
        lengths[i] = np.float32(-0.5) * np.einsum("ij,ij->j", panel, panel)
    first = panel_ptr(point_ptr)
    return np.concatenate(
        [
            lengths[first[c] : first[c + 1]].ravel()[: point_ptr[c + 1] - point_ptr[c]]
            for c in range(len(point_ptr) - 1)
        ]
    )


def map_in_order(work: Callable[[Any], Any], tasks: list[Any], n_threads: int) -> Iterator[Any]:
    """Call ``work`` on tasks in several threads and yield the results in order."""
    if n_threads == 1 or len(tasks) == 1:
        yield from map(work, tasks)
        return
    pool = ThreadPoolExecutor(min(n_threads, len(tasks)))
    try:
        yield from pool.map(work, tasks)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _offsets(parts: list[Ids]) -> Offsets:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
