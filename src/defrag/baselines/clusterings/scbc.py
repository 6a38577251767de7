"""SCBC: scalable clustering with balancing constraints (Banerjee and Ghosh, 2006), of Table 1."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from defrag import _native
from defrag._native import Matches
from defrag._parameters import Float, Int, fitted, param
from defrag._progress import progress_bar
from defrag.agglomeration._groups import random_buckets
from defrag.baselines.clusterings._base import VectorRival, start_clusters, sum_clusters
from defrag.persistence.fields import Number, State
from defrag.trees import scale_vectors
from defrag.typing import Csr, Ids, LabelsLike

# --- Assignment of features to groups with a minimum size: stable matching, moves, exchanges.
#
# These are plain loops over features, each of which considers a few groups; the similarities,
# which take most of the time, are computed beforehand.


class StableMatching:
    """Stable matching of features to groups, each with the same number of seats.

    Features propose to groups by decreasing similarity; a group keeps the most similar
    features up to its number of seats (ties go to the lower id), and rejected features propose
    to the next group.
    """

    def __init__(self, n_features: int, n_clusters: int, n_seats: int) -> None:
        self.n_seats = n_seats
        self.group = np.full(n_features, -1, dtype=np.int32)
        self._seated: list[list[tuple[float, int]]] = [[] for _ in range(n_clusters)]

    def short_groups(self) -> Ids:
        """Return the groups with free seats."""
        short = [k for k, seated in enumerate(self._seated) if len(seated) < self.n_seats]
        return np.array(short, dtype=np.int32)

    def propose(self, features: Ids, preferences: Matches, groups: Ids) -> None:
        """Match features without a seat; the columns of their preferences are ``groups``."""
        columns = groups[preferences.columns].tolist()
        scores = preferences.scores.tolist()
        ends = preferences.indptr[1:].tolist()
        next_choice = preferences.indptr[:-1].tolist()
        position_of = {int(feature): position for position, feature in enumerate(features)}
        # A stack with the smallest id on top; a stable matching does not depend on the order.
        free = sorted(position_of, reverse=True)
        while free and self.n_seats:
            feature = free.pop()
            position = position_of[feature]
            choice = next_choice[position]
            if choice == ends[position]:
                continue
            next_choice[position] = choice + 1
            seated = self._seated[columns[choice]]
            candidate = (scores[choice], -feature)
            if len(seated) < self.n_seats:
                heapq.heappush(seated, candidate)
            else:
                _, rejected = heapq.heappushpop(seated, candidate)
                if -rejected in position_of:
                    free.append(-rejected)
        self._update_groups()

    def fill(self) -> None:
        """Assign free seats to features without a seat, in the order of their ids."""
        free = deque(np.flatnonzero(self.group < 0).tolist())
        for seated in self._seated:
            while len(seated) < self.n_seats and free:
                heapq.heappush(seated, (0.0, -free.popleft()))
        self._update_groups()

    def _update_groups(self) -> None:
        self.group[:] = -1
        for k, seated in enumerate(self._seated):
            for _, feature in seated:
                self.group[-feature] = k


def improve(
    labels: Ids, wanted: Ids, gain: NDArray[np.float64], n_clusters: int, min_size: int
) -> tuple[Ids, int]:
    """Return groups after moves to better ones, and the number of features that moved.

    First, features leave groups that are larger than ``min_size``, in the order of decreasing
    gain; then pairs of groups exchange features; then features rotate along cycles of groups.
    A feature moves to the group that it wants, or stays; with a gain of 0 it stays.
    """
    movers = np.flatnonzero((gain > 0) & (wanted != labels))
    movers = movers[np.lexsort((movers, -gain[movers]))]
    queues: dict[int, deque[int]] = defaultdict(deque)
    for feature in movers.tolist():
        queues[int(labels[feature])].append(feature)
    result = labels.copy()
    _move_surplus(result, wanted, queues, np.bincount(labels, minlength=n_clusters), min_size)
    _exchange(result, wanted, queues)
    while cycle := next(_cycles(wanted, queues), None):
        for feature in cycle:
            queues[int(labels[feature])].popleft()
            result[feature] = wanted[feature]
    return result, int(np.count_nonzero(result != labels))


def _move_surplus(
    labels: Ids, wanted: Ids, queues: dict[int, deque[int]], sizes: NDArray[np.int64], min_size: int
) -> None:
    surplus = sorted(queues, reverse=True)
    while surplus:
        source = surplus[-1]
        if sizes[source] <= min_size or not queues.get(source):
            surplus.pop()
            continue
        feature = queues[source].popleft()
        target = int(wanted[feature])
        labels[feature] = target
        sizes[source] -= 1
        sizes[target] += 1
        surplus.append(target)


def _exchange(labels: Ids, wanted: Ids, queues: dict[int, deque[int]]) -> None:
    movers_between: dict[tuple[int, int], deque[int]] = defaultdict(deque)
    for source, queue in queues.items():
        for feature in queue:
            movers_between[source, int(wanted[feature])].append(feature)
    moved = set()
    for (source, target), forward in movers_between.items():
        backward = movers_between.get((target, source), deque())
        while source < target and forward and backward:
            for feature in (forward.popleft(), backward.popleft()):
                labels[feature] = wanted[feature]
                moved.add(feature)
    for source, queue in queues.items():
        queues[source] = deque(feature for feature in queue if feature not in moved)


def _cycles(wanted: Ids, queues: dict[int, deque[int]]) -> Iterator[list[int]]:
    """Yield cycles of groups along the first feature in the queue of each group."""
    state: dict[int, int] = {}
    for start in sorted(queues):
        path: list[int] = []
        group = start
        while group not in state and queues.get(group):
            state[group] = start
            path.append(group)
            group = int(wanted[queues[group][0]])
        if state.get(group) == start and group in path:
            yield [queues[k][0] for k in path[path.index(group) :]]


# Number of groups that a feature proposes to before the matching is updated.
_PROPOSALS = 32
# Similarities are float32; smaller gains are rounding errors.
_MIN_GAIN = 1e-6


class SCBC(VectorRival):
    """Cluster a sample by spherical k-means, assign all features, and refine the groups.

    Every group has at least ``balance`` times the mean number of features: features and
    groups are matched by stable matching, and the other features are assigned to the most
    similar group. Features then move, are exchanged or rotate between groups as long as each of
    them gains and no group becomes too small.

    See Also
    --------
    defrag.Defrag : Recursive balanced splits.

    Notes
    -----
    Features that never occur are put into random groups; they do not count for the balance.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.baselines import SCBC
    >>> X = np.kron(np.eye(3), np.ones((2, 4)))
    >>> groups = SCBC(n_clusters=3, balance=1.0, sample_points=1.0, random_state=0).fit(X)
    >>> np.bincount(groups.labels_).tolist()
    [4, 4, 4]
    """

    balance: float = param(
        Float(0.0, 1.0), "Minimum size of a group, as a fraction of the mean size.", default=0.5
    )
    sample_per_cluster: int = param(
        Int(1), "Size of the sample that is clustered first, per group.", default=20
    )
    kmeans_iter: int = param(
        Int(1, 2**31 - 1), "Maximum number of iterations of k-means on the sample.", default=20
    )
    tol: float = param(
        Float(0.0), "Stop when a smaller fraction of the features moves.", default=1e-3
    )
    max_iter: int = param(
        Int(0, 2**31 - 1), "Maximum number of iterations of refinement.", default=50
    )

    objective_: float = fitted("float", "Mean cosine of a feature and the mean of its group.")

    _state = State(Number("objective_", Float()))

    def _find(self, X: Csr, Y: LabelsLike, n_clusters: int, seed: int) -> Ids:
        seen, items = self._unit_vectors(X, Y)
        with progress_bar("clustering features", enabled=self.verbose > 0) as progress:
            cluster = start_clusters(
                items,
                n_clusters,
                n_sampled=self.sample_per_cluster * n_clusters,
                max_rounds=self.kmeans_iter,
                seed=seed,
                n_threads=self._threads,
                progress=progress,
            )
        first = directions(items, cluster, n_clusters, self._threads)
        labels = random_buckets(np.arange(X.shape[1], dtype=np.int32), n_clusters, seed)
        min_size = int(self.balance * len(seen) / n_clusters)
        places = populate(items, first, min_size, labels[seen], self._threads)
        labels[seen] = self._refine(items, places, n_clusters, min_size)
        return labels

    def _refine(self, items: Csr, labels: Ids, n_clusters: int, min_size: int) -> Ids:
        """Move features until few of them move; set ``objective_`` and ``n_iter_``."""
        threads = self._threads
        rounds, settled = 0, False
        while True:
            index = directions(items, labels, n_clusters, threads).T.tocsr()
            found = _native.best_matches(items, index, n_best=1, own=labels, n_threads=threads)
            self.objective_ = float(found.own.sum(dtype=np.float64)) / max(1, len(labels))
            if settled or rounds == self.max_iter:
                self.n_iter_ = max(1, rounds)
                return labels
            wanted, gain = labels.copy(), np.zeros(len(labels))
            has_match = np.diff(found.indptr) > 0
            wanted[has_match] = found.columns
            gain[has_match] = found.scores.astype(np.float64) - found.own[has_match]
            gain[gain < _MIN_GAIN] = 0.0
            labels, n_moved = improve(labels, wanted, gain, n_clusters, min_size)
            rounds += 1
            settled = n_moved <= self.tol * len(labels)


def directions(items: Csr, labels: Ids, n_clusters: int, n_threads: int) -> Csr:
    """Return the L2-normalised sum of the features of each group; zero for empty groups."""
    sums = sum_clusters(items, labels, n_clusters, n_threads)
    return scale_vectors(sums, split="kmeans", threshold=0.0, n_threads=n_threads)


def populate(items: Csr, centres: Csr, min_size: int, fallback: Ids, n_threads: int) -> Ids:
    """Return groups with a minimum number of features, the others in the most similar group.

    Features that are similar to no group are in that of ``fallback``.
    """
    best = partial(_native.best_matches, n_best=_PROPOSALS, n_threads=n_threads)
    matching = StableMatching(items.shape[0], centres.shape[0], min_size)
    features = np.arange(items.shape[0], dtype=np.int32)
    short = np.arange(centres.shape[0], dtype=np.int32)
    preferences = best(items, centres.T.tocsr())
    favourite = np.where(np.diff(preferences.indptr) > 0, -1, fallback)
    has_match = favourite < 0
    favourite[has_match] = preferences.columns[preferences.indptr[:-1][has_match]]
    while len(short) and len(preferences.columns) and min_size:
        matching.propose(features, preferences, short)
        # Features that all groups of their list rejected propose to groups with free seats.
        short = matching.short_groups()
        features = np.flatnonzero(matching.group < 0).astype(np.int32)
        preferences = best(items[features], centres[short].T.tocsr())
    matching.fill()
    return np.where(matching.group >= 0, matching.group, favourite).astype(np.int32)
