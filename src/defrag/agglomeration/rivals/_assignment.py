"""Assignment of features to groups with a minimum size: stable matching, moves, exchanges.

These are plain loops over features, each of which considers a few groups; the similarities,
which take most of the time, are computed beforehand.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from defrag._native import Matches
    from defrag.typing import Ids

__all__ = ["StableMatching", "improve"]


class StableMatching:
    """Stable matching of features to groups, each with the same number of seats.

    Features propose to groups by decreasing similarity; a group keeps the most similar
    features up to its number of seats (ties go to the lower id), and rejected features propose
    to the next group.

    Parameters
    ----------
    n_features, n_clusters : int
        Numbers of features and groups.
    n_seats : int
        Number of seats of each group.
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
        """Match features that have no seat yet.

        Parameters
        ----------
        features : ndarray of int32
            The features.
        preferences : Matches
            Columns of ``groups`` and similarities for each feature, by decreasing similarity.
        groups : ndarray of int32
            The groups of the columns.
        """
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
    """Move features to better groups without making a group smaller than ``min_size``.

    First, features leave groups that are larger than ``min_size``, in the order of decreasing
    gain; then pairs of groups exchange features; then features rotate along cycles of groups.
    No feature moves to a worse group.

    Parameters
    ----------
    labels : ndarray of int32
        The current groups; not modified.
    wanted : ndarray of int32
        The best group of each feature.
    gain : ndarray of float64
        Gain of moving to that group; a feature with gain 0 stays.
    n_clusters : int
        Number of groups.
    min_size : int
        Minimum size of a group after features have left it.

    Returns
    -------
    labels : ndarray of int32
        The new groups.
    n_moved : int
        Number of features that moved.
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
    labels: Ids,
    wanted: Ids,
    queues: dict[int, deque[int]],
    sizes: NDArray[np.int64],
    min_size: int,
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
