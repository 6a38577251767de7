r"""Tied weights, and the certificate of what tying them changes.

Adding up the features of a group :math:`F_k` is the same as giving them one weight.
For a linear model :math:`w` and its tied twin :math:`\tilde w`, the scores move by

.. math:: \|Xw - \tilde X\tilde w\| \le \sum_k \|P_k(u_k - c_k 1)\|
    \le \sum_k \|\Delta_k\|_2 \|u_k^\perp\| \le \sum_k \|\Delta_k\|_F \|u_k^\perp\|

where :math:`P_k` are the columns of X in the group, :math:`u_k` their weights,
:math:`c_k` the tied weight, :math:`u_k^\perp` the weights less their mean and
:math:`\Delta_k` the columns less their mean. The three sums are the levels
``"residual"``, ``"spectral"`` and ``"frobenius"`` (the published bound). They hold for
every subset of the rows, because a norm over fewer rows is smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from defrag._validation import check_labels, check_matrix
from defrag.agglomeration._groups import check_groups, cut_rows, membership
from defrag.agglomeration.certificate import _tied
from defrag.agglomeration.certificate._bounds import Geometry, Level

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from defrag.typing import Csr, Ids, LabelsLike, MatrixLike

__all__ = [
    "Certificate",
    "certificate",
    "label_certificate",
    "lipschitz",
    "tie_weights",
    "untie",
]

Method = Literal["cluster_ls", "mean", "joint_ls"]
Loss = Literal["hinge", "logistic", "squared_hinge", "exponential"]


@dataclass(frozen=True)
class Certificate:
    """What tying the weights of a linear model changed, per label.

    Attributes
    ----------
    level : str
        Which of the three bounds ``bound`` is.
    change : ndarray of float64, shape (n_labels,)
        The Euclidean norm, over all rows, of the change of the scores.
    worst : ndarray of float64, shape (n_labels,)
        The largest change of a single score.
    bound : ndarray of float64, shape (n_labels,)
        The certificate: ``change`` is never above it, but for rounding.
    """

    level: Level
    change: NDArray[np.float64]
    worst: NDArray[np.float64]
    bound: NDArray[np.float64]

    def loss_bound(self, loss: Loss, score_bound: float | None = None) -> NDArray[np.float64]:
        """Bound the Euclidean norm, over any rows, of the change of a loss.

        Parameters
        ----------
        loss : {"hinge", "logistic", "squared_hinge", "exponential"}
            The loss; see `lipschitz`.
        score_bound : float, optional
            The largest absolute score, for the last two losses.
        """
        return lipschitz(loss, score_bound) * self.bound


def lipschitz(loss: Loss, score_bound: float | None = None) -> float:
    """Give the Lipschitz constant of a loss as a function of the score.

    Parameters
    ----------
    loss : {"hinge", "logistic", "squared_hinge", "exponential"}
        The loss of a score against a label of -1 or 1.
    score_bound : float, optional
        The largest absolute score B. The squared hinge and the exponential loss are
        Lipschitz only where scores are bounded, with constants 2(1 + B) and exp(B).

    Examples
    --------
    >>> lipschitz("hinge"), lipschitz("squared_hinge", 1.0)
    (1.0, 4.0)
    """
    if loss in {"hinge", "logistic"}:
        return 1.0
    if loss not in {"squared_hinge", "exponential"}:
        raise ValueError(
            f"loss must be 'hinge', 'logistic', 'squared_hinge' or 'exponential', got {loss!r}"
        )
    if score_bound is None or not (math.isfinite(score_bound) and score_bound >= 0):
        raise ValueError(
            f"score_bound must be a finite number >= 0 for the {loss} loss, got {score_bound!r}"
        )
    return 2 * (1 + score_bound) if loss == "squared_hinge" else math.exp(score_bound)


def untie(tied: Any, labels: ArrayLike) -> Any:
    """Give every feature the weight of its group; a dropped feature gets 0.

    Parameters
    ----------
    tied : ndarray or sparse matrix, shape (n_clusters,) or (n_clusters, n_labels)
        Weights of the groups.
    labels : array-like of int, shape (n_features,)
        The group of each feature, or -1.

    Returns
    -------
    W : ndarray or sparse csr_array, shape (n_features,) or (n_features, n_labels)
        Weights of the features, so that ``X @ W`` are the agglomerated model's scores.

    Examples
    --------
    >>> untie([0.5, 2.0], [1, 0, -1, 1])
    array([2. , 0.5, 0. , 2. ])
    """
    weights = _tied.check_weights(tied, "tied")
    groups, n_clusters = check_groups(labels, n_clusters=weights.shape[0])
    return membership(groups, n_clusters).T.tocsr() @ weights


def tie_weights(
    X: MatrixLike,
    labels: ArrayLike,
    W: Any,
    method: Method = "cluster_ls",
    *,
    n_clusters: int | None = None,
) -> Any:
    """Tie the weights of a linear model: one weight per group of features.

    Parameters
    ----------
    X : matrix, shape (n_rows, n_features)
        The points on which the scores should change little, raw, not sampled.
    labels : array-like of int, shape (n_features,)
        The group of each feature, or -1 for a dropped feature, whose weight is lost.
    W : ndarray or sparse matrix, shape (n_features,) or (n_features, n_labels)
        The model.
    method : {"cluster_ls", "mean", "joint_ls"}, default="cluster_ls"
        Least squares inside each group, which the theorem is about; the plain mean of
        the group; or least squares over all groups at once, the best there is, found
        by conjugate gradients that start at the first.
    n_clusters : int, optional
        How many groups there are; default: the largest id plus one.

    Returns
    -------
    tied : ndarray or sparse matrix, shape (n_clusters,) or (n_clusters, n_labels)
        Float64; sparse where W is.

    Examples
    --------
    >>> tie_weights([[1.0, 3.0]], [0, 0], [1.0, 2.0])
    array([1.75])
    """
    if method not in {"cluster_ls", "mean", "joint_ls"}:
        raise ValueError(f"method must be 'cluster_ls', 'mean' or 'joint_ls', got {method!r}")
    X, weights, groups, n_clusters = _check(X, labels, W, n_clusters)
    if method == "mean":
        return _tied.mean_operator(groups, n_clusters) @ weights
    cut = cut_rows(X, groups, n_clusters)
    tied = _tied.least_squares_operator(cut, groups, n_clusters) @ weights
    return tied if method == "cluster_ls" else _tied.joint_least_squares(X, cut, weights, tied)


def certificate(
    X: MatrixLike,
    labels: ArrayLike,
    W: Any,
    *,
    tied: Any = None,
    level: Level = "residual",
) -> Certificate:
    """Measure what tying the weights of a linear model changes, and bound it.

    Parameters
    ----------
    X : matrix, shape (n_rows, n_features)
        The points, raw and all of them: the theorem is about these, not about the
        sampled unit vectors that were clustered.
    labels : array-like of int, shape (n_features,)
        The group of each feature, or -1 for a dropped feature: its tied weight is 0,
        so all of its share of a score is lost.
    W : ndarray or sparse matrix, shape (n_features,) or (n_features, n_labels)
        The model; labels are taken in blocks, never all at once as a dense matrix.
    tied : ndarray or sparse matrix, shape (n_clusters,) or (n_clusters, n_labels), optional
        The tied model; default: ``tie_weights(X, labels, W)``.
    level : {"residual", "spectral", "frobenius"}, default="residual"
        Which bound: the tightest, the one that knows the weights only by their norm, or
        the published one. For tied weights other than the mean or the least squares of
        a group, the last two count the distance to these as well. The spectral norm of
        a group of more than 2,048 features is replaced by its Frobenius norm.

    Returns
    -------
    certificate : Certificate
        Arrays with one entry per label; one entry in all for a vector of weights.

    Examples
    --------
    >>> result = certificate([[1.0, 1.0], [0.0, 2.0]], [0, 0], [1.0, 3.0], level="frobenius")
    >>> bool(result.change[0] <= result.bound[0])
    True
    """
    if level not in {"residual", "spectral", "frobenius"}:
        raise ValueError(f"level must be 'residual', 'spectral' or 'frobenius', got {level!r}")
    if tied is not None:
        tied = _tied.check_weights(tied, "tied")
    X, weights, groups, n_clusters = _check(X, labels, W, None if tied is None else tied.shape[0])
    cut = cut_rows(X, groups, n_clusters)
    operator = _tied.least_squares_operator(cut, groups, n_clusters)
    if tied is None:
        tied = operator @ weights
    elif tied.shape[1:] != weights.shape[1:]:
        raise ValueError(f"tied must have the labels of W: {weights.shape[1:]}, "
                         f"got {tied.shape[1:]}")  # fmt: skip
    geometry = Geometry(X, groups, n_clusters, cut=cut, operator=operator, level=level)
    blocks = [geometry.measure(w, t) for w, t in _tied.column_blocks(weights, tied)]
    change, worst, bound = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return Certificate(level, change, worst, bound)


def label_certificate(
    X: MatrixLike,
    Y: LabelsLike,
    labels: ArrayLike,
    W: Any,
    *,
    tied: Any = None,
    level: Level = "residual",
) -> Certificate:
    """Give the certificate for scores of label vectors instead of points.

    A label tree scores a label by the sum of its points, ``Y.T @ X``; this is the
    theorem for groups made from features by label. ``W`` then is the difference of two
    centroids, and the bound holds for every subset of the labels of Y.

    Parameters
    ----------
    X : matrix, shape (n_rows, n_features)
        The points.
    Y : labels of the points
        In any form that a classifier takes.
    labels : array-like of int, shape (n_features,)
        The group of each feature, or -1.
    W : ndarray or sparse matrix, shape (n_features,) or (n_features, n_models)
        What the label vectors are multiplied with.
    tied : ndarray or sparse matrix, optional
        As in `certificate`.
    level : {"residual", "spectral", "frobenius"}, default="residual"
        As in `certificate`.
    """
    X = check_matrix(X, name="X")
    Y = check_labels(Y, n_rows=X.shape[0]).matrix
    sums = (Y.T.astype(np.float64) @ X.astype(np.float64)).tocsr()
    return certificate(sums, labels, W, tied=tied, level=level)


def _check(
    X: MatrixLike, labels: ArrayLike, W: Any, n_clusters: int | None
) -> tuple[Csr, Any, Ids, int]:
    matrix = check_matrix(X, name="X")
    weights = _tied.check_weights(W, "W")
    if weights.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"W must have one row for each of the {matrix.shape[1]} features of X, "
            f"got {weights.shape[0]}"
        )
    groups, n_clusters = check_groups(labels, n_features=matrix.shape[1], n_clusters=n_clusters)
    return matrix, weights, groups, n_clusters
