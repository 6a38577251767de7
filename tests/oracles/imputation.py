"""Oracles of companions and of imputation."""

import numpy as np

from tests.oracles.trees import unit


def companions(X, feature, rows, weights, *, n_best, ridge, common):
    """Return the line of C of one feature, densely, from some of its rows."""
    dense = np.asarray(X.toarray(), dtype=np.float64)
    products = dense[rows, feature] @ dense[rows]
    n_rows = np.count_nonzero(dense[:, feature])
    keys = np.abs(products) * weights
    keys[feature] = 0.0
    line = np.zeros(len(products))
    if not n_rows:
        return line
    slope = 1.0 / (products[feature] + ridge)
    for other in np.lexsort((np.arange(len(keys)), -keys))[:n_best]:
        line[other] = products[other] * slope / (1.0 + n_rows / common)
    line[feature] = products[feature] * slope
    return line


def impute(u, C, beta, room=None):
    """Impute one row: u + beta unit(u C), or u C where beta is None; the largest entries."""
    product = u @ C
    row = product.copy() if beta is None else u + beta * unit(product)
    if room is not None:
        order = np.lexsort((np.arange(len(row)), -np.abs(row)))
        row[order[room:]] = 0.0
    return unit(row)
