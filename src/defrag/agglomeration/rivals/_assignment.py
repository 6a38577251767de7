"""Assignment of features to groups with a minimum size: stable matching, moves, exchanges.

These are plain loops over features, each of which considers a few groups; the expensive
part, the similarities, is computed before.
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
    """Stable matching of features and the minimum number of seats of every group.

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

    def propose(self, features: Ids, wishes: Matches, groups: Ids) -> None:
        """Match features that have no seat yet.

        Parameters
        ----------
        features : ndarray of int32
            The features.
        wishes : Matches
            Columns of ``groups`` and similarities for each feature, best first.
        groups : ndarray of int32
            The groups of the columns.
        """
        columns = groups[wishes.columns].tolist()
        scores = wishes.scores.tolist()
        ends = wishes.indptr[1:].tolist()
        nexts = wishes.indptr[:-1].tolist()
        place = {int(feature): position for position, feature in enumerate(features)}
        # A stack with the smallest id on top; the result does not depend on the order.
        free = sorted(place, reverse=True)
        while free and self.n_seats:
            feature = free.pop()
            position = place[feature]
            wish = nexts[position]
            if wish == ends[position]:
                continue
            nexts[position] = wish + 1
            seated = self._seated[columns[wish]]
            candidate = (scores[wish], -feature)
            if len(seated) < self.n_seats:
                heapq.heappush(seated, candidate)
            else:
                _, rejected = heapq.heappushpop(seated, candidate)
                if -rejected in place:
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
    labels: Ids, wanted: Ids, gain: NDArray[np.float64], n_clusters: int, least: int
) -> tuple[Ids, int]:
    """Move features to better groups without leaving a group with fewer than ``least``.

    First features leave groups with more than ``least`` features, the largest gain first; then
    pairs of groups exchange features; then features rotate along cycles of groups. No feature
    moves to a worse group.

    Parameters
    ----------
    labels : ndarray of int32
        The current groups; not modified.
    wanted : ndarray of int32
        The best group of each feature.
    gain : ndarray of float64
        Gain of the feature in that group; 0 to stay.
    n_clusters : int
        Number of groups.
    least : int
        Minimum size of a group that features leave.

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
    _move_surplus(result, wanted, queues, np.bincount(labels, minlength=n_clusters), least)
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
    least: int,
) -> None:
    rich = sorted(queues, reverse=True)
    while rich:
        source = rich[-1]
        if sizes[source] <= least or not queues.get(source):
            rich.pop()
            continue
        feature = queues[source].popleft()
        target = int(wanted[feature])
        labels[feature] = target
        sizes[source] -= 1
        sizes[target] += 1
        rich.append(target)


def _exchange(labels: Ids, wanted: Ids, queues: dict[int, deque[int]]) -> None:
    movers_between: dict[tuple[int, int], deque[int]] = defaultdict(deque)
    for source, queue in queues.items():
        for feature in queue:
            movers_between[source, int(wanted[feature])].append(feature)
    gone = set()
    for (source, target), there in movers_between.items():
        back = movers_between.get((target, source), deque())
        while source < target and there and back:
            for feature in (there.popleft(), back.popleft()):
                labels[feature] = wanted[feature]
                gone.add(feature)
    for source, queue in queues.items():
        queues[source] = deque(feature for feature in queue if feature not in gone)


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
