"""Slow twins of PPDSparse and ProXML: dense, float64, one label at a time, no active sets."""

import numpy as np


def with_bias(X, value):
    return np.hstack([np.asarray(X, dtype=np.float64), np.full((len(X), 1), value)])


def objective(w, rows, positive, *, penalties, l2=0.0, offset=0.0):
    """penalties |w| + l2 / 2 |w|^2 + squared hinge; ``rows`` ends with the bias feature.

    PPDSparse has an offset and both penalties, of which the bias has the second only; ProXML has
    the first.
    """
    y = np.where(positive, 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - y * (rows @ w + offset))
    return 0.5 * l2 * w @ w + penalties @ np.abs(w) + (slack**2).sum()


def minimum(rows, positive, *, penalties, l2=0.0, offset=0.0):
    """Minimise the objective, as published but without early end."""
    y = np.where(positive, 1.0, -1.0)

    def gradient(w):
        slack = np.maximum(0.0, 1.0 - y * (rows @ w + offset))
        return l2 * w - 2.0 * rows.T @ (y * slack)

    step = 1.0 / (2.0 * np.linalg.norm(rows, 2) ** 2 + l2)
    return descend(gradient, step, penalties, n_steps=5_000)


def descend(gradient, step, penalties, *, n_steps):
    """Minimise a smooth loss and penalties |w| by accelerated proximal gradient."""
    w = point = np.zeros(len(penalties))
    momentum = 1.0
    for _ in range(n_steps):
        moved = point - step * gradient(point)
        moved = np.sign(moved) * np.maximum(np.abs(moved) - step * penalties, 0.0)
        if (point - moved) @ (moved - w) > 0.0:  # momentum points uphill: restart it
            momentum = 1.0
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        point = moved + (momentum - 1.0) / following * (moved - w)
        w, momentum = moved, following
    return w
