"""Ensembles of local embeddings: a linear map per cluster of points, and voting neighbours.

The base of SLEEC and AnnexML, which differ in how points are partitioned and embedded; LPSR and
LEML use the routing of points and the linear algebra, whose results do not depend on threads.
"""

# ruff: noqa: SLF001 - the units of a training are a part of its classifier

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from defrag import _native
from defrag._native import RowPanels
from defrag._parameters import Choice, Int, fitted, param
from defrag._progress import progress_bar
from defrag.classifiers._base import Classifier
from defrag.classifiers._division import Divisible, Division, Piece, Units, Work
from defrag.classifiers._following import Shapes
from defrag.classifiers._support import Cost, unit_rows
from defrag.persistence._weights import (
    LANES,
    check_weight_values,
    panel_bounds,
    panel_runs,
    unpack_values,
)
from defrag.persistence.fields import MAX_COUNT, Array, Number, Part, Sparse, State, Weights
from defrag.persistence.kinds import Child
from defrag.persistence.trees import offsets
from defrag.trees import member_seeds
from defrag.typing import Csr, Floats, Ids, Offsets

# --- Approximate nearest neighbours by HNSW graphs of usearch, an optional dependency.


def import_usearch() -> Any:
    """Return the module ``usearch.index``, or raise ImportError with the command to install it."""
    try:
        from usearch import index  # noqa: PLC0415 - optional
    except ImportError as error:
        raise ImportError(
            "search='hnsw' needs usearch (pip install 'defrag[ann]'); search='exact' does not"
        ) from error
    return index


@dataclass(frozen=True)
class HnswIndex:
    """A hierarchical navigable small world graph (Malkov and Yashunin, 2018).

    It is built by one thread, in the order of the rows, so that equal vectors give equal graphs. A
    query has the same neighbours alone and in a batch, for any number of threads.
    """

    graph: Any

    @classmethod
    def build(cls, vectors: Floats, *, euclidean: bool) -> HnswIndex:
        """Return a graph of the rows of a matrix, for Euclidean distances or inner products."""
        graph = import_usearch().Index(
            ndim=vectors.shape[1],
            metric="l2sq" if euclidean else "ip",
            dtype="f32",
            connectivity=16,
            expansion_add=128,
            expansion_search=128,  # candidates: more give a higher recall and take longer
        )
        graph.add(np.arange(len(vectors), dtype=np.uint64), vectors, copy=True, threads=1)
        return cls(graph)

    def nearest(self, queries: Floats, *, n_best: int, n_threads: int) -> Ids:
        """Return the ``n_best`` nearest rows of each query, padded with -1."""
        matches = self.graph.search(queries, n_best, threads=n_threads)
        found = np.full((len(queries), n_best), -1, dtype=np.int32)
        if len(queries) == 1:  # the result of a batch of one has one dimension
            found[0, : len(matches.keys)] = matches.keys
            return found
        known = np.arange(n_best) < np.asarray(matches.counts)[:, None]
        found[known] = matches.keys[known]
        return found


# --- Dense linear algebra that is bit-identical for any number of threads.
#
# The order in which BLAS adds depends on its number of threads. Here BLAS always runs with one
# thread, on blocks of rows of a fixed size; blocks are distributed over our own threads and their
# results are added in order.

_BLOCK_ROWS = 4096
"""Number of rows in a block; the results depend on it, since it fixes the order of sums."""

_MIN_SQUARED_NORM = 1e-30
"""Columns whose residual has a smaller squared norm are solved."""


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread per call."""
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limits


def gram(A: Floats, B: Floats, *, n_threads: int) -> NDArray[np.float64]:
    """Return A' B for tall matrices with equal numbers of rows; blocks are added in float64."""
    total = np.zeros((A.shape[1], B.shape[1]), dtype=np.float64)
    for part in map_in_order(lambda rows: A[rows].T @ B[rows], _blocks(len(A)), n_threads):
        total += part
    return total


def multiply(A: Floats, Q: NDArray[Any], *, n_threads: int) -> Floats:
    """Return A Q for a tall matrix A and a small matrix Q."""
    small = np.ascontiguousarray(Q, dtype=np.float32)
    result = np.empty((len(A), small.shape[1]), dtype=np.float32)

    def fill(rows: slice) -> None:
        np.matmul(A[rows], small, out=result[rows])

    list(map_in_order(fill, _blocks(len(A)), n_threads))
    return result


