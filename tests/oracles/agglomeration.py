"""Oracles of pooling and of co-occurrence inside groups."""

import numpy as np


def agglomerate(X, labels, n_groups, pooling="sum"):
    """Add up the columns of each group, one entry at a time."""
    dense = np.asarray(X.toarray(), dtype=np.float64)
    result = np.zeros((dense.shape[0], n_groups))
    counts = np.zeros((dense.shape[0], n_groups))
    for j, group in enumerate(labels):
        if group >= 0:
            result[:, group] += dense[:, j]
            counts[:, group] += dense[:, j] != 0
    if pooling == "mean":
        sizes = np.bincount(labels[labels >= 0], minlength=n_groups)
        result /= np.maximum(sizes, 1)
    elif pooling == "mean_nonzero":
        result /= np.maximum(counts, 1)
    return result


def co_occurrence(X, groups, *, scale):
    """Mask X^T X by the groups, densely, and scale it."""
    dense = np.asarray(X.toarray(), dtype=np.float64)
    C = dense.T @ dense
    C[(groups[:, None] != groups[None, :]) | (groups < 0)[:, None]] = 0.0
    if scale == "cosine":
        diagonal = np.sqrt(np.diag(C))
        factors = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
        C *= factors[:, None] * factors[None, :]
    return C / (np.diag(C) + 0.01)[:, None] if scale == "slope" else C
