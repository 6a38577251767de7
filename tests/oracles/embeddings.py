"""Slow twins of the kernels over dense vectors and of the methods built on them.

Dense, in double precision, one point after the other.
"""

import numpy as np


def pair_dots(pattern, left, right):
    """Return the dot product of the rows of each entry of a pattern."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return np.array([left[r] @ right[c] for r, c in zip(rows, pattern.indices, strict=True)])


def best_columns(scores, n_best):
    """Return the columns of the highest finite scores of each row, and the scores."""
    ids = np.full((len(scores), n_best), -1)
    best = np.zeros((len(scores), n_best))
    for i, row in enumerate(scores):
        found = np.flatnonzero(row > -np.inf)
        order = sorted(found, key=lambda column: (-row[column], column))[:n_best]
        ids[i, : len(order)], best[i, : len(order)] = order, row[order]
    return ids, best


def best_rows(queries, rows, n_best, bias=None):
    """Return the rows with the highest products for each query, and the products."""
    start = np.zeros(len(rows)) if bias is None else bias.astype(np.float64)
    products = queries.astype(np.float64) @ rows.astype(np.float64).T + start
    return best_columns(products, n_best)


def votes(neighbours, weights, Y, k):
    """Return the labels whose neighbours have the highest sum of weights."""
    dense = Y.toarray()
    sums = np.zeros((len(neighbours), Y.shape[1]))
    for row, (ids, own) in enumerate(zip(neighbours, weights, strict=True)):
        for neighbour, weight in zip(ids, own, strict=True):
            if neighbour >= 0 and weight > 0:
                sums[row] += weight * dense[neighbour]
    return best_columns(np.where(sums > 0, sums, -np.inf), k)


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
