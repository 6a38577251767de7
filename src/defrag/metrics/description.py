"""Descriptions of data as numbers: of points, texts and groups. ``defrag info`` shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from defrag.metrics.clustering import balance, normalised_entropy
from defrag.typing import Csr, Ids


def describe_points(X: Csr, Y: Csr | None = None) -> dict[str, Any]:
    """Return sizes of points and labels, and what is empty.

    Parameters
    ----------
    X, Y : csr_array
        The points, and their labels if there are any.

    Examples
    --------
    >>> from scipy import sparse
    >>> from defrag.metrics import describe_points
    >>> found = describe_points(sparse.csr_array([[1, 0, 2], [0, 0, 0]]))
    >>> found["points without features"], found["features never seen"], found["value"]
    (1, 1, {'min': 1, 'mean': 1.5, 'max': 2})
    """
    from defrag.agglomeration.tight import repeated_share  # noqa: PLC0415 - slow to import

    described = {
        "points": X.shape[0],
        "features": X.shape[1],
        "labels": None if Y is None else Y.shape[1],
        "non-zeros": int(X.nnz),
        "non-zeros per point": _spread(np.diff(X.indptr)),
        "points without features": _empty_rows(X),
        "features never seen": _empty_columns(X),
        "value": _spread(X.data),
        "repeated entries": repeated_share(X),
    }
    if Y is not None:
        described["labels per point"] = _spread(np.diff(Y.indptr))
        described["points without labels"] = _empty_rows(Y)
        described["labels without points"] = _empty_columns(Y)
    return described


def describe_texts(
    texts: Sequence[str], labels: Sequence[Sequence[str]] | None = None
) -> dict[str, Any]:
    """Return sizes of texts and of the names of their labels.

    Parameters
    ----------
    texts : sequence of str
        The texts.
    labels : sequence of sequences of str, optional
        The names of their labels.

    Examples
    --------
    >>> from defrag.metrics import describe_texts
    >>> found = describe_texts(["quick sort", ""], [["sorting"], []])
    >>> found["texts"], found["empty texts"], found["labels of one text"]
    (2, 1, 1)
    """
    described: dict[str, Any] = {
        "texts": len(texts),
        "characters per text": _spread(np.array([len(text) for text in texts])),
        "empty texts": sum(not text.strip() for text in texts),
        "labels": None,
    }
    if labels is not None:
        counts = Counter(name for row in labels for name in set(row))
        described |= {
            "labels": len(counts),
            "labels per text": _spread(np.array([len(set(row)) for row in labels])),
            "texts without labels": sum(not row for row in labels),
            "texts per label": _spread(np.array(list(counts.values()), dtype=np.int64)),
            "labels of one text": sum(count == 1 for count in counts.values()),
        }
    return described


def describe_groups(groups: Ids, n_clusters: int) -> dict[str, Any]:
    """Return sizes of groups of features, their balance and their entropy.

    Parameters
    ----------
    groups : ndarray of int32
        The group of each feature, or -1 if it has none.
    n_clusters : int
        Number of groups.

    Examples
    --------
    >>> import numpy as np
    >>> from defrag.metrics import describe_groups
    >>> describe_groups(np.array([0, 0, 1, -1]), 2)["features in no group"]
    1
    """
    described: dict[str, Any] = {
        "groups": n_clusters,
        "features": len(groups),
        "features in no group": int(np.count_nonzero(groups < 0)),
    }
    if n_clusters:
        described |= {
            "group size": _spread(np.bincount(groups[groups >= 0], minlength=n_clusters)),
            "balance": balance(groups, n_clusters),
            "entropy": normalised_entropy(groups, n_clusters),
        }
    return described


def _spread(values: Any) -> dict[str, float] | None:
    """Return the smallest, the mean and the largest value, or None if there are none."""
    if not len(values):
        return None
    smallest, largest = values.min().item(), values.max().item()
    return {"min": smallest, "mean": float(values.mean(dtype=np.float64)), "max": largest}


def _empty_rows(matrix: Csr) -> int:
    return int(np.count_nonzero(np.diff(matrix.indptr) == 0))


def _empty_columns(matrix: Csr) -> int:
    return int(matrix.shape[1]) - len(np.unique(matrix.indices))
