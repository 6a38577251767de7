"""How good a clustering of features is: information, balance, error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import sparse

from defrag._validation import check_labels, check_matrix
from defrag.agglomeration._groups import check_groups, cut_rows
from defrag.agglomeration.certificate._bounds import frobenius_spreads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from defrag.typing import Csr, Ids, LabelsLike, MatrixLike

__all__ = [
    "ClusteringError",
    "balance",
    "clustering_error",
    "evaluate_clustering",
    "loss_of_mutual_information",
    "mutual_information",
    "normalised_entropy",
]

Marginals = Literal["joint", "paper"]

# Products of a feature with a label that are formed at a time: about 100 MB.
_PRODUCTS = 2**22


@dataclass(frozen=True)
class ClusteringError:
    """Euclidean distance of the columns of X from the mean of their group.

    Attributes
    ----------
    per_cluster : ndarray of float64, shape (n_clusters,)
        The root of the sum of squared distances in each group.
    total : float
        The sum over the groups.
    """

    per_cluster: NDArray[np.float64]
    total: float


def mutual_information(X: MatrixLike, Y: LabelsLike, marginals: Marginals = "joint") -> float:
    """Measure how much the features tell about the labels, in nats.

    Parameters
    ----------
    X : matrix, shape (n_rows, n_features)
        Features, not negative.
    Y : labels of the rows
        In any form that a classifier takes.
    marginals : {"joint", "paper"}, default="joint"
        What the joint distribution, proportional to ``X.T @ Y``, is compared with: the
        product of its own marginals, which makes this the mutual information, or the
        product of the column sums of X and of Y, as in the paper.

    Examples
    --------
    >>> round(mutual_information([[1, 0], [0, 1]], [[0], [1]]), 4)
    0.6931
    """
    X, Y = _check(X, Y, marginals)
    labels = np.arange(X.shape[1], dtype=np.int32)
    return _informations(X, Y, labels, X.shape[1], marginals=marginals)[0]


def loss_of_mutual_information(
    X: MatrixLike, Y: LabelsLike, labels: ArrayLike, marginals: Marginals = "joint"
) -> float:
    """Measure which share of the mutual information the groups lose.

    Parameters
    ----------
    X : matrix, shape (n_rows, n_features)
        Features, not negative.
    Y : labels of the rows
        In any form that a classifier takes.
    labels : array-like of int, shape (n_features,)
        The group of each feature, or -1 for a dropped feature.
    marginals : {"joint", "paper"}, default="joint"
        See `mutual_information`.

    Returns
    -------
    loss : float
        In [0, 1] where no feature is dropped; 0 where there is nothing to lose.

    Examples
    --------
    >>> loss_of_mutual_information([[1, 0], [0, 1]], [[0], [1]], [0, 0])
    1.0
    """
    X, Y = _check(X, Y, marginals)
    groups, n_clusters = check_groups(labels, n_features=X.shape[1])
    before, after = _informations(X, Y, groups, n_clusters, marginals=marginals)
    return (before - after) / before if before > 0 else 0.0


def balance(labels: ArrayLike, n_clusters: int | None = None) -> float:
    """Divide the size of the largest group by that of the smallest.

    Parameters
    ----------
    labels : array-like of int, shape (n_features,)
        The group of each feature, or -1 for a dropped feature, which does not count.
    n_clusters : int, optional
        How many groups there are; default: the largest id plus one.

    Returns
    -------
    balance : float
        At least 1; infinite where a group is empty.

    Examples
    --------
    >>> balance([0, 0, 0, 1, 1])
    1.5
    """
    sizes = _sizes(labels, n_clusters)
    return math.inf if sizes.min() == 0 else float(sizes.max() / sizes.min())


def normalised_entropy(
    labels: ArrayLike, n_clusters: int | None = None, normaliser: Literal["K", "d"] = "K"
) -> float:
    """Measure how evenly the features are spread over the groups.

    Parameters
    ----------
    labels : array-like of int, shape (n_features,)
        The group of each feature, or -1 for a dropped feature, which does not count.
    n_clusters : int, optional
        How many groups there are; default: the largest id plus one.
    normaliser : {"K", "d"}, default="K"
        Divide by the logarithm of the number of groups, so that equal groups have 1, or
        of the number of features, as the paper's formula (but not its table) does.

    Examples
    --------
    >>> normalised_entropy([0, 0, 1, 1])
    1.0
    >>> normalised_entropy([0, 0, 1, 1], normaliser="d")
    0.5
    """
    if normaliser not in {"K", "d"}:
        raise ValueError(f"normaliser must be 'K' or 'd', got {normaliser!r}")
    sizes = _sizes(labels, n_clusters)
    n_features = int(sizes.sum())
    most = math.log(len(sizes) if normaliser == "K" else max(n_features, 1))
    if most == 0:
        # One group, or one feature: there is only one way to spread.
        return 1.0
    shares = sizes[sizes > 0] / n_features
    return float(-(shares * np.log(shares)).sum() / most)


def clustering_error(
    X: MatrixLike, labels: ArrayLike, n_clusters: int | None = None
) -> ClusteringError:
    """Measure how far the columns of X are from the mean of their group.

    Parameters
    ----------
    X : matrix, shape (n_rows, n_features)
        Raw features, all rows.
    labels : array-like of int, shape (n_features,)
        The group of each feature, or -1 for a dropped feature, which does not count.
    n_clusters : int, optional
        How many groups there are; default: the largest id plus one.

    Examples
    --------
    >>> clustering_error([[1.0, 3.0, 5.0]], [0, 0, 1]).per_cluster.round(4)
    array([1.4142, 0.    ])
    """
    X = check_matrix(X, name="X")
    groups, n_clusters = check_groups(labels, n_features=X.shape[1], n_clusters=n_clusters)
    _, pooled_squares = cut_rows(X, groups, n_clusters).pooled(n_clusters)
    squares = np.bincount(X.indices, X.data.astype(np.float64) ** 2, minlength=X.shape[1])
    errors = frobenius_spreads(groups, n_clusters, squares.astype(np.float64), pooled_squares)
    return ClusteringError(errors, float(errors.sum()))


def evaluate_clustering(X: MatrixLike, Y: LabelsLike, labels: ArrayLike) -> dict[str, float]:
    """Measure a clustering of features in every way there is.

    Parameters
    ----------
    X : matrix, shape (n_rows, n_features)
        Raw features, not negative, all rows.
    Y : labels of the rows
        In any form that a classifier takes.
    labels : array-like of int, shape (n_features,)
        The group of each feature, or -1 for a dropped feature.

    Returns
    -------
    values : dict
        ``n_clusters``, ``n_dropped``, ``MI`` and ``LMI`` with joint marginals,
        ``MI_paper`` and ``LMI_paper`` with the paper's, ``balance``, ``entropy`` and
        ``entropy_d`` by both normalisers, ``error`` as the sum over the groups.
    """
    X, Y = _check(X, Y, "joint")
    groups, n_clusters = check_groups(labels, n_features=X.shape[1])
    values: dict[str, float] = {
        "n_clusters": n_clusters,
        "n_dropped": int(np.count_nonzero(groups < 0)),
    }
    sums = _sums_of_logarithms(X, Y, groups)
    suffixes: tuple[tuple[Marginals, str], ...] = (("joint", ""), ("paper", "_paper"))
    for marginals, suffix in suffixes:
        before, after = _informations(X, Y, groups, n_clusters, marginals=marginals, sums=sums)
        values["MI" + suffix] = before
        values["LMI" + suffix] = (before - after) / before if before > 0 else 0.0
    values["balance"] = balance(groups)
    values["entropy"] = normalised_entropy(groups)
    values["entropy_d"] = normalised_entropy(groups, normaliser="d")
    values["error"] = clustering_error(X, groups).total
    return values


def _check(X: MatrixLike, Y: LabelsLike, marginals: str) -> tuple[Csr, Csr]:
    if marginals not in {"joint", "paper"}:
        raise ValueError(f"marginals must be 'joint' or 'paper', got {marginals!r}")
    matrix = check_matrix(X, name="X")
    if matrix.nnz and matrix.data.min() < 0:
        raise ValueError(f"X must not be negative for information, got {matrix.data.min():g}")
    return matrix, check_labels(Y, n_rows=matrix.shape[0]).matrix


def _sizes(labels: ArrayLike, n_clusters: int | None) -> NDArray[np.int64]:
    groups, n_clusters = check_groups(labels, n_clusters=n_clusters)
    if n_clusters == 0:
        raise ValueError("labels must have at least one group, got 0")
    return np.bincount(groups[groups >= 0], minlength=n_clusters).astype(np.int64)


def _informations(
    X: Csr,
    Y: Csr,
    groups: Ids,
    n_clusters: int,
    *,
    marginals: Marginals,
    sums: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """Give the information of the features and that of their groups."""
    single, grouped = _sums_of_logarithms(X, Y, groups) if sums is None else sums
    values, targets = X.astype(np.float64), Y.astype(np.float64)
    labels_per_row = targets @ np.ones(Y.shape[1])
    kept = groups >= 0
    informations = []
    for total, grouping in ((single, None), (grouped, groups)):
        use = np.ones(len(groups)) if grouping is None else kept.astype(np.float64)
        rows = _pool(values.T @ labels_per_row * use, grouping, n_clusters)
        columns = targets.T @ (values @ use)
        if marginals == "joint":
            by_feature, by_label = rows, columns
        else:
            by_feature = _pool(values.T @ np.ones(X.shape[0]) * use, grouping, n_clusters)
            by_label = targets.T @ np.ones(Y.shape[0])
        mass = float(rows.sum())
        if mass == 0:
            informations.append(0.0)
            continue
        divergence = total / mass - math.log(mass)
        divergence -= _cross(rows / mass, by_feature / by_feature.sum())
        divergence -= _cross(columns / mass, by_label / by_label.sum())
        informations.append(max(divergence, 0.0))
    return informations[0], informations[1]


def _pool(values: NDArray[np.float64], groups: Ids | None, n_clusters: int) -> NDArray[np.float64]:
    if groups is None:
        return values
    kept = groups >= 0
    return np.bincount(groups[kept], values[kept], minlength=n_clusters).astype(np.float64)


def _cross(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    some = p > 0
    return float((p[some] * np.log(q[some])).sum())


def _sums_of_logarithms(X: Csr, Y: Csr, groups: Ids) -> tuple[float, float]:
    """Add up v ln v over the entries of X^T Y, for features and for groups of features.

    Features pass by in the order of their groups, a bounded block at a time, and the
    group at the border of two blocks is carried over as one dense row of labels.
    """
    order = np.argsort(groups, kind="stable")
    columns = X.tocsc().astype(np.float64)
    targets = Y.astype(np.float64)
    single = grouped = 0.0
    carried, carry = -1, np.zeros(Y.shape[1])
    for members in _feature_blocks(X, Y, order):
        products = (columns[:, members].T @ targets).tocsr()
        single += _plogp(products.data)
        names, place = np.unique(groups[members], return_inverse=True)
        gather = sparse.csr_array(
            (np.ones(len(members)), (place, np.arange(len(members)))),
            shape=(len(names), len(members)),
        )
        pooled = (gather @ products).tocsr()
        for position in (0, len(names) - 1) if len(names) > 1 else (0,):
            row = slice(pooled.indptr[position], pooled.indptr[position + 1])
            if names[position] != carried:
                grouped += _plogp(carry) if carried >= 0 else 0.0
                carried, carry = int(names[position]), np.zeros(Y.shape[1])
            carry[pooled.indices[row]] += pooled.data[row]
        if len(names) > 2:
            inner = pooled.data[pooled.indptr[1] : pooled.indptr[-2]]
            # A dropped feature is first in the order, as group -1, and never inside.
            grouped += _plogp(inner)
    grouped += _plogp(carry) if carried >= 0 else 0.0
    return single, grouped


def _plogp(values: NDArray[np.float64]) -> float:
    values = values[values > 0]
    return float((values * np.log(values)).sum())


def _feature_blocks(X: Csr, Y: Csr, order: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Cut the features into blocks with a bounded number of products in each."""
    per_row = np.repeat(np.diff(Y.indptr), np.diff(X.indptr)).astype(np.float64)
    products = np.bincount(X.indices, per_row, minlength=X.shape[1])
    # A feature has at most one product per label.
    products = np.minimum(products, Y.shape[1])[order]
    block = (np.cumsum(products) // _PRODUCTS).astype(np.int64)
    for members in np.split(order, np.flatnonzero(np.diff(block)) + 1):
        if len(members):
            yield members
