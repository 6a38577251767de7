"""How much of a row is missing: a rule learnt from rows that are erased.

A row is short for what it is about when it has fewer features than rows with such features
usually have. The rule says with which odds a feature is missing, from two signs: the logarithm
of the number of features, and the mean over these of what that logarithm is in training rows.
The odds are also how much to impute: of a row that has lost half of its features, half of the
sum should be what they occur with. No label is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.linear_model import LogisticRegression

from defrag.metrics.erasure import erase_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr, Floats

__all__ = ["MissingRule"]

# Degrees of erasure; complete rows count for three fifths, since most rows are complete.
_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)
_COMPLETE = 0.6
# Rows that are held out to learn from: so many, or a fifth of all.
_MOST_HELD_OUT = 1000
# Below the first a row is left alone, which saves time and costs precision where little is missing;
# beyond the second more makes no difference.
_LEAST_BETA, _MOST_BETA = 0.15, 3.0
# Every row counts this much for either outcome: odds stay finite where nothing can be erased.
_DOUBT = 1e-3


@dataclass(frozen=True)
class MissingRule:
    """With which odds a feature of a row is missing.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (3,)
        Of 1, of the logarithm of the number of features, and of the usual one.
    log_sizes : ndarray of float32, shape (n_features,)
        The mean logarithm of the number of features of the training rows that a feature is in.
    """

    coefficients: NDArray[np.float64]
    log_sizes: Floats

    @classmethod
    def learn(cls, rows: Csr, *, seed: int) -> MissingRule:
        """Erase some rows that the usual sizes are not taken from; then take these from all."""
        n_rows = rows.shape[0]
        order = np.random.default_rng([seed, 2]).permutation(n_rows)
        n_held = min(_MOST_HELD_OUT, max(1, n_rows // 5))
        held = rows[np.sort(order[:n_held])]
        usual = _LogSizes.of_rows(rows)
        sizes = usual.without(_LogSizes.of_rows(held)).means()
        signs, weights = [], []
        for number, share in enumerate(_SHARES):
            erased = erase_features(held, share, np.random.default_rng([seed, number]))
            signs.append(_signs(erased, sizes))
            whole = np.diff(held.indptr)
            kept = np.where(whole > 0, np.diff(erased.indptr) / np.maximum(whole, 1), 1.0)
            of_share = _COMPLETE if share == 0.0 else (1.0 - _COMPLETE) / (len(_SHARES) - 1)
            weights.append(of_share * (np.stack([kept, 1.0 - kept], axis=1) + _DOUBT))
        return cls(_fit_odds(np.concatenate(signs), np.concatenate(weights)), usual.means())

    def betas(self, rows: Csr) -> Floats:
        """Give the beta of every row: the odds, or 0 where these are small."""
        logits = self.coefficients[0] + _signs(rows, self.log_sizes) @ self.coefficients[1:]
        # The logarithm is cut before the exponential can overflow.
        betas = np.exp(np.minimum(logits, np.log(_MOST_BETA)))
        betas[betas < _LEAST_BETA] = 0.0
        return np.asarray(betas, dtype=np.float32)


def _fit_odds(signs: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fit log odds to signs; each row counts as so much kept and so much missing."""
    n_rows = len(signs)
    model = LogisticRegression(solver="newton-cholesky")
    outcomes = np.repeat([0, 1], n_rows)
    model.fit(np.concatenate([signs, signs]), outcomes, sample_weight=weights.T.ravel())
    return np.append(model.intercept_, model.coef_)


@dataclass(frozen=True)
class _LogSizes:
    """Sums over rows of the logarithm of their number of features: of all, and by feature."""

    n_rows: int
    total: float
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]

    @classmethod
    def of_rows(cls, rows: Csr) -> _LogSizes:
        sizes, n_features = np.diff(rows.indptr), rows.shape[1]
        logs = np.log(np.maximum(sizes, 1))
        counts = np.bincount(rows.indices, minlength=n_features)
        sums = np.bincount(rows.indices, weights=np.repeat(logs, sizes), minlength=n_features)
        return cls(len(logs), float(logs.sum()), counts, np.asarray(sums, dtype=np.float64))

    def without(self, some: _LogSizes) -> _LogSizes:
        """Take away some of the rows."""
        return _LogSizes(
            self.n_rows - some.n_rows,
            self.total - some.total,
            self.counts - some.counts,
            self.sums - some.sums,
        )

    def means(self) -> Floats:
        """Average over the rows of each feature and one row like any."""
        return np.asarray(
            (self.sums + self.total / self.n_rows) / (self.counts + 1), dtype=np.float32
        )


def _signs(rows: Csr, log_sizes: Floats) -> NDArray[np.float64]:
    counts = np.diff(rows.indptr)
    sizes = np.maximum(counts, 1)
    numbers = np.repeat(np.arange(len(counts)), counts)
    sums = np.bincount(numbers, weights=log_sizes[rows.indices], minlength=len(counts))
    return np.stack([np.log(sizes), sums / sizes], axis=1)
