"""Slow twins of the metrics: dense arrays and double loops."""

import math
from itertools import pairwise

import numpy as np


def pool(X, labels, n_clusters):
    pooled = np.zeros((X.shape[0], n_clusters))
    for j, group in enumerate(labels):
        if group >= 0:
            pooled[:, group] += X[:, j]
    return pooled


def information(X, Y, marginals):
    joint = X.T @ Y
    total = joint.sum()
    if total == 0:
        return 0.0
    joint /= total
    if marginals == "joint":
        by_feature, by_label = joint.sum(axis=1), joint.sum(axis=0)
    else:
        by_feature, by_label = X.sum(axis=0) / X.sum(), Y.sum(axis=0) / Y.sum()
    return sum(
        p * math.log(p / (by_feature[j] * by_label[label]))
        for (j, label), p in np.ndenumerate(joint)
        if p > 0
    )


def clustering_errors(X, labels, n_clusters):
    errors = []
    for k in range(n_clusters):
        inside = [j for j, group in enumerate(labels) if group == k]
        columns = X[:, inside]
        centre = columns.mean(axis=1, keepdims=True) if inside else 0.0
        errors.append(math.sqrt(((columns - centre) ** 2).sum()))
    return errors


def ranking(scores, stored, k):
    """Rank the stored scores of one row: by falling score, then by rising id."""
    ids = [j for j in range(len(scores)) if stored[j]]
    return sorted(ids, key=lambda j: (-scores[j], j))[:k]


def discount(place):
    return 1 / math.log2(place + 1)


def inverse_propensity(Y, a, b):
    n_rows = len(Y)
    c = (math.log(n_rows) - 1) * (b + 1) ** a
    return [1 + c * (sum(row[j] for row in Y) + b) ** -a for j in range(len(Y[0]))]


def ranking_metrics(Y, tops, q, k):
    """Return every metric at k as a share; ``tops`` are lists of label ids, best first."""
    rows = []
    covered, best_covered, in_test = set(), set(), set()
    for row, ranked in zip(Y, tops, strict=True):
        true = {j for j, value in enumerate(row) if value}
        best = sorted(true, key=lambda j: (-q[j], j))[:k]
        hits = {place: j for place, j in enumerate(ranked[:k], 1) if j in true}
        in_test |= true
        covered |= set(hits.values())
        best_covered |= set(best)
        most = sum(discount(place) for place in range(1, min(k, len(true)) + 1)) or 1.0
        here = sum(q[j] * discount(place) for place, j in hits.items())
        here_best = sum(q[j] * discount(place) for place, j in enumerate(best, 1))
        rows.append(
            [len(hits) / k, len(hits) / max(1, len(true)), sum(map(discount, hits)) / most,
             sum(q[j] for j in hits.values()), sum(q[j] for j in best),
             here, here_best, here / most, here_best / most]
        )  # fmt: skip
    p, r, ndcg, ps, ps_best, gain, gain_best, scaled, scaled_best = np.sum(rows, axis=0)
    n = len(Y)
    return {
        "P": p / n,
        "R": r / n,
        "nDCG": ndcg / n,
        "PSP": ps / ps_best if ps_best else 0.0,
        "PSnDCG": gain / gain_best if gain_best else 0.0,
        "PSnDCG pyxclib": scaled / scaled_best if scaled_best else 0.0,
        "coverage all": len(covered) / len(Y[0]),
        "coverage test": len(covered) / len(in_test) if in_test else 0.0,
        "coverage ideal": len(covered) / len(best_covered) if best_covered else 0.0,
    }


def macro_precision(Y, tops, train, edges):
    """Return mean precision and share of predicted labels of every bin, None if it is empty."""
    n_labels = len(Y[0])
    frequency = [sum(row[j] for row in train) for j in range(n_labels)]
    order = sorted(range(n_labels), key=lambda j: (-frequency[j], j))
    bins = []
    for low, high in pairwise(edges):
        values, predicted = [], []
        for j in order[low * n_labels // 100 : high * n_labels // 100]:
            times = sum(j in top for top in tops)
            right = sum(j in top and bool(row[j]) for row, top in zip(Y, tops, strict=True))
            values.append(right / times if times else 0.0)
            predicted.append(times > 0)
        bins.append((np.mean(values), np.mean(predicted)) if values else None)
    return bins
