"""Metrics of clusterings of features: mutual information, balance, error.

These are the measures by which the paper compares ways of grouping features; ``defrag cluster``,
``compare`` and the studies report them. The joint distribution of features and labels is too large
to hold, so its sums of v ln v are taken block by block.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from defrag._validation import check_groups, check_labels, check_matrix
from defrag.agglomeration._groups import cut_rows
from defrag.agglomeration.certificate import frobenius_spreads
from defrag.typing import Csr, Ids, LabelsLike, MatrixLike

# Number of entries of X^T Y that are computed at a time, about 100 MB.
_MAX_PRODUCTS = 2**22
_LEAST_INFORMATION = 1e-12


def balance(groups: ArrayLike, n_clusters: int | None = None) -> float:
    """Return the size of the largest group divided by the size of the smallest.

    Parameters
    ----------
    groups : array-like of int, shape (n_features,)
        The group of each feature, or -1 for dropped features, which are ignored.
    n_clusters : int, optional
        Number of groups; default: the largest id plus one.

    Returns
    -------
    balance : float
        At least 1; infinite if a group is empty.

    Examples
    --------
    >>> balance([0, 0, 0, 1, 1])
    1.5
    """
    sizes = _sizes(groups, n_clusters)
    return math.inf if sizes.min() == 0 else float(sizes.max() / sizes.min())


def normalised_entropy(
    groups: ArrayLike, n_clusters: int | None = None, normaliser: Literal["K", "d"] = "K"
) -> float:
    """Return the entropy of the group sizes, divided by its maximum.

    Parameters
    ----------
    groups, n_clusters
        As in `balance`.
    normaliser : {"K", "d"}, default="K"
        Divide by the logarithm of the number of groups, so that equal sizes give 1, or of the
        number of features, as in the formula (but not the table) of the paper.

    Examples
    --------
    >>> normalised_entropy([0, 0, 1, 1])
    1.0
    >>> normalised_entropy([0, 0, 1, 1], normaliser="d")
    0.5
    """
    if normaliser not in {"K", "d"}:
        raise ValueError(f"normaliser must be 'K' or 'd', got {normaliser!r}")
    sizes = _sizes(groups, n_clusters)
    n_features = int(sizes.sum())
    maximum = math.log(len(sizes) if normaliser == "K" else max(n_features, 1))
    if maximum == 0:
        # With one group or one feature, only one distribution is possible.
        return 1.0
    shares = sizes[sizes > 0] / n_features
    return float(-(shares * np.log(shares)).sum() / maximum)


def evaluate_clustering(X: MatrixLike, Y: LabelsLike, groups: ArrayLike) -> dict[str, float]:
    """Return all metrics of a clustering of features.

    Parameters
    ----------
    X : matrix, shape (n_points, n_features)
        Non-negative features.
    Y : labels of the points
        In any form that classifiers accept.
    groups : array-like of int, shape (n_features,)
        The group of each feature, or -1 for dropped features.

    Returns
    -------
    values : dict
        ``n_clusters``, ``n_dropped``; ``MI``, the mutual information of features and labels in
        nats, and ``LMI``, the fraction that is lost by grouping, in [0, 1] if no feature is
        dropped; ``MI_paper`` and ``LMI_paper``, by the marginals of the paper, the column sums of
        X and Y; ``balance``, ``entropy`` and ``entropy_d`` with both normalisers; and ``error``,
        the sum over groups of the Euclidean distances of their columns of X from their means.

    Examples
    --------
    >>> found = evaluate_clustering([[1, 0], [0, 1]], [[0], [1]], [0, 0])
    >>> round(found["MI"], 4), found["LMI"]
    (0.6931, 1.0)
    """
    X = check_matrix(X, name="X")
    if X.nnz and X.data.min() < 0:
        raise ValueError(f"X must be non-negative for mutual information, got {X.data.min():g}")
    Y = check_labels(Y, n_rows=X.shape[0]).matrix
    checked, n_clusters = check_groups(groups, n_features=X.shape[1])
    values: dict[str, float] = {
        "n_clusters": n_clusters,
        "n_dropped": int(np.count_nonzero(checked < 0)),
    }
    for name, (before, after) in informations(X, Y, checked, n_clusters).items():
        values[name] = before
        values[f"L{name}"] = lost_share(before, after)
    values["balance"] = balance(checked)
    values["entropy"] = normalised_entropy(checked)
    values["entropy_d"] = normalised_entropy(checked, normaliser="d")
    values["error"] = float(group_errors(X, checked, n_clusters).sum())
    return values


def lost_share(before: float, after: float) -> float:
    """Return the fraction of information that is lost, 0 if there is none but rounding errors."""
    return (before - after) / before if before > _LEAST_INFORMATION else 0.0


def group_errors(X: Csr, groups: Ids, n_clusters: int) -> NDArray[np.float64]:
    """Return the Euclidean distance of the columns of each group from their mean."""
    _, pooled_squares = cut_rows(X, groups, n_clusters).pooled(n_clusters)
    squares = np.bincount(X.indices, X.data.astype(np.float64) ** 2, minlength=X.shape[1])
    return frobenius_spreads(groups, n_clusters, squares.astype(np.float64), pooled_squares)


def _sizes(groups: ArrayLike, n_clusters: int | None) -> NDArray[np.int64]:
    checked, n_clusters = check_groups(groups, n_clusters=n_clusters)
    if n_clusters == 0:
        raise ValueError("groups must have at least one group, got 0")
    return np.bincount(checked[checked >= 0], minlength=n_clusters).astype(np.int64)


def informations(X: Csr, Y: Csr, groups: Ids, n_clusters: int) -> dict[str, tuple[float, float]]:
    """Return the mutual information of the features and of their groups with the labels.

    The keys are those of `evaluate_clustering`, by the marginals of the data and of the paper.
    """
    kept = np.flatnonzero(groups >= 0)
    shape = len(groups), n_clusters
    members = sparse.csr_array((np.ones(len(kept)), (kept, groups[kept])), shape=shape)
    values, targets = X.astype(np.float64), Y.astype(np.float64)
    of_groups = sparse.csr_array(values @ members)
    pairs = zip(_information(values, targets), _information(of_groups, targets), strict=True)
    return dict(zip(("MI", "MI_paper"), pairs, strict=True))


def _information(values: Csr, targets: Csr) -> tuple[float, float]:
    """Return the mutual information of columns with labels, by both marginals."""
    by_column = values.T @ targets.sum(axis=1)
    by_label = targets.T @ values.sum(axis=1)
    total = float(by_column.sum())
    if total == 0:
        return 0.0, 0.0
    divergence = _sum_of_logarithms(values, targets) / total - math.log(total)
    found = [
        divergence
        - _cross(by_column / total, columns / columns.sum())
        - _cross(by_label / total, labels / labels.sum())
        for columns, labels in (
            (by_column, by_label), (values.sum(axis=0), targets.sum(axis=0)),
        )
    ]  # fmt: skip
    return max(found[0], 0.0), max(found[1], 0.0)


def _cross(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    positive = p > 0
    return float((p[positive] * np.log(q[positive])).sum())


def _sum_of_logarithms(values: Csr, targets: Csr) -> float:
    """Return the sum of v ln v over the entries of ``values.T @ targets``, in blocks of columns."""
    per_row = np.repeat(np.diff(targets.indptr), np.diff(values.indptr)).astype(np.float64)
    products = np.bincount(values.indices, per_row, minlength=values.shape[1])
    # A column has at most one product per label.
    block = np.cumsum(np.minimum(products, targets.shape[1])) // _MAX_PRODUCTS
    columns, total = values.tocsc(), 0.0
    for members in np.split(np.arange(len(block)), np.flatnonzero(np.diff(block)) + 1):
        entries = (columns[:, members].T @ targets).data
        entries = entries[entries > 0]
        total += float((entries * np.log(entries)).sum())
    return total
