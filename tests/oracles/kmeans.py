"""A slow twin of spherical k-means: dense, in double precision."""

import numpy as np


def centres_of(items, cluster, n_clusters):
    """Return the L2-normalised sums of the items of each cluster; zero stays zero."""
    centres = np.zeros((n_clusters, items.shape[1]))
    for item, c in zip(items, cluster, strict=True):
        if c >= 0:
            centres[c] += item
    lengths = np.linalg.norm(centres, axis=1, keepdims=True)
    return centres / np.where(lengths > 0, lengths, 1.0)


def assign_to_centres(items, centres):
    """Return the two most similar centres of every item, -1 where no similarity is above zero."""
    first, second, best = [], [], []
    for item in items:
        scores = centres @ item
        ranked = sorted(np.flatnonzero(scores > 0), key=lambda c: (-scores[c], c))
        first.append(ranked[0] if ranked else -1)
        second.append(ranked[1] if len(ranked) > 1 else -1)
        best.append(scores[ranked[0]] if ranked else 0.0)
    return np.array(first), np.array(second), float(np.mean(best))


def kmeans(items, starts, *, tolerance, max_rounds):
    """Run from given starts; gives clusters, second best ones, the objective and the rounds."""
    cluster = np.full(len(items), -1)
    cluster[starts] = np.arange(len(starts))
    before, n_rounds = -1.0, 0
    while n_rounds < max_rounds:
        n_rounds += 1
        centres = centres_of(items, cluster, len(starts))
        cluster, second, objective = assign_to_centres(items, centres)
        if objective - before < tolerance:
            break
        before = objective
    return cluster, second, objective, n_rounds
