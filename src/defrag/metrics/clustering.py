"""Metrics of clusterings of features: mutual information, balance, error.

These are the measures by which the paper compares ways of grouping features; ``defrag cluster``,
``compare`` and the studies report them. The joint distribution of features and labels is too large
to hold, so its sums of v ln v are taken block by block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from defrag._validation import check_groups, check_labels, check_matrix
from defrag.agglomeration._groups import cut_rows
from defrag.agglomeration.certificate import frobenius_spreads
from defrag.typing import Csr, Ids, LabelsLike, MatrixLike

Marginals = Literal["joint", "paper"]

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
    X, Y = _check(X, Y)
    checked, n_clusters = check_groups(groups, n_features=X.shape[1])
    values: dict[str, float] = {
        "n_clusters": n_clusters,
        "n_dropped": int(np.count_nonzero(checked < 0)),
    }
    sums = _sums_of_logarithms(X, Y, checked)
    suffixes: tuple[tuple[Marginals, str], ...] = (("joint", ""), ("paper", "_paper"))
    for marginals, suffix in suffixes:
        before, after = informations(X, Y, checked, n_clusters, marginals=marginals, sums=sums)
        values["MI" + suffix] = before
        values["LMI" + suffix] = lost_share(before, after)
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


def _check(X: MatrixLike, Y: LabelsLike) -> tuple[Csr, Csr]:
    matrix = check_matrix(X, name="X")
    if matrix.nnz and matrix.data.min() < 0:
        raise ValueError(
            f"X must be non-negative for mutual information, got {matrix.data.min():g}"
        )
    return matrix, check_labels(Y, n_rows=matrix.shape[0]).matrix


def _sizes(groups: ArrayLike, n_clusters: int | None) -> NDArray[np.int64]:
    checked, n_clusters = check_groups(groups, n_clusters=n_clusters)
    if n_clusters == 0:
        raise ValueError("groups must have at least one group, got 0")
    return np.bincount(checked[checked >= 0], minlength=n_clusters).astype(np.int64)


def informations(
    X: Csr,
    Y: Csr,
    groups: Ids,
    n_clusters: int,
    *,
    marginals: Marginals,
    sums: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """Return the mutual information of the features and of their groups with the labels."""
    single, grouped = _sums_of_logarithms(X, Y, groups) if sums is None else sums
    values, targets = X.astype(np.float64), Y.astype(np.float64)
    labels_per_row = targets @ np.ones(Y.shape[1])
    kept = groups >= 0
    found = []
    for log_sum, grouping in ((single, None), (grouped, groups)):
        use = np.ones(len(groups)) if grouping is None else kept.astype(np.float64)
        rows = _pool(values.T @ labels_per_row * use, grouping, n_clusters)
        columns = targets.T @ (values @ use)
        if marginals == "joint":
            by_feature, by_label = rows, columns
        else:
            by_feature = _pool(values.T @ np.ones(X.shape[0]) * use, grouping, n_clusters)
            by_label = targets.T @ np.ones(Y.shape[0])
        total = float(rows.sum())
        if total == 0:
            found.append(0.0)
            continue
        divergence = log_sum / total - math.log(total)
        divergence -= _cross(rows / total, by_feature / by_feature.sum())
        divergence -= _cross(columns / total, by_label / by_label.sum())
        found.append(max(divergence, 0.0))
    return found[0], found[1]


def _pool(values: NDArray[np.float64], groups: Ids | None, n_clusters: int) -> NDArray[np.float64]:
    if groups is None:
        return values
    kept = groups >= 0
    return np.bincount(groups[kept], values[kept], minlength=n_clusters).astype(np.float64)


def _cross(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    positive = p > 0
    return float((p[positive] * np.log(q[positive])).sum())


def _sums_of_logarithms(X: Csr, Y: Csr, groups: Ids) -> tuple[float, float]:
    """Return the sums of v ln v over the entries of X^T Y, for features and for groups.

    Features are processed in the order of their groups, in blocks of bounded size; a group
    that spans two blocks is carried over as a dense row of labels.
    """
    order = np.argsort(groups, kind="stable")
    columns = X.tocsc().astype(np.float64)
    targets = Y.astype(np.float64)
    single = grouped = 0.0
    carried, carried_row = -1, np.zeros(Y.shape[1])
    for members in _feature_blocks(X, Y, order):
        products = (columns[:, members].T @ targets).tocsr()
        single += _sum_v_log_v(products.data)
        present, place = np.unique(groups[members], return_inverse=True)
        gather = sparse.csr_array(
            (np.ones(len(members)), (place, np.arange(len(members)))),
            shape=(len(present), len(members)),
        )
        pooled = (gather @ products).tocsr()
        for position in (0, len(present) - 1) if len(present) > 1 else (0,):
            row = slice(pooled.indptr[position], pooled.indptr[position + 1])
            if present[position] != carried:
                grouped += _sum_v_log_v(carried_row) if carried >= 0 else 0.0
                carried, carried_row = int(present[position]), np.zeros(Y.shape[1])
            carried_row[pooled.indices[row]] += pooled.data[row]
        if len(present) > 2:
            inner = pooled.data[pooled.indptr[1] : pooled.indptr[-2]]
            # Group -1, the dropped features, comes first in the order, so it is not in this range.
            grouped += _sum_v_log_v(inner)
    grouped += _sum_v_log_v(carried_row) if carried >= 0 else 0.0
    return single, grouped


def _sum_v_log_v(values: NDArray[np.float64]) -> float:
    values = values[values > 0]
    return float((values * np.log(values)).sum())


def _feature_blocks(X: Csr, Y: Csr, order: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Yield blocks of features with a bounded number of products in each."""
    per_row = np.repeat(np.diff(Y.indptr), np.diff(X.indptr)).astype(np.float64)
    products = np.bincount(X.indices, per_row, minlength=X.shape[1])
    # A feature has at most one product per label.
    products = np.minimum(products, Y.shape[1])[order]
    block = (np.cumsum(products) // _MAX_PRODUCTS).astype(np.int64)
    for members in np.split(order, np.flatnonzero(np.diff(block)) + 1):
        if len(members):
            yield members
