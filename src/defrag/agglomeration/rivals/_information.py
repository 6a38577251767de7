"""Information about labels, from the joint distribution of features and labels.

``joint`` is X^T Y, not negative, not yet divided by its sum. What is measured here are sums of
v ln v, in double precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr

__all__ = ["feature_information", "lost_information"]


def feature_information(joint: Csr) -> NDArray[np.float64]:
    """Give what each feature adds to the mutual information of features and labels, in nats."""
    total = float(joint.data.sum(dtype=np.float64))
    if total == 0:
        return np.zeros(joint.shape[0])
    by_label = np.bincount(joint.indices, joint.data, minlength=joint.shape[1])
    values = joint.data.astype(np.float64)
    inner = _row_sums(joint, values * np.log(values / by_label[joint.indices]))
    by_feature = _row_sums(joint, values)
    # ln of v / (row sum * column sum / total), row by row.
    return np.asarray((inner - _x_ln_x(by_feature) + by_feature * np.log(total)) / total)


def lost_information(joint: Csr, pooled: Csr) -> float:
    """Give I(labels; features) - I(labels; groups), in nats: what ITDC makes small.

    Parameters
    ----------
    joint : csr_array, shape (n_features, n_labels)
        X^T Y.
    pooled : csr_array, shape (n_clusters, n_labels)
        The same with features added up by group.
    """
    total = float(joint.data.sum(dtype=np.float64))
    if total == 0:
        return 0.0
    return max(0.0, (_conditional(joint) - _conditional(pooled)) / total)


def _conditional(table: Csr) -> float:
    """Add v ln v up over the entries of a table, less the same over its row sums."""
    values = table.data.astype(np.float64)
    return float(_x_ln_x(values).sum() - _x_ln_x(_row_sums(table, values)).sum())


def _row_sums(table: Csr, values: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    return np.bincount(rows, values, minlength=table.shape[0]).astype(np.float64)


def _x_ln_x(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values * np.log(np.where(values > 0, values, 1.0))
