"""Sparse data at any scale whose features fall off like words."""

import numpy as np
from scipy import sparse


def power_law(n_features: int, nnz: int, *, per_row: int = 100, seed: int = 0) -> sparse.csr_array:
    """Make about ``nnz`` non-zeros in rows of ``per_row`` draws.

    A quarter of a row's words come from one of 1,000 topics (a window of the vocabulary),
    the others from all of it, both by Zipf's law.
    """
    rng = np.random.default_rng(seed)
    n_rows = max(1, nnz // per_row)
    parts = []
    for start in range(0, n_rows, 100_000):
        rows = min(100_000, n_rows - start)
        draws = _zipf(rng, (rows, per_row), n_features)
        window = max(1, n_features // 1000)
        topics = rng.integers(0, 1000, rows)[:, None] * window
        local = topics + _zipf(rng, (rows, per_row // 4), window)
        draws[:, : per_row // 4] = np.minimum(local, n_features - 1)
        indptr = np.arange(0, rows * per_row + 1, per_row, dtype=np.int64)
        values = rng.random(rows * per_row, dtype=np.float32) + np.float32(0.1)
        part = sparse.csr_array((values, draws.ravel(), indptr), shape=(rows, n_features))
        part.sum_duplicates()
        parts.append(part)
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def _zipf(rng: np.random.Generator, shape: tuple[int, int], n: int) -> np.ndarray:
    """Draw 0..n-1 with probability about 1 / (rank + 1), by inverting its integral."""
    draws = np.exp(rng.random(shape) * np.log(n + 1)) - 1
    return np.minimum(draws, n - 1).astype(np.int32)
