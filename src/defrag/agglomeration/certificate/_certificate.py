r"""Tied weights, and the certificate that bounds how much tying changes the scores.

Summing the features of a group :math:`F_k` is equivalent to giving them one weight. For a
linear model :math:`w` and its tied version :math:`\tilde w`, the change of the scores is

.. math:: \|Xw - \tilde X\tilde w\| \le \sum_k \|P_k(u_k - c_k 1)\|
    \le \sum_k \|\Delta_k\|_2 \|u_k^\perp\| \le \sum_k \|\Delta_k\|_F \|u_k^\perp\|

where :math:`P_k` are the columns of X in the group, :math:`u_k` their weights,
:math:`c_k` the tied weight, :math:`u_k^\perp` the centred weights and :math:`\Delta_k` the
centred columns. The three sums are the levels ``"residual"``, ``"spectral"`` and
``"frobenius"`` (the published bound). They hold for every subset of the rows, because a
norm over fewer rows is not larger.
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
    """Change of the scores of a linear model by tied weights, per label.

    Attributes
    ----------
    level : str
        Level of ``bound``.
    change : ndarray of float64, shape (n_labels,)
        Euclidean norm, over all points, of the change of the scores.
    worst : ndarray of float64, shape (n_labels,)
        Largest change of a single score.
    bound : ndarray of float64, shape (n_labels,)
        Upper bound of ``change``, up to rounding.
    """

    level: Level
    change: NDArray[np.float64]
    worst: NDArray[np.float64]
    bound: NDArray[np.float64]

    def loss_bound(self, loss: Loss, score_bound: float | None = None) -> NDArray[np.float64]:
        """Return a bound on the Euclidean norm, over any points, of the change of a loss.

        Parameters
        ----------
        loss : {"hinge", "logistic", "squared_hinge", "exponential"}
            The loss; see `lipschitz`.
        score_bound : float, optional
            Largest absolute score, required for the last two losses.
        """
        return lipschitz(loss, score_bound) * self.bound


def lipschitz(loss: Loss, score_bound: float | None = None) -> float:
    """Return the Lipschitz constant of a loss as a function of the score.

    Parameters
    ----------
    loss : {"hinge", "logistic", "squared_hinge", "exponential"}
        The loss of a score against a label of -1 or 1.
    score_bound : float, optional
        Largest absolute score B. The squared hinge and exponential losses are Lipschitz only
        on bounded scores, with constants 2(1 + B) and exp(B).

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


def untie(tied: Any, groups: ArrayLike) -> Any:
    """Return the weight of the group of each feature; 0 for dropped features.

    Parameters
    ----------
    tied : ndarray or sparse matrix, shape (n_clusters,) or (n_clusters, n_labels)
        Weights of the groups.
    groups : array-like of int, shape (n_features,)
        The group of each feature, or -1 for dropped features.

    Returns
    -------
    W : ndarray or sparse csr_array, shape (n_features,) or (n_features, n_labels)
        Weights of the features; ``X @ W`` are the scores of the agglomerated model.

    Examples
    --------
    >>> untie([0.5, 2.0], [1, 0, -1, 1])
    array([2. , 0.5, 0. , 2. ])
    """
    weights = _tied.check_weights(tied, "tied")
    checked, n_clusters = check_groups(groups, n_clusters=weights.shape[0])
    return membership(checked, n_clusters).T.tocsr() @ weights


def tie_weights(
    X: MatrixLike,
    groups: ArrayLike,
    W: Any,
    method: Method = "cluster_ls",
    *,
    n_clusters: int | None = None,
) -> Any:
    """Return one weight per group of features, from the weights of a linear model.

    Parameters
    ----------
    X : matrix, shape (n_points, n_features)
        The points on which the scores should change little.
    groups : array-like of int, shape (n_features,)
        The group of each feature, or -1 for dropped features, whose weights are lost.
    W : ndarray or sparse matrix, shape (n_features,) or (n_features, n_labels)
        The model.
    method : {"cluster_ls", "mean", "joint_ls"}, default="cluster_ls"
        Least squares within each group, as in the theorem; the mean of the group; or least
        squares over all groups together, the optimum, computed by conjugate gradients
        starting from the first.
    n_clusters : int, optional
        Number of groups; default: the largest id plus one.

    Returns
    -------
    tied : ndarray or sparse matrix, shape (n_clusters,) or (n_clusters, n_labels)
        Float64; sparse if W is.

    Examples
    --------
    >>> tie_weights([[1.0, 3.0]], [0, 0], [1.0, 2.0])
    array([1.75])
    """
    if method not in {"cluster_ls", "mean", "joint_ls"}:
        raise ValueError(f"method must be 'cluster_ls', 'mean' or 'joint_ls', got {method!r}")
    X, weights, checked, n_clusters = _check(X, groups, W, n_clusters)
    if method == "mean":
        return _tied.mean_operator(checked, n_clusters) @ weights
    cut = cut_rows(X, checked, n_clusters)
    tied = _tied.least_squares_operator(cut, checked, n_clusters) @ weights
    return tied if method == "cluster_ls" else _tied.joint_least_squares(X, cut, weights, tied)


