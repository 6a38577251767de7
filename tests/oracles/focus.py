"""Slow twin of the selection of entries."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse


def focus_rows(X, importance, factor, budget):
    """Keep the most important entries of each row, by sorting all of them."""
    rows = []
    for i in range(X.shape[0]):
        ids, values = (
            X.indices[X.indptr[i] : X.indptr[i + 1]],
            X.data[X.indptr[i] : X.indptr[i + 1]],
        )
        keys = np.abs(values) * importance[ids]
        n_kept = len(ids) if budget == 0 else min(len(ids), math.ceil(budget * math.sqrt(len(ids))))
        order = sorted(range(len(ids)), key=lambda p: (-keys[p], ids[p]))
        row = np.zeros(X.shape[1], dtype=np.float32)
        for p in order[:n_kept]:
            row[ids[p]] = values[p] * factor[ids[p]]
        rows.append(row)
    return sparse.csr_array(np.array(rows, dtype=np.float32).reshape(X.shape))
