"""Inverse propensities of labels, the weights of labels in the PSP metrics."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defrag._validation import check_matrix
from defrag.typing import LabelsLike


def inverse_propensity(Y_train: LabelsLike, A: float = 0.55, B: float = 1.5) -> NDArray[np.float64]:
    """Return the inverse propensity of each label.

    A label with ``n`` of ``N`` training points has the inverse propensity
    ``1 + C / (n + B)^A`` with ``C = (ln N - 1) (B + 1)^A``.

    Parameters
    ----------
    Y_train : indicator matrix, shape (n_points, n_labels)
        Labels of all training points, including points without labels.
    A, B : float, default=0.55, 1.5
        Use (0.5, 0.4) for WikiLSHTC-325K and Wikipedia-500K, (0.6, 2.6) for Amazon-670K and
        Amazon-3M, and the defaults for other data sets.

    Returns
    -------
    weights : ndarray of float64, shape (n_labels,)
        Larger for rarer labels.

    References
    ----------
    Jain, Prabhu, Varma: Extreme multi-label loss functions. KDD 2016.

    Examples
    --------
    >>> inverse_propensity([[1, 0], [1, 0], [1, 1], [0, 0]]).round(4)
    array([1.2796, 1.3863])
    """
    for name, value in (("A", A), ("B", B)):
        if not _is_number(value) or value < 0:
            raise ValueError(f"{name} must be a finite number >= 0, got {value!r}")
    labels = check_matrix(Y_train, name="Y_train")
    n_rows, n_labels = labels.shape
    if n_rows == 0:
        raise ValueError("Y_train must have at least one point, got 0")
    seen = np.bincount(labels.indices, minlength=n_labels)
    if B == 0 and n_labels and seen.min() == 0:
        raise ValueError(f"B must be > 0 if a label has no training points, got {B!r}")
    scale = (math.log(n_rows) - 1.0) * (B + 1.0) ** A
    return np.asarray(1.0 + scale * (seen + B) ** -A, dtype=np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
