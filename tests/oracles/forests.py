"""Slow twins of the forests over points: one node, one point, one label at a time."""

import math

import numpy as np

from tests.oracles.kmeans import assign_to_centres, centres_of
from tests.oracles.metrics import discount
from tests.oracles.sparse_learners import descend

MASK = 2**64 - 1
FOREST_STAGE = 8


def splitmix64(state):
    """Return the next state and number of the generator."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = state
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return state, z ^ (z >> 31)


def stream(seed, item, stage=FOREST_STAGE):
    """Yield the numbers of the stream (seed, stage, item)."""
    state, drawn = splitmix64(seed)
    state = drawn ^ (stage * 0xD6E8FEB86659FD93 & MASK)
    state, drawn = splitmix64(state)
    state = drawn ^ (item * 0xA0761D6478BD642F & MASK)
    state, _ = splitmix64(state)
    while True:
        state, drawn = splitmix64(state)
        yield drawn


def gains_of(labels, weights, *, normalized):
    ideal = sum(map(discount, range(1, len(labels) + 1))) if normalized else 1.0
    return {label: float(np.float32(weights[label] / ideal)) for label in labels}


def discounts_of(gains, side, which):
    """Rank the labels of a side, and return the discount of a label as a function."""
    sums = {}
    for point, of_labels in enumerate(gains):
        if side[point] == which:
            for label, gain in of_labels.items():
                sums[label] = sums.get(label, 0.0) + gain
    first = {label: place for place, label in enumerate(dict.fromkeys(
        label for of_labels in gains for label in of_labels))}  # fmt: skip
    ranked = sorted(sums, key=lambda label: (-sums[label], first[label]))
    ranks = {label: rank for rank, label in enumerate(ranked, 1)}
    return lambda label: discount(ranks.get(label, len(ranked) + 1))


def mean_gain(labels_of_points, weights, side, *, normalized):
    """Return the mean (n)DCG of the points under the rankings of their sides."""
    gains = [gains_of(labels, weights, normalized=normalized) for labels in labels_of_points]
    total = 0.0
    for which in (0, 1):
        value = discounts_of(gains, side, which)
        total += sum(
            gain * value(label)
            for point, of_labels in enumerate(gains) if side[point] == which
            for label, gain in of_labels.items()
        )  # fmt: skip
    return total / len(gains)


def sides_of_points(labels_of_points, weights, key, *, normalized, tolerance=1e-6, max_rounds=50):
    """Deal points to two sides; ties of labels go to the one that comes first."""
    gains = [gains_of(labels, weights, normalized=normalized) for labels in labels_of_points]
    draws = stream(key, 0)
    side = [next(draws) >> 63 for _ in gains]
    before = -1.0
    for _ in range(max_rounds):
        gain = mean_gain(labels_of_points, weights, side, normalized=normalized)
        if gain - before < tolerance:
            break
        before = gain
        up, down = discounts_of(gains, side, 1), discounts_of(gains, side, 0)
        for point, of_labels in enumerate(gains):
            # In single precision, as the kernel keeps them: ties must be ties in both.
            score = sum(
                g * float(np.float32(up(label)) - np.float32(down(label)))
                for label, g in of_labels.items()
            )
            if abs(score) > 1e-7:
                side[point] = int(score > 0)
    return side


def logistic_objective(w, rows, positive, costs):
    """|w|_1 + sum of costs * log(1 + exp(-s w.x)); ``rows`` ends with the bias feature."""
    margins = np.where(positive, 1.0, -1.0) * (rows @ w)
    return np.abs(w).sum() + (costs * np.logaddexp(0.0, -margins)).sum()


def logistic_minimum(rows, positive, costs):
    s = np.where(positive, 1.0, -1.0)
    step = 4.0 / (costs.max() * np.linalg.norm(rows, 2) ** 2)
    return descend(
        lambda w: rows.T @ (-costs * s / (1.0 + np.exp(s * (rows @ w)))),
        step, np.ones(rows.shape[1]), n_steps=20_000,
    )  # fmt: skip


def hash_item(key, item, n_buckets, n_kept=65536):
    """Return the bucket and the sign of a feature or label, or None if it is left out."""
    _, bits = splitmix64((key + item * 0xD1342543DE82EF95) & MASK)
    if (bits >> 1 & 0xFFFF) >= n_kept:
        return None
    return (bits >> 32) * n_buckets >> 32, 1.0 if bits & 1 else -1.0


def hashed_vector(row, key, n_buckets, n_kept=65536):
    """Return a dense row as a dense vector of buckets."""
    out = np.zeros(n_buckets)
    for item in np.flatnonzero(row):
        found = hash_item(int(key), int(item), n_buckets, n_kept)
        if found is not None:
            out[found[0]] += found[1] * row[item]
    return out


def clusters_of_points(labels_of_points, key, *, n_clusters, n_buckets, max_rounds):
    """Cluster unit vectors of hashed labels by k-means from starts of k-means++."""
    n_labels = 1 + max(max(labels) for labels in labels_of_points)
    items = []
    for labels in labels_of_points:
        vector = hashed_vector(np.isin(np.arange(n_labels), labels), ~key & MASK, n_buckets)
        items.append(vector / max(np.linalg.norm(vector), 1e-12))
    items = np.array(items)
    draws = stream(key, 1)
    cluster = np.full(len(items), -1)
    distances = np.full(len(items), 2.0)
    starts = []
    while len(starts) < n_clusters and distances.sum() > 0.0:
        draw = distances.sum() * ((next(draws) >> 11) * 2.0**-53)
        chosen = int(np.searchsorted(np.cumsum(distances), draw, side="right"))
        closer = 2.0 - 2.0 * (items @ items[chosen])
        closer[closer < 2e-5] = 0.0
        better = closer < distances
        cluster[better] = len(starts)
        distances = np.where(better, closer, distances)
        starts.append(chosen)
    before = -1.0
    for _ in range(max_rounds):
        cluster, _, objective = assign_to_centres(items, centres_of(items, cluster, len(starts)))
        if objective < before:
            break
        before = objective
    return starts, cluster, objective


def leaf_of(forest, tree, row):
    """Route a dense row of all features down a tree; return the leaf."""
    if forest.hash is None:
        row = row[forest.features]
    else:
        one = forest.hash
        row = hashed_vector(row, one.keys[tree], one.n_buckets, one.n_kept)
    node = int(forest.tree_ptr[tree])
    while forest.n_children[node]:
        entries = range(forest.entry_ptr[node], forest.entry_ptr[node + 1])
        if forest.hash is None:
            margin = float(forest.bias[node])
            for e in entries:
                margin += float(forest.weights[e]) * float(row[forest.slots[e]])
            child = 0 if margin >= 0.0 else 1
        else:
            products = [0.0] * forest.n_children[node]
            for e in entries:
                products[forest.children[e]] += float(forest.weights[e]) * row[forest.slots[e]]
            child = products.index(max(products))
        node = int(forest.first_child[node]) + child
    return node


def wrong_leaves(forest, rows, labels):
    """Return the leaves that are not the mean of the rows that reach them, and those that are."""
    wrong, right = [], []
    for tree in range(len(forest.tree_ptr) - 1):
        leaves = np.array([leaf_of(forest, tree, row) for row in rows])
        for leaf in range(forest.tree_ptr[tree], forest.tree_ptr[tree + 1]):
            if forest.n_children[leaf]:
                continue
            found = np.zeros(labels.shape[1])
            part = slice(forest.leaf_ptr[leaf], forest.leaf_ptr[leaf + 1])
            found[forest.labels[forest.outputs[part]]] = forest.values[part]
            reached = labels[leaves == leaf]
            same = len(reached) and np.allclose(found, reached.mean(axis=0), rtol=1e-6)
            (right if same else wrong).append(leaf)
    return wrong, right


def forest_scores(forest, rows, n_labels):
    """Return the scores of all labels of dense rows, averaging one leaf after the other."""
    scores = np.zeros((len(rows), n_labels), dtype=np.float32)
    for i, row in enumerate(rows):
        for tree in range(len(forest.tree_ptr) - 1):
            leaf = leaf_of(forest, tree, row)
            for e in range(forest.leaf_ptr[leaf], forest.leaf_ptr[leaf + 1]):
                scores[i, forest.labels[forest.outputs[e]]] += forest.values[e]
    return scores / np.float32(len(forest.tree_ptr) - 1)


def reranked_scores(means, rows, prototypes, *, alpha, gamma):
    """Re-rank mean scores of outputs of dense unit rows; return the scores, 0 where means are.

    ``prototypes`` has a dense row per output, and a weight.
    """
    vectors, weights = prototypes
    scores = np.zeros_like(means)
    for i, row in enumerate(rows):
        found = np.flatnonzero(means[i])
        steps = []
        for output in found:
            t = float(means[i, output]) * float(weights[output])
            distance = float(((vectors[output] - row) ** 2).sum())
            log = alpha * math.log(t) - (1 - alpha) * np.logaddexp(0.0, gamma / 2 * distance)
            steps.append(math.floor(max(log, -63.0) * 2**18))
        for output, step in zip(found, steps, strict=True):
            scores[i, output] = means[i].max() * math.exp((step - max(steps)) / 2**18)
    return scores