def certificate(
    X: MatrixLike,
    groups: ArrayLike,
    W: Any,
    *,
    tied: Any = None,
    level: Level = "residual",
) -> Certificate:
    """Compute and bound the change of the scores of a linear model by tied weights.

    Parameters
    ----------
    X : matrix, shape (n_points, n_features)
        The points: the original ones, not the sampled unit vectors that were clustered.
    groups : array-like of int, shape (n_features,)
        The group of each feature, or -1 for dropped features, whose tied weight is 0.
    W : ndarray or sparse matrix, shape (n_features,) or (n_features, n_labels)
        The model; labels are processed in dense blocks of bounded size.
    tied : ndarray or sparse matrix, shape (n_clusters,) or (n_clusters, n_labels), optional
        The tied model; default: ``tie_weights(X, groups, W)``.
    level : {"residual", "spectral", "frobenius"}, default="residual"
        The bound: the tightest, one that depends only on the norms of the weights, or the
        published one. For tied weights other than the mean or the least-squares weight of a
        group, the last two include the distance to these. The spectral norm of a group of
        more than 2,048 features is replaced by its Frobenius norm.

    Returns
    -------
    certificate : Certificate
        Arrays with one entry per label; a single entry if W is a vector.

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
    X, weights, checked, n_clusters = _check(X, groups, W, None if tied is None else tied.shape[0])
    cut = cut_rows(X, checked, n_clusters)
    operator = _tied.least_squares_operator(cut, checked, n_clusters)
    if tied is None:
        tied = operator @ weights
    elif tied.shape[1:] != weights.shape[1:]:
        raise ValueError(f"tied must have the labels of W: {weights.shape[1:]}, "
                         f"got {tied.shape[1:]}")  # fmt: skip
    geometry = Geometry(X, checked, n_clusters, cut=cut, operator=operator, level=level)
    blocks = [geometry.measure(w, t) for w, t in _tied.column_blocks(weights, tied)]
    change, worst, bound = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return Certificate(level, change, worst, bound)


def label_certificate(
    X: MatrixLike,
    Y: LabelsLike,
    groups: ArrayLike,
    W: Any,
    *,
    tied: Any = None,
    level: Level = "residual",
) -> Certificate:
    """Return the certificate for the scores of label vectors instead of points.

    A label tree clusters labels by the sums of their points, ``Y.T @ X``. This applies the
    theorem to those sums: ``W`` is the difference of two centroids, and the bound holds for
    every subset of the labels of Y.

    Parameters
    ----------
    X : matrix, shape (n_points, n_features)
        The points.
    Y : labels of the points
        In any form that classifiers accept.
    groups : array-like of int, shape (n_features,)
        The group of each feature, or -1 for dropped features.
    W : ndarray or sparse matrix, shape (n_features,) or (n_features, n_models)
        Weights that the label vectors are multiplied by.
    tied : ndarray or sparse matrix, optional
        See `certificate`.
    level : {"residual", "spectral", "frobenius"}, default="residual"
        See `certificate`.
    """
    X = check_matrix(X, name="X")
    Y = check_labels(Y, n_rows=X.shape[0]).matrix
    sums = (Y.T.astype(np.float64) @ X.astype(np.float64)).tocsr()
    return certificate(sums, groups, W, tied=tied, level=level)


def _check(
    X: MatrixLike, groups: ArrayLike, W: Any, n_clusters: int | None
) -> tuple[Csr, Any, Ids, int]:
    matrix = check_matrix(X, name="X")
    weights = _tied.check_weights(W, "W")
    if weights.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"W must have one row for each of the {matrix.shape[1]} features of X, "
            f"got {weights.shape[0]}"
        )
    checked, n_clusters = check_groups(groups, n_features=matrix.shape[1], n_clusters=n_clusters)
    return matrix, weights, checked, n_clusters
