"""The formulas of the paper (Jalan and Kar, IJCAI 2019) as they are printed: dense, row by row."""

import math

import numpy as np


def pseudo_co_occurrence(X, groups):
    """C^F: the sum over the clusters of X_F X_F^T; X has one row per point."""
    d = X.shape[1]
    C = np.zeros((d, d))
    for group in set(groups):
        members = [j for j in range(d) if groups[j] == group]
        for j in members:
            for k in members:
                C[j, k] = sum(x[j] * x[k] for x in X)
    return C


def fiat(C, x):
    """FIAT: feature imputation "by simply calculating C^F x"."""
    return C @ x


def fiat_as_meant(C, x):
    """Present features keep their values, missing ones get those of C^F x at the length of x."""
    product = C @ x
    length = math.sqrt(sum(product**2))
    filled = product * (math.sqrt(sum(x**2)) / length if length else 0.0)
    return np.array([x[j] if x[j] != 0 else filled[j] for j in range(len(x))])


def prototypes(C, X, Y):
    """The columns of C^F X Y^T, one per label."""
    return [C @ sum((x for x, y in zip(X, Y, strict=True) if y[label]), np.zeros(len(C)))
            for label in range(Y.shape[1])]  # fmt: skip


def refrag(b, x, prototype, *, alpha, gamma):
    """c = alpha log b + (1 - alpha) log a, with a = exp(-gamma/2 |x - prototype|^2)."""
    log_a = -gamma / 2 * sum((x - prototype) ** 2)
    return alpha * math.log(b) + (1 - alpha) * log_a


def head_vectors(X, Y, *, points, labels):
    """The q^j of DEFRAG-XY, of the most voluminous points and the most popular labels."""
    volume = [-np.abs(x).sum() for x in X]
    chosen = np.argsort(volume, kind="stable")[: int(points * len(X))]
    popular = np.sort(np.argsort(-Y.sum(axis=0), kind="stable")[: math.ceil(labels * Y.shape[1])])
    return np.array([sum(X[i, j] * Y[i, popular] for i in chosen) for j in range(X.shape[1])])


def dcg(ranking, v):
    return sum(v[j] / math.log(1 + place) for place, j in enumerate(ranking, 1))


def ndcg(ranking, v):
    return dcg(ranking, v) / dcg(np.argsort(-v, kind="stable"), v)


def ndcg_split(Z, first, second, *, rounds):
    """Algorithm 2 without its balance: every feature goes to the ranking that suits it better."""
    rankings = [np.argsort(-Z[one], kind="stable") for one in (first, second)]
    side = None
    for _ in range(rounds):
        s = np.array([ndcg(rankings[0], z) - ndcg(rankings[1], z) for z in Z])
        side = s > 0
        weighed = [z / dcg(np.argsort(-z, kind="stable"), z) for z in Z]
        rankings = [np.argsort(-sum(w for w, of in zip(weighed, part, strict=True) if of),
                               kind="stable") for part in (side, ~side)]  # fmt: skip
    return side
