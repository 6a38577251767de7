"""How much of a row is missing, and so how much to impute: a rule learnt from erased rows.

A row u of length 1 was part of a complete row c, and u C / |u C| = v is what its features
occur with. The rule writes c as a(z) u + b(z) v, with a and b linear in what can be seen of
the row: z holds 1, the logarithm of its number of features, and how many companions of its
features are there, <u, u C>. The least squares over rows that are erased to several degrees have
a closed form, and b / a is the beta of a row. No label is needed: a linear classifier does best
on what is nearest to the complete row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defrag.classifiers._base import unit_rows
from defrag.erasure import erase_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.co_occurrence import CoOccurrence
    from defrag.typing import Csr, Floats

__all__ = ["learn_rule", "row_betas"]

# Degrees of erasure; complete rows count for three tenths, since most rows are complete.
_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)
_COMPLETE = 0.3
# Below the first a row is left alone, above the second the sum is all u C.
_LEAST_BETA, _MOST_BETA = 0.7, 8.0


def learn_rule(
    rows: Csr, blocks: CoOccurrence, *, seed: int, n_threads: int
) -> NDArray[np.float64]:
    """Fit the coefficients of a and of b, shape (2, 3), on complete rows of length 1."""
    squares, products = np.zeros((2, 3, 2, 3)), np.zeros((2, 3))
    for number, share in enumerate(_SHARES):
        erased = unit_rows(
            erase_features(rows, share, np.random.default_rng([seed, number])), n_threads
        )
        weight = _COMPLETE if share == 0.0 else (1.0 - _COMPLETE) / (len(_SHARES) - 1)
        views = (erased, blocks.multiply(erased, max_entries=0, n_threads=n_threads))
        signs = _signs(erased, blocks, n_threads)
        for i, one in enumerate(views):
            products[i] += weight * signs.T @ _dots(rows, one)
            for j, other in enumerate(views):
                squares[i, :, j] += weight * signs.T @ (_dots(one, other)[:, None] * signs)
    system = squares.reshape(6, 6)
    # Signs that say the same on these rows share the coefficient.
    found = np.linalg.lstsq(system, products.ravel(), rcond=1e-10)[0]
    return np.asarray(found, dtype=np.float64).reshape(2, 3)


def row_betas(
    rows: Csr, blocks: CoOccurrence, rule: NDArray[np.float64], *, n_threads: int
) -> Floats:
    """Give the beta of every row."""
    own, added = (_signs(rows, blocks, n_threads) @ rule.T).T
    betas = np.full(len(own), _MOST_BETA)
    # Where the row itself counts for little or less, all is u C.
    np.divide(added, own, out=betas, where=own > np.maximum(added, 0.0) / _MOST_BETA)
    betas[(added <= 0) | (betas < _LEAST_BETA)] = 0.0
    return betas.astype(np.float32)


def _signs(rows: Csr, blocks: CoOccurrence, n_threads: int) -> NDArray[np.float64]:
    overlaps = blocks.overlaps(rows, n_threads=n_threads)
    sizes = np.log(np.maximum(np.diff(rows.indptr), 1))
    return np.stack([np.ones(len(sizes)), sizes, overlaps], axis=1).astype(np.float64)


def _dots(A: Csr, B: Csr) -> NDArray[np.float64]:
    return np.asarray(A.multiply(B).sum(axis=1), dtype=np.float64).ravel()