def symmetric_eigenpairs(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], Any]:
    """Return the eigenvalues of a symmetric matrix in decreasing order, and its eigenvectors."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return values[::-1], np.ascontiguousarray(vectors[:, ::-1])


def orthonormal_basis(A: Floats, *, n_threads: int) -> Floats:
    """Return an orthonormal basis of the columns of a tall matrix, by decreasing singular value.

    It is computed from the eigenvectors of A'A in double precision; columns beyond the rank are
    zero.
    """
    values, vectors = symmetric_eigenpairs(gram(A, A, n_threads=n_threads))
    floor = max(values[0], 0.0) * len(values) * float(np.finfo(np.float32).eps)
    scale = np.zeros_like(values)
    np.divide(1.0, np.sqrt(np.maximum(values, floor)), out=scale, where=values > floor)
    return multiply(A, vectors * scale, n_threads=n_threads)


def conjugate_gradients(
    X: Csr,
    XT: Csr,
    right: Floats,
    *,
    weights: Floats,
    ridge: float,
    n_steps: int,
    n_threads: int,
    start: Floats | None = None,
) -> Floats:
    """Solve ``(weights[j] X'X + ridge I) w_j = right_j`` for all columns j simultaneously.

    Every column has step lengths of its own; the initial solution is ``start``, or zero.
    """
    strength = np.float32(ridge)
    times = partial(_native.sparse_dense, n_threads=n_threads)

    def apply(V: Floats) -> Floats:
        result = times(XT, times(X, V))
        result *= weights
        result += strength * V
        return result

    solution = np.zeros_like(right) if start is None else start.copy()
    residual = right.copy() if start is None else right - apply(start)
    direction = residual.copy()
    energy = _column_products(residual, residual)
    for _ in range(n_steps):
        image = apply(direction)
        curvature = _column_products(direction, image)
        length = _ratio(energy, curvature)
        solution += length * direction
        residual -= length * image
        before, energy = energy, _column_products(residual, residual)
        direction *= _ratio(energy, before)
        direction += residual
    return solution


def _column_products(A: Floats, B: Floats) -> NDArray[np.float64]:
    """Return the dot product of each column of A with the same column of B."""
    total = np.zeros(A.shape[1], dtype=np.float64)
    for rows in _blocks(len(A)):
        total += np.einsum("ij,ij->j", A[rows], B[rows])
    return total


def _ratio(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> Floats:
    """Return the quotients, or 0 where the denominator is almost 0."""
    result = np.zeros_like(numerator)
    np.divide(numerator, denominator, out=result, where=denominator > _MIN_SQUARED_NORM)
    return result.astype(np.float32)


def _blocks(n_rows: int) -> list[slice]:
    starts = range(0, n_rows, _BLOCK_ROWS)
    return [slice(first, min(first + _BLOCK_ROWS, n_rows)) for first in starts]


ROWS_AT_A_TIME = 8192
"""Number of points that are embedded and ranked at a time."""

SMALLEST_GRAPH = 50_000
"""Clusters of at most this many points are always searched exactly, which is faster."""

COMPONENTS = Int(1, 1 << 16)


def unpack_panels(part: Part, n_rows: int, n_panels: int, rank: int) -> tuple[Floats, Floats]:
    """Check the real numbers in a file; return rows of features, and panels of sixteen rows.

    All are one array, so that they become float16 or int8 together.
    """
    part.check_length("weights", (n_rows + n_panels * LANES) * rank)
    check_weight_values(part, n_rows + n_panels)
    weights = unpack_values(part.arrays, panel_bounds(n_rows, n_panels, rank))
    panels = weights[n_rows * rank :].reshape(n_panels, rank, LANES)
    return weights[: n_rows * rank].reshape(n_rows, rank), panels


def _n_clusters(part: Part) -> int:
    return len(part.arrays["point_ptr"]) - 1


def _check_learner(part: Part) -> None:
    arrays, n_clusters = part.arrays, _n_clusters(part)
    if n_clusters < 1:
        part.fail(f"{part.name('point_ptr')} must have at least one cluster, got none")
    n_features = max(1, len(arrays["router/indptr"]) - 1)
    part.check_csr("feature_ptr", "features", n_rows=n_clusters, n_cols=n_features)
    part.check_offsets("point_ptr", len(arrays["points"]))
    part.check_ints("points", 0, MAX_COUNT)


@dataclass(frozen=True)
class Learner:
    """One partition of the points with a linear map and embedded points per cluster."""

    # Shape (n_features, n_clusters): scorers of the clusters; a point belongs to the cluster with
    # the highest score, or to the first one if no score is positive.
    router: Csr
    # Shape (n_clusters + 1,): offsets of the clusters in ``features`` and in ``points``.
    feature_ptr: Offsets
    # The features of each cluster, in increasing order.
    features: Ids
    # Shape (len(features), n_components): the rows of the linear maps for these features.
    weights: Floats
    point_ptr: Offsets
    # The points of each cluster, as rows of the stored labels.
    points: Ids
    # Shape (n_panels, n_components, 16): the embedded points by cluster; every cluster begins with
    # a new panel.
    panels: Floats
    # Added to the score of each point: minus half of its squared norm, for Euclidean neighbours.
    bias: Floats | None = None

    _state = State(
        Number(rule=COMPONENTS, name="rank", get=lambda one: one.weights.shape[1]),
        Number(name="euclidean", get=lambda one: one.bias is not None),
        Array("feature_ptr", "int64"),
        Array("features", "int32"),
        Array("point_ptr", "int64"),
        Array("points", "int32"),
        Sparse("router", lambda part: len(part.arrays["router/indptr"]) - 1, _n_clusters),
        Weights("", get=lambda one: panel_runs(one.weights, one.panels)),
        kind="learner",
        check=_check_learner,
        build=lambda part, values: Learner.of_part(part, **values),
    )

    @classmethod
    def of_part(cls, part: Part, **values: Any) -> Learner:
        """Return the learner of a model file; the ensemble checks its features and points."""
        rank, n_rows = part.state["rank"], len(values["features"])
        n_panels = int(panel_ptr(values["point_ptr"])[-1])
        weights, panels = unpack_panels(part, n_rows, n_panels, rank)
        bias = panel_bias(panels, values["point_ptr"]) if part.state["euclidean"] else None
        return cls(weights=weights, panels=panels, bias=bias, **values)

    @classmethod
    def join(
        cls,
        router: Csr,
        members: list[Ids],
        maps: list[tuple[Ids, Floats, Floats]],
        *,
        euclidean: bool,
    ) -> Learner:
        """Return a learner of all clusters.

        - ``maps``: the features of each cluster, their linear map, and the embedded points.
        """
        features, weights, vectors = zip(*maps, strict=True)
        point_ptr = offsets(np.array([len(points) for points in members]))
        panels = np.concatenate([RowPanels.pack(one).lines for one in vectors])
        return cls(
            router=router,
            feature_ptr=offsets(np.array([len(one) for one in features])),
            features=np.concatenate(features),
            weights=np.concatenate(weights),
            point_ptr=point_ptr,
            points=np.concatenate(members).astype(np.int32),
            panels=panels,
            bias=panel_bias(panels, point_ptr) if euclidean else None,
        )

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
            inside = X[rows][:, self.features[features]]
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


def _check_learners(part: Part) -> None:
    n_points, n_features = len(part.arrays["point_labels/indptr"]) - 1, part.state["n_features"]
    for number, one in enumerate(part.children["learners"] if n_points > 0 else ()):
        place = f"learners/{number}"
        largest = int(one.points.max(initial=0))
        if largest >= n_points:
            part.fail(f"{part.name(f'{place}/points')} must be in [0, {n_points}), got {largest}")
        if one.router.shape[0] != n_features:
            part.fail(f"model '{part.prefix}{place}' must have the features of its ensemble "
                      f"({n_features}), got {one.router.shape[0]}")  # fmt: skip


class NeighbourEnsemble(Divisible):
    """Base class of ensembles of local embeddings.

    A subclass partitions the points in :meth:`_partition` and embeds a cluster in :meth:`_embed`.
    """

    n_learners: int = param(
        Int(1, 65536),
        "Number of learners, each with its own partition of the points.",
        default=10,
        kw_only=False,
    )
    cluster_size: int = param(Int(1), "Mean number of points per cluster.", default=6000)
    n_components: int = param(COMPONENTS, "Number of dimensions of the embeddings.", default=50)
    label_neighbors: int = param(
        Int(1, 65536), "Number of neighbours by labels of a point.", default=10
    )
    n_neighbors: int = param(
        Int(1, 65536), "Number of neighbours that vote in each learner.", default=10
    )
    votes: str = param(
        Choice(("rank", "count")),
        "The r-th nearest neighbour has 1 / r votes, or each neighbour has one vote, as published.",
        default="rank",
    )
    search: str = param(
        Choice(("exact", "hnsw")),
        "Exact search, or approximate search by graphs in clusters of more than 50,000 points; a "
        "graph is built on first use and requires ``pip install defrag[ann]``.",
        default="exact",
    )

    learners_: list[Learner] = fitted("list of Learner", "The partitions and maps.")
    point_labels_: Csr = fitted("csr_array", "Labels of the training points that have labels.")

    euclidean: ClassVar[bool] = True

    _state = State(
        Child("learners_", Learner, many=True),
        Sparse(
            "point_labels_",
            lambda part: len(part.arrays["point_labels/indptr"]) - 1,
            "n_labels",
            pattern=True,
            noun="point",
        ),
        check=_check_learners,
    )

    @abstractmethod
    def _partition(self, X: Csr, Y: Csr, n_clusters: int, seed: int) -> Csr:
        """Return a router, shape (n_features, n_clusters)."""

    @abstractmethod
    def _embed(self, X: Csr, Y: Csr, seed: int) -> tuple[Floats, Floats]:
        """Return the linear map and the vectors of a cluster with points X and labels Y."""

    def _units(self) -> LearnerUnits:
        """Return one unit per learner."""
        return LearnerUnits(self)

    def _divide_points(self, X: Csr, Y: Csr, n_clusters: int, seed: int) -> tuple[Csr, list[Ids]]:
        """Return a router and the points of each cluster."""
        alone = sparse.csr_array((X.shape[1], 1)).astype(np.float32)
        router = self._partition(X, Y, n_clusters, seed) if n_clusters > 1 else alone
        return assign_points(X, router, min_size=self.n_neighbors, n_threads=self._threads)

    def _rank(self, X: Csr, k: int, *, exhaustive: bool) -> tuple[Ids, Floats]:  # noqa: ARG002 - always the neighbours
        n_best, n_learners = int(self._check_parameter("n_neighbors")), len(self.learners_)
        search = self._check_parameter("search")
        by_rank = self._check_parameter("votes") == "rank"
        own = 1.0 / np.arange(1, n_best + 1) if by_rank else np.ones(n_best)
        weights = np.tile(own / (own.sum() * n_learners), n_learners).astype(np.float32)
        labels = np.empty((X.shape[0], k), dtype=np.int32)
        scores = np.empty((X.shape[0], k), dtype=np.float32)
        for first in range(0, X.shape[0], ROWS_AT_A_TIME):
            rows = slice(first, first + ROWS_AT_A_TIME)
            unit = unit_rows(X[rows], self._threads)
            found = [
                one.neighbours(unit, n_best, search=search, n_threads=self._threads)
                for one in self.learners_
            ]
            neighbours = np.hstack(found)
            labels[rows], scores[rows] = _native.rank_votes(
                neighbours,
                np.broadcast_to(weights, neighbours.shape),
                self.point_labels_,
                k=k,
                n_threads=self._threads,
            )
        return labels, np.minimum(scores, np.float32(1.0))

    def _max_ranked(self) -> int:
        max_labels = int(np.diff(self.point_labels_.indptr).max())
        n_neighbors = int(self._check_parameter("n_neighbors"))
        return min(self.n_labels_, max_labels * n_neighbors * len(self.learners_))

    @property
    def _n_members(self) -> int:
        return self.n_learners

    def _as_member(self) -> Classifier:
        member: Classifier = super()._as_member().set_params(n_learners=1)
        return member

    def _training_cost(self, X: Csr, Y: Csr) -> Cost:  # noqa: ARG002 - labels hardly matter
        """Return the cost, estimated from the products of the points with their maps."""
        n_products = X.nnz * self.n_components * self.n_learners
        kept = 4.0 * self.n_learners * self.n_components * (X.shape[0] + X.shape[1])
        return Cost(n_products * self._seconds_per_step, kept)


class LearnerUnits(Units):
    """Training of an ensemble of local embeddings, one unit per learner.

    The outline is the labels of the points that have some, the result of some units the learners
    by their numbers.
    """

    model: NeighbourEnsemble
    result_kind = Learner

    def prepare(self, X: Csr, Y: Csr) -> tuple[Csr, Csr]:
        """Return the unit rows of the points with labels, and their labels."""
        if self.model.search == "hnsw":
            import_usearch()  # fail now, not after hours of training
        labelled = np.flatnonzero(np.diff(Y.indptr))
        X, Y = unit_rows(X, self.model._threads), sparse.csr_array(Y)
        return (X[labelled], Y[labelled]) if len(labelled) < X.shape[0] else (X, Y)

    def divide(
        self,
        data: tuple[Csr, Csr],
        seed: int,  # noqa: ARG002 - units derive seeds
        shapes: Shapes | None = None,  # noqa: ARG002 - of label trees
    ) -> Division:
        """Return one unit per learner."""
        return Division(data[1], np.ones(self.model.n_learners))

    def train(self, data: tuple[Csr, Csr], work: Work) -> dict[int, Learner]:
        """Train a range of learners; their clusters are shared among the threads."""
        (X, Y), model = data, self.model
        n_clusters = max(1, round(X.shape[0] / model.cluster_size))
        seeds = member_seeds(work.seed, model.n_learners)[work.first : work.last]
        with one_blas_thread(), progress_bar("embedding", enabled=model.verbose > 0) as progress:
            partitions = [model._divide_points(X, Y, n_clusters, own) for own in seeds]
            tasks = [
                (seed, c, points) for seed, (_, members) in zip(seeds, partitions, strict=True)
                for c, points in enumerate(members)
            ]  # fmt: skip

            def embed(task: tuple[int, int, Ids]) -> tuple[Ids, Floats, Floats]:
                seed, c, points = task
                inside = X[points]
                features = np.unique(inside.indices).astype(np.int32)
                own = np.random.SeedSequence((seed, c)).generate_state(1, np.uint64)
                labels = sparse.csr_array(Y[points])
                return features, *model._embed(inside[:, features], labels, int(own[0] >> 1))

            maps = []
            for one in map_in_order(embed, tasks, model._threads):
                maps.append(one)
                if progress is not None:
                    progress(len(maps) / len(tasks))
        of_clusters = iter(maps)
        return {
            number: Learner.join(
                router, members, [next(of_clusters) for _ in members], euclidean=model.euclidean
            )
            for number, (router, members) in enumerate(partitions, work.first)
        }

    def join(self, outline: Csr, pieces: Sequence[Piece]) -> None:
        """Set the learners."""
        self.model.learners_ = [
            piece.result[number] for piece in pieces for number in range(piece.first, piece.last)
        ]
        self.model.point_labels_ = outline


def route(X: Csr, router: Csr, *, n_threads: int) -> Ids:
    """Return the cluster of each row: the first with the highest score, 0 if none is positive."""
    cluster_of = np.zeros(X.shape[0], dtype=np.int32)
    if router.shape[1] > 1:
        best = _native.best_matches(X, router, n_best=1, n_threads=n_threads)
        cluster_of[np.diff(best.indptr) > 0] = best.columns
    return cluster_of


def assign_points(X: Csr, router: Csr, *, min_size: int, n_threads: int) -> tuple[Csr, list[Ids]]:
    """Return the router without small clusters, and the points of each remaining cluster.

    Clusters of fewer than ``min_size`` points are removed until there are none; the largest one
    is kept in any case.
    """
    while True:
        cluster_of = route(X, router, n_threads=n_threads)
        sizes = np.bincount(cluster_of, minlength=router.shape[1])
        kept = np.flatnonzero(sizes >= min_size)
        if not len(kept):
            kept = np.array([sizes.argmax()])
        if len(kept) == router.shape[1]:
            order = np.argsort(cluster_of, kind="stable").astype(np.int32)
            return router, np.split(order, np.cumsum(sizes)[:-1])
        router = sparse.csr_array(router[:, kept])


def panel_ptr(point_ptr: Offsets) -> Offsets:
    """Return the offsets of the panels of the clusters."""
    return offsets(-(-np.diff(point_ptr) // LANES))


def panel_bias(panels: Floats, point_ptr: Offsets) -> Floats:
    """Return minus half of the squared norm of each point."""
    lengths: Floats = np.float32(-0.5) * np.einsum("pij,pij->pj", panels, panels)
    # The first point of a cluster is the first of a panel.
    shift = LANES * panel_ptr(point_ptr)[:-1] - point_ptr[:-1]
    places: Offsets = np.arange(point_ptr[-1]) + np.repeat(shift, np.diff(point_ptr))
    return lengths.ravel()[places]


def map_in_order(work: Callable[[Any], Any], tasks: list[Any], n_threads: int) -> Iterator[Any]:
    """Call ``work`` on tasks in several threads and yield the results in order."""
    if n_threads == 1 or len(tasks) <= 1:
        yield from map(work, tasks)
        return
    pool = ThreadPoolExecutor(min(n_threads, len(tasks)))
    try:
        yield from pool.map(work, tasks)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
