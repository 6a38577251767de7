"""Features dealt to groups that must not become too small: proposals, moves, exchanges.

Plain loops over features, each of which looks at a handful of groups: what is costly, the
similarities, has been computed before.
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

__all__ = ["Marriage", "improve"]


class Marriage:
    """Stable marriage of features and the seats that every group must fill.

    Features propose to groups by falling similarity, a group keeps the most similar ones up
    to its number of seats, ties to the smaller id, and who is sent away proposes again.

    Parameters
    ----------
    n_features, n_clusters : int
        How many there are.
    n_seats : int
        Seats of each group.
    """

    def __init__(self, n_features: int, n_clusters: int, n_seats: int) -> None:
        self.n_seats = n_seats
        self.group = np.full(n_features, -1, dtype=np.int32)
        self._seated: list[list[tuple[float, int]]] = [[] for _ in range(n_clusters)]

    def short_groups(self) -> Ids:
        """Give the groups that have seats left."""
        short = [k for k, seated in enumerate(self._seated) if len(seated) < self.n_seats]
        return np.array(short, dtype=np.int32)

    def propose(self, features: Ids, wishes: Matches, groups: Ids) -> None:
        """Let features propose that have no seat yet.

        Parameters
        ----------
        features : ndarray of int32
            The features.
        wishes : Matches
            For each of them, best first, columns of ``groups`` and similarities.
        groups : ndarray of int32
            The groups that the columns of the wishes stand for.
        """
        columns = groups[wishes.columns].tolist()
        scores = wishes.scores.tolist()
        ends = wishes.indptr[1:].tolist()
        nexts = wishes.indptr[:-1].tolist()
        place = {int(feature): position for position, feature in enumerate(features)}
        # A stack, the smallest id on top; the outcome does not depend on the order.
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
                _, sent_away = heapq.heappushpop(seated, candidate)
                if -sent_away in place:
                    free.append(-sent_away)
        self._note_seats()

    def fill(self) -> None:
        """Give the seats that are left to features that have none, in the order of ids."""
        free = deque(np.flatnonzero(self.group < 0).tolist())
        for seated in self._seated:
            while len(seated) < self.n_seats and free:
                heapq.heappush(seated, (0.0, -free.popleft()))
        self._note_seats()

    def _note_seats(self) -> None:
        self.group[:] = -1
        for k, seated in enumerate(self._seated):
            for _, feature in seated:
                self.group[-feature] = k


def improve(
    labels: Ids, wanted: Ids, gain: NDArray[np.float64], n_clusters: int, least: int
) -> tuple[Ids, int]:
    """Move features to the groups they want, and leave no group with fewer than ``least``.

    First a group sends features off as long as it has more than it needs, the largest gain
    first; then two groups exchange features that want to trade places; then features move
    round in circles of groups. Nobody loses by any of it.

    Parameters
    ----------
    labels : ndarray of int32
        The present groups; not changed.
    wanted : ndarray of int32
        The group that each feature wants.
    gain : ndarray of float64
        What it gains there; 0 where it wants to stay.
    n_clusters : int
        How many groups there are.
    least : int
        The least size of a group that features leave.

    Returns
    -------
    labels : ndarray of int32
        The new groups.
    n_moved : int
        How many features moved.
    """
    movers = np.flatnonzero((gain > 0) & (wanted != labels))
    movers = movers[np.lexsort((movers, -gain[movers]))]
    queues: dict[int, deque[int]] = defaultdict(deque)
    for feature in movers.tolist():
        queues[int(labels[feature])].append(feature)
    result = labels.copy()
    _send_off(result, wanted, queues, np.bincount(labels, minlength=n_clusters), least)
    _exchange(result, wanted, queues)
    while circle := next(_circles(wanted, queues), None):
        for feature in circle:
            queues[int(labels[feature])].popleft()
            result[feature] = wanted[feature]
    return result, int(np.count_nonzero(result != labels))


def _send_off(
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
    travellers: dict[tuple[int, int], deque[int]] = defaultdict(deque)
    for source, queue in queues.items():
        for feature in queue:
            travellers[source, int(wanted[feature])].append(feature)
    gone = set()
    for (source, target), there in travellers.items():
        back = travellers.get((target, source), deque())
        while source < target and there and back:
            for feature in (there.popleft(), back.popleft()):
                labels[feature] = wanted[feature]
                gone.add(feature)
    for source, queue in queues.items():
        queues[source] = deque(feature for feature in queue if feature not in gone)


def _circles(wanted: Ids, queues: dict[int, deque[int]]) -> Iterator[list[int]]:
    """Follow the first in the queue of each group; give the circles that this makes."""
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
