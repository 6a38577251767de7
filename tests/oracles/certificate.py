"""Slow twins of the certificate: dense matrices, one group and one label at a time."""

import numpy as np


def members(labels, k):
    return [j for j, group in enumerate(labels) if group == k]


def tie(X, labels, w, n_clusters, method):
    if method == "joint_ls":
        pooled = np.column_stack([X[:, members(labels, k)].sum(axis=1) for k in range(n_clusters)])
        return np.linalg.lstsq(pooled, X @ w, rcond=None)[0]
    tied = np.zeros(n_clusters)
    for k in range(n_clusters):
        inside = members(labels, k)
        if not inside:
            continue
        pooled = X[:, inside].sum(axis=1)
        square = pooled @ pooled
        if method == "mean" or square == 0:
            tied[k] = w[inside].mean()
        else:
            tied[k] = (X[:, inside] @ w[inside]) @ pooled / square
    return tied


def change(X, labels, w, tied):
    moved = [w[j] - (tied[group] if group >= 0 else 0.0) for j, group in enumerate(labels)]
    return X @ np.array(moved)


def bound(X, labels, w, tied, level):
    """Return the bound for weights tied by mean or by least squares of the group."""
    total = 0.0
    dropped = members(labels, -1)
    if level == "residual":
        total += np.linalg.norm(X[:, dropped] @ w[dropped])
    else:
        total += sum(np.linalg.norm(X[:, j]) * abs(w[j]) for j in dropped)
    for k in range(len(tied)):
        inside = members(labels, k)
        if not inside:
            continue
        columns, weights = X[:, inside], w[inside]
        if level == "residual":
            total += np.linalg.norm(columns @ (weights - tied[k]))
        else:
            centred = columns - columns.mean(axis=1, keepdims=True)
            norm = np.linalg.norm(centred, 2 if level == "spectral" else "fro")
            total += norm * np.linalg.norm(weights - weights.mean())
    return total
