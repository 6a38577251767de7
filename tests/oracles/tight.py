"""Slow twin of the kernel that groups features with nearly equal columns."""

from collections import Counter
from itertools import chain

import numpy as np

from tests.oracles.forests import MASK, stream

SAMPLES, LATEST, TRIED, LIKELY = 5, 64, 4, 4


def tight_leaders(items, order, min_cosine, seed):
    """Return the leader of every item of a dense matrix of unit rows."""
    places = list(range(items.shape[1]))
    drawn = stream(seed, 0, stage=9)
    for i in range(len(places) - 1, 0, -1):
        j = next(draw for draw in drawn if draw < MASK - MASK % (i + 1)) % (i + 1)
        places[i], places[j] = places[j], places[i]
    columns = [sorted(np.flatnonzero(row), key=places.__getitem__) for row in items]
    samples = [set(column[:SAMPLES]) for column in columns]
    leaders, leader_of = [], np.arange(len(items))
    for item in order:
        known = [[one for one in leaders if s in samples[one]] for s in samples[item]]
        shared = Counter(chain.from_iterable(some[-LATEST:] for some in known))
        near = sorted(
            (one for one in shared if len(samples[item]) <= LIKELY * shared[one]),
            key=lambda one: (-shared[one], abs(len(columns[item]) - len(columns[one])), one),
        )
        alike = (one for one in near[:TRIED] if items[item] @ items[one] >= min_cosine)
        leader_of[item] = next(alike, item)
        if leader_of[item] == item:
            leaders.append(item)
    return leader_of
