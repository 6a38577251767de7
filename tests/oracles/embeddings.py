"""Slow twins of the kernels over dense vectors and of the methods built on them.

Dense, in double precision, one point after the other.
"""

import numpy as np


def pair_dots(pattern, left, right):
    """Return the dot product of the rows of each entry of a pattern."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return np.array([left[r] @ right[c] for r, c in zip(rows, pattern.indices, strict=True)])


def best_rows(queries, rows, n_best, bias=None):
    """Return the rows with the highest products for each query, and the products."""
    start = np.zeros(len(rows)) if bias is None else bias.astype(np.float64)
    ids = np.full((len(queries), n_best), -1)
    scores = np.zeros((len(queries), n_best))
    for q, query in enumerate(queries.astype(np.float64)):
        products = rows.astype(np.float64) @ query + start
        order = sorted(range(len(rows)), key=lambda r: (-products[r], r))[:n_best]
        ids[q, : len(order)] = order
        scores[q, : len(order)] = products[order]
    return ids, scores


def votes(neighbours, weights, Y, k):
    """Return the labels whose neighbours have the highest sum of weights."""
    dense = Y.toarray()
    labels = np.full((len(neighbours), k), -1)
    scores = np.zeros((len(neighbours), k))
    for row, (ids, own) in enumerate(zip(neighbours, weights, strict=True)):
        sums = np.zeros(Y.shape[1])
        for neighbour, weight in zip(ids, own, strict=True):
            if neighbour >= 0 and weight > 0:
                sums += weight * dense[neighbour]
        order = sorted(np.flatnonzero(sums > 0), key=lambda label: (-sums[label], label))[:k]
        labels[row, : len(order)] = order
        scores[row, : len(order)] = sums[order]
    return labels, scores


def leml_objective(X, Y, W, H, l2):
    """Return what LEML minimises."""
    return ((Y - X @ W @ H.T) ** 2).sum() + l2 * ((W**2).sum() + (H**2).sum())


def leml_round(X, Y, H, l2):
    """Return W and then H, each solved for exactly while the other is fixed."""
    d, rank = X.shape[1], H.shape[1]
    # vec(W) by the Kronecker form of the normal equations: small problems only.
    system = np.kron(X.T @ X, H.T @ H) + l2 * np.eye(d * rank)
    W = np.linalg.solve(system, (X.T @ Y @ H).ravel()).reshape(d, rank)
    A = X @ W
    H = np.linalg.solve(A.T @ A + l2 * np.eye(rank), A.T @ Y).T
    return W, H


def label_matches(Y, n_neighbours, power):
    """Return the points with the most similar labels of each point, as a dense matrix."""
    similar = Y @ (Y / np.maximum(Y.sum(axis=1, keepdims=True), 1) ** power).T
    result = np.zeros_like(similar)
    for i, row in enumerate(similar):
        best = sorted(np.flatnonzero(row > 0), key=lambda j: (-row[j], j))[:n_neighbours]
        result[i, best] = row[best]
    return result


def annexml_loss(Z, anchors, positives, negatives, gamma):
    """Return the sum over anchors of the mean loss over their positives, of vectors Z."""
    U = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    total = 0.0
    for i, near, far in zip(anchors, positives, negatives, strict=True):
        for j in near:
            gaps = [gamma * (U[i] @ U[j] - U[i] @ U[k]) for k in far]
            total += np.log1p(np.exp(-np.array(gaps)).sum()) / len(near)
    return total
