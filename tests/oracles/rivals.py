"""Slow twins of the other clusterings: dense, in double precision, as their papers have them."""

import numpy as np


def best_columns(left, right, n_best):
    """Return the highest entries above zero of each row of a product, best first."""
    product = np.asarray(left, dtype=np.float64) @ np.asarray(right, dtype=np.float64)
    rows = []
    for scores in product:
        ranked = sorted(np.flatnonzero(scores > 0), key=lambda c: (-scores[c], c))
        rows.append([(int(c), scores[c]) for c in ranked[:n_best]])
    return rows


def joint_information(joint):
    """Add up p ln(p / (p_row p_column)) over a table, one entry at a time."""
    joint = np.asarray(joint, dtype=np.float64) / np.sum(joint)
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    return sum(p * np.log(p / (rows[j] * columns[k])) for (j, k), p in np.ndenumerate(joint) if p)


def divergences(joint, pooled, smoothing):
    """Return the Kullback-Leibler divergence of every feature from every smoothed group."""
    joint, pooled = (np.asarray(table, dtype=np.float64) for table in (joint, pooled))
    n_labels = joint.shape[1]
    result = np.full((joint.shape[0], pooled.shape[0]), np.inf)
    for k, group in enumerate(pooled):
        if group.sum() == 0:
            continue
        q = (group / group.sum() + smoothing / n_labels) / (1 + smoothing)
        for j, feature in enumerate(joint):
            p = feature / feature.sum()
            some = p > 0
            with np.errstate(divide="ignore"):  # infinite where the group lacks a label
                result[j, k] = (p[some] * np.log(p[some] / q[some])).sum()
    return result


def bcls_rounds(A, labels, n_groups, *, ridge, balance_penalty, n_rounds):
    """Run the augmented Lagrangian with all its dense matrices; gives the labels of each round.

    ``A`` are principal components: centred, one row per point.
    """
    n, q = A.shape
    Y = np.eye(n_groups)[labels]
    M = np.zeros((n, n_groups))
    ones = np.ones((n, 1))
    u = 0.1
    found = []
    for _ in range(n_rounds):
        W = np.linalg.solve(A.T @ A + ridge * np.eye(q), A.T @ Y)
        b = Y.mean(axis=0)
        Z = np.linalg.solve(u * np.eye(n) + 2 * balance_penalty * ones @ ones.T, u * Y + M)
        V = (2 * A @ W + 2 * ones * b + u * Z - M) / (2 + u)
        Y = np.eye(n_groups)[V.argmax(axis=1)]
        M = M + u * (Y - Z)
        u = min(1.005 * u, 1e5)
        found.append(V.argmax(axis=1))
    return found
