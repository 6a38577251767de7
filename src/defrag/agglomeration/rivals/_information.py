"""Mutual information of features and labels, from their joint distribution.

``joint`` is X^T Y, non-negative and not divided by its sum. Sums of v ln v are computed in
double precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr

__all__ = ["feature_information", "lost_information"]


def feature_information(joint: Csr) -> NDArray[np.float64]:
    """Return the contribution of each feature to the mutual information, in nats."""
    total = float(joint.data.sum(dtype=np.float64))
    if total == 0:
        return np.zeros(joint.shape[0])
    by_label = np.bincount(joint.indices, joint.data, minlength=joint.shape[1])
    values = joint.data.astype(np.float64)
    inner = _row_sums(joint, values * np.log(values / by_label[joint.indices]))
    by_feature = _row_sums(joint, values)
    # Row sums of v ln(v * total / (row sum * column sum)).
    return np.asarray((inner - _x_ln_x(by_feature) + by_feature * np.log(total)) / total)


def lost_information(joint: Csr, pooled: Csr) -> float:
    """Return I(labels; features) - I(labels; groups) in nats, the objective of ITDC.

    Parameters
    ----------
    joint : csr_array, shape (n_features, n_labels)
        X^T Y.
    pooled : csr_array, shape (n_clusters, n_labels)
        X^T Y summed by group.
    """
    total = float(joint.data.sum(dtype=np.float64))
    if total == 0:
        return 0.0
    return max(0.0, (_conditional(joint) - _conditional(pooled)) / total)


def _conditional(table: Csr) -> float:
    """Return the sum of v ln v over the entries of a table minus that over its row sums."""
    values = table.data.astype(np.float64)
    return float(_x_ln_x(values).sum() - _x_ln_x(_row_sums(table, values)).sum())


def _row_sums(table: Csr, values: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    return np.bincount(rows, values, minlength=table.shape[0]).astype(np.float64)


def _x_ln_x(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values * np.log(np.where(values > 0, values, 1.0))
