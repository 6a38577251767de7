"""Slow twins of the selection of entries and of the pilot."""

import math

import numpy as np
from scipy import sparse

from defrag import _native


def focus_rows(X, importance, factor, budget):
    """Keep the most important entries of each row, by sorting all of them."""
    rows = []
    for i in range(X.shape[0]):
        own = slice(X.indptr[i], X.indptr[i + 1])
        ids, values = X.indices[own], X.data[own]
        keys = np.abs(values) * importance[ids]
        n_kept = len(ids) if budget == 0 else min(len(ids), math.ceil(budget * math.sqrt(len(ids))))
        order = sorted(range(len(ids)), key=lambda p: (-keys[p], ids[p]))
        row = np.zeros(X.shape[1], dtype=np.float32)
        for p in order[:n_kept]:
            row[ids[p]] = values[p] * factor[ids[p]]
        rows.append(row)
    return sparse.csr_array(np.array(rows, dtype=np.float32).reshape(X.shape))


def feature_importance(X, Y, groups, options):
    """Train the pilot step by step: unit rows, unions of labels, one-vs-rest classifiers."""
    lengths = np.linalg.norm(X.toarray().astype(np.float64), axis=1)
    unit = X.copy()
    unit.data = (X.data / np.repeat(lengths, np.diff(X.indptr))).astype(np.float32)
    unions = np.zeros((16, X.shape[0]), dtype=np.float32)
    for point, label in zip(*Y.nonzero(), strict=True):
        unions[groups[label], point] = 1.0
    weights = _native.solve_blocks(unit, sparse.csr_array(unions), options, n_threads=1).weights
    return np.sqrt(np.square(weights.toarray().astype(np.float64)).sum(axis=1))
