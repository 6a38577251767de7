"""Slow twins of PPDSparse and ProXML: dense, float64, one label at a time, no active sets."""

import numpy as np


def soft(values, penalty):
    """Move values towards zero by a penalty."""
    return np.sign(values) * np.maximum(np.abs(values) - penalty, 0.0)


def with_bias(X, value):
    """Append the bias feature."""
    return np.hstack([np.asarray(X, dtype=np.float64), np.full((len(X), 1), value)])


def elastic_objective(w, rows, positive, *, cost, l1, offset):
    """0.5 |w|^2 + l1 |w| (without the bias, the last) + cost * squared hinge."""
    y = np.where(positive, 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - y * (rows @ w + offset))
    return 0.5 * w @ w + l1 * np.abs(w[:-1]).sum() + cost * (slack**2).sum()


def elastic_minimum(rows, positive, *, cost, l1, offset):
    """Minimise the elastic objective by proximal gradient."""
    penalties = np.append(np.full(rows.shape[1] - 1, l1), 0.0)
    return _minimise(rows, positive, cost=cost, penalties=penalties, l2=1.0, offset=offset)


def l1_objective(w, rows, positive, *, cost, l1):
    """l1 |w| + cost * squared hinge; ``rows`` ends with the bias feature."""
    y = np.where(positive, 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - y * (rows @ w))
    return l1 * np.abs(w).sum() + cost * (slack**2).sum()


def l1_minimum(rows, positive, *, cost, l1):
    """Minimise the L1 objective by proximal gradient, as published but without early end."""
    penalties = np.full(rows.shape[1], l1)
    return _minimise(rows, positive, cost=cost, penalties=penalties, l2=0.0, offset=0.0)


def _minimise(rows, positive, *, cost, penalties, l2, offset, n_steps=5_000):
    y = np.where(positive, 1.0, -1.0)
    step = 1.0 / (2.0 * cost * np.linalg.norm(rows, 2) ** 2 + l2)
    w = point = np.zeros(rows.shape[1])
    momentum = 1.0
    for _ in range(n_steps):
        slack = np.maximum(0.0, 1.0 - y * (rows @ point + offset))
        gradient = l2 * point - 2.0 * cost * rows.T @ (y * slack)
        moved = soft(point - step * gradient, step * penalties)
        if (point - moved) @ (moved - w) > 0.0:  # momentum points uphill: restart it
            momentum = 1.0
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        point = moved + (momentum - 1.0) / following * (moved - w)
        w, momentum = moved, following
    return w
