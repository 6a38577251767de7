"""Estimation of the fraction of missing features of a point, learnt from erased points.

A point is incomplete if it has fewer features than training points with the same features. A
logistic regression estimates the odds that a feature is missing from the logarithm of the
number of features and from the mean, over the features, of that logarithm in training points.
The odds are also the weight of the imputed part: a point that has lost half of its features
should be half imputed. No labels are needed.
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

# Erased fractions; complete points have a weight of three fifths, since most are complete.
_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)
_COMPLETE = 0.6
# Maximum number of held-out points, which are at most a fifth of all points.
_MAX_HELD_OUT = 1000
# Points with smaller odds are not imputed, which saves time but costs precision if few features
# are missing; larger odds make no difference.
_MIN_BETA, _MAX_BETA = 0.15, 3.0
# Weight of either outcome for every point, so that odds are finite if nothing can be erased.
_PRIOR_WEIGHT = 1e-3


@dataclass(frozen=True)
class MissingRule:
    """Odds that a feature of a point is missing.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (3,)
        Coefficients of 1, of the logarithm of the number of features, and of its usual value.
    log_sizes : ndarray of float32, shape (n_features,)
        Mean logarithm of the number of features over the training points of each feature.
    """

    coefficients: NDArray[np.float64]
    log_sizes: Floats

    @classmethod
    def learn(cls, rows: Csr, *, seed: int) -> MissingRule:
        """Return the rule, fitted on erased held-out rows; usual sizes are computed on all rows."""
        n_rows = rows.shape[0]
        order = np.random.default_rng([seed, 2]).permutation(n_rows)
        n_held = min(_MAX_HELD_OUT, max(1, n_rows // 5))
        held = rows[np.sort(order[:n_held])]
        usual = _LogSizes.of_rows(rows)
        sizes = usual.without(_LogSizes.of_rows(held)).means()
        predictors, weights = [], []
        for number, share in enumerate(_SHARES):
            erased = erase_features(held, share, np.random.default_rng([seed, number]))
            predictors.append(_predictors(erased, sizes))
            whole = np.diff(held.indptr)
            kept = np.where(whole > 0, np.diff(erased.indptr) / np.maximum(whole, 1), 1.0)
            of_share = _COMPLETE if share == 0.0 else (1.0 - _COMPLETE) / (len(_SHARES) - 1)
            weights.append(of_share * (np.stack([kept, 1.0 - kept], axis=1) + _PRIOR_WEIGHT))
        return cls(_fit_odds(np.concatenate(predictors), np.concatenate(weights)), usual.means())

    def betas(self, rows: Csr) -> Floats:
        """Return the beta of each row: the odds, or 0 if they are small."""
        logits = self.coefficients[0] + _predictors(rows, self.log_sizes) @ self.coefficients[1:]
        # Clipped before the exponential, which could overflow.
        betas = np.exp(np.minimum(logits, np.log(_MAX_BETA)))
        betas[betas < _MIN_BETA] = 0.0
        return np.asarray(betas, dtype=np.float32)


def _fit_odds(predictors: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coefficients of a logistic regression with weights (kept, missing) per row."""
    n_rows = len(predictors)
    model = LogisticRegression(solver="newton-cholesky")
    outcomes = np.repeat([0, 1], n_rows)
    model.fit(np.concatenate([predictors, predictors]), outcomes, sample_weight=weights.T.ravel())
    return np.append(model.intercept_, model.coef_)


@dataclass(frozen=True)
class _LogSizes:
    """Sums of the logarithm of the number of features of rows, in total and by feature."""

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
        """Return the sums without some of the rows."""
        return _LogSizes(
            self.n_rows - some.n_rows,
            self.total - some.total,
            self.counts - some.counts,
            self.sums - some.sums,
        )

    def means(self) -> Floats:
        """Return the mean over the rows of each feature and one average row."""
        return np.asarray(
            (self.sums + self.total / self.n_rows) / (self.counts + 1), dtype=np.float32
        )


def _predictors(rows: Csr, log_sizes: Floats) -> NDArray[np.float64]:
    counts = np.diff(rows.indptr)
    sizes = np.maximum(counts, 1)
    numbers = np.repeat(np.arange(len(counts)), counts)
    sums = np.bincount(numbers, weights=log_sizes[rows.indices], minlength=len(counts))
    return np.stack([np.log(sizes), sums / sizes], axis=1)
