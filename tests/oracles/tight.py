"""Slow twin of the kernel that groups features with nearly equal columns."""

from collections import Counter
from itertools import chain

import numpy as np

from tests.oracles.forests import MASK, stream

SAMPLES, SKETCH, LATEST, TRIED, LIKELY, ROUNDS = 5, 32, 64, 4, 4, 2


def tight_leaders(points, min_cosine, seed):
    """Return the leader of every column of a dense matrix."""
    n_points, n_columns = points.shape
    lengths = np.maximum(np.linalg.norm(points, axis=1), 1e-30)
    shuffled = list(range(n_points))
    drawn = stream(seed, 0, stage=9)
    for i in range(n_points - 1, 0, -1):
        j = next(draw for draw in drawn if draw < MASK - MASK % (i + 1)) % (i + 1)
        shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
    unit = (points / lengths[:, None])[shuffled]
    first = [np.flatnonzero(column)[:SKETCH] for column in unit.T]
    counts = np.count_nonzero(unit, axis=0)
    known = [n_points if n <= SKETCH else row[-1] + 1 for n, row in zip(counts, first, strict=True)]
    samples = [set(rows[:SAMPLES].tolist()) for rows in first]

    def cosine(a, b, limit):
        a, b = unit[:limit, a], unit[:limit, b]
        return a @ b / np.sqrt((a @ a) * (b @ b))

    order = np.argsort(-np.sum(unit**2, axis=0), kind="stable")
    place = np.argsort(order)
    leaders, applied, leader_of = [], np.full(n_columns, -1), np.full(n_columns, -1)
    for _ in range(ROUNDS):
        for one in order[leader_of[order] < 0]:
            having = [[other for other in leaders if s in samples[other]] for s in samples[one]]
            shared = Counter(chain.from_iterable(some[-LATEST:] for some in having))
            near = sorted(
                (other for other in shared if len(samples[one]) <= LIKELY * shared[other]
                 and other != applied[one] and place[other] < place[one]),
                key=lambda other: (-shared[other], abs(counts[one] - counts[other]), other),
            )  # fmt: skip
            tried = near[:TRIED]
            alike = (
                other for other in tried
                if cosine(one, other, min(known[one], known[other])) >= min_cosine
            )  # fmt: skip
            applied[one] = next(alike, -1)
            if applied[one] < 0:
                leader_of[one] = one
                leaders.append(one)
        for one in np.flatnonzero(leader_of < 0):
            if cosine(one, applied[one], n_points) >= min_cosine:
                leader_of[one] = applied[one]
    return np.where(leader_of < 0, np.arange(n_columns), leader_of)
