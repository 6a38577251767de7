"""The certificate: a bound on how much tying the weights of groups changes the scores.

Summing the features of a group is equivalent to giving them one weight. For a linear model w and
its tied version, the change of the scores is at most the sum over groups of the norm of
(columns of the group) x (weights minus tied weight). The levels ``"residual"``, ``"spectral"`` and
``"frobenius"`` are three such sums, each at least as large as the one before: the norm itself, and
the spectral and Frobenius norms of the centred columns times the norm of the centred weights.
``"frobenius"`` is the published bound. All hold for every subset of the rows, because a norm over
fewer rows is not larger.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import lsqr

from defrag._validation import check_groups, check_labels, check_matrix
from defrag.agglomeration._groups import CutRows, cut_rows, membership
from defrag.typing import Csr, Ids, LabelsLike, MatrixLike

__all__ = [
    "Certificate",
    "Level",
    "certificate",
    "frobenius_spreads",
    "label_certificate",
    "lipschitz",
    "tie_weights",
    "untie",
]

# --- Weights of groups from weights of features, by means and least squares.

# Doubles per block: 128 MB for any number of labels.
BLOCK = 2**24

_TOLERANCE = 1e-12
_MAX_ITERATIONS = 1000
_STOPPED = 7  # what lsqr says after that many


def check_weights(W: Any, name: str) -> Any:
    """Return validated weights, a vector or a matrix; sparse weights as CSC."""
    from sklearn.utils.validation import check_array  # noqa: PLC0415 - slow to import

    weights: Any = check_array(
        W,
        accept_sparse="csc",
        dtype=np.float64,
        ensure_2d=False,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name=name,
    )
    if weights.ndim not in {1, 2}:
        raise ValueError(f"{name} must have 1 or 2 dimensions, got {weights.ndim}")
    return sparse.csc_array(weights) if _is_sparse(weights) else weights


def _is_sparse(matrix: Any) -> bool:
    # issparse() would narrow Any to a type without methods.
    return bool(sparse.issparse(matrix))


def mean_operator(groups: Ids, n_clusters: int) -> sparse.csr_array:
    """Return the matrix that maps weights to the mean of each group; 0 for empty groups."""
    return membership(groups, n_clusters, 1.0 / _sizes_of_groups(groups, n_clusters))


def _sizes_of_groups(groups: Ids, n_clusters: int) -> NDArray[np.int64]:
    """Return the size of the group of each feature; 1 for dropped features."""
    sizes = np.bincount(groups[groups >= 0], minlength=n_clusters)
    return np.append(sizes, 1)[groups]


def least_squares_operator(cut: CutRows, groups: Ids, n_clusters: int) -> sparse.csr_array:
    """Return the matrix that maps weights to the least-squares weight of each group.

    The tied weight is <P u, P 1> / ||P 1||^2, linear in u: the coefficient of feature j is
    <p_j, P 1> / ||P 1||^2. If P 1 = 0, every weight fits equally well; the mean is used.
    """
    sums, squares = cut.pooled(n_clusters)
    own = np.append(squares, 0.0)[groups]  # 0 for dropped features
    share = np.where(own > 0, cut.parts.T @ sums, 1.0)
    share /= np.where(own > 0, own, _sizes_of_groups(groups, n_clusters))
    return membership(groups, n_clusters, share)


def column_blocks(height: int, *matrices: Any) -> Iterator[tuple[NDArray[np.float64], ...]]:
    """Yield dense blocks of columns, so few that blocks of ``height`` rows have bounded size."""
    columns = [m.reshape(-1, 1) if m.ndim == 1 else m for m in matrices]
    columns = [m.tocsc() if _is_sparse(m) else m for m in columns]
    size = max(1, BLOCK // max(1, height, *(m.shape[0] for m in columns)))
    # A model without labels yields one empty block, so that results can be concatenated.
    for first in range(0, max(1, columns[0].shape[1]), size):
        blocks = (m[:, first : first + size] for m in columns)
        yield tuple(b.toarray() if _is_sparse(b) else b for b in blocks)


def joint_least_squares(X: Csr, cut: CutRows, weights: Any, start: Any) -> Any:
    """Return the least-squares weights of all groups together, starting from ``start``."""
    n_clusters = start.shape[0]
    sums, squares = cut.pooled(n_clusters)
    kept = cut.group < n_clusters
    # With unit columns, far fewer iterations are needed.
    scale = 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0))
    pooled = sparse.csr_array(
        (sums[kept] * scale[cut.group[kept]], (cut.row[kept], cut.group[kept])),
        shape=(X.shape[0], n_clusters),
    )
    wide = X.astype(np.float64)
    results: list[Any] = []
    n_left = 0
    for block, first in column_blocks(X.shape[0], weights, start):
        found = first / scale[:, None]
        for target, own in zip((wide @ block).T, found.T, strict=True):
            # A residual never grows, so stopping early is never worse than the start.
            own[:], stop, *_ = lsqr(
                pooled, target, atol=_TOLERANCE, btol=_TOLERANCE, iter_lim=_MAX_ITERATIONS, x0=own
            )
            n_left += stop == _STOPPED
        found *= scale[:, None]
        results.append(sparse.csc_array(found) if _is_sparse(weights) else found)
    if n_left:
        from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - slow to import

        warnings.warn(
            f"joint_ls did not converge for {n_left} labels after {_MAX_ITERATIONS} iterations; "
            "their tied weights are no worse than cluster_ls",
            ConvergenceWarning,
            stacklevel=3,
        )
    if _is_sparse(weights):
        return sparse.hstack(results, format="csr")
    joined = np.hstack(results)
    return joined[:, 0] if weights.ndim == 1 else joined


# --- Bounds of the certificate, computed for blocks of labels.

Level: TypeAlias = Literal["residual", "spectral", "frobenius"]

# The eigenvalue problem of a group is cubic in its size.
_LARGEST_SPECTRAL = 2048


class Geometry:
    """Norms of X and its groups that the bounds need, computed once for all labels."""

    def __init__(
        self, X: Csr, groups: Ids, n_clusters: int, *, cut: CutRows, operator: Any, level: Level
    ) -> None:
        self.level, self.n_clusters = level, n_clusters
        # Only the residual bound scores rows by group; the other bounds score whole rows.
        rows = np.arange(X.shape[0])
        self.scored = (
            cut if level == "residual" else CutRows(X.astype(np.float64), rows, np.zeros_like(rows))
        )
        self.to_row = membership(self.scored.row, X.shape[0])
        self.to_group = membership(self.scored.group, n_clusters + 1)
        self.least_squares, self.mean = operator, mean_operator(groups, n_clusters)
        self.sums = membership(groups, n_clusters)
        _, squares = cut.pooled(n_clusters)
        self.pooled_norms = np.sqrt(squares)
        self.dropped = np.flatnonzero(groups < 0)
        energy = X.data.astype(np.float64) ** 2
        column_squares = np.bincount(X.indices, energy, X.shape[1]).astype(np.float64)
        self.dropped_norms = np.sqrt(column_squares[self.dropped])
        self.spreads = frobenius_spreads(groups, n_clusters, column_squares, squares)
        if level == "spectral":
            self.spreads = spectral_spreads(X, groups, n_clusters, self.spreads)

    def measure(
        self, weights: NDArray[np.float64], tied: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the change, the worst change of a score, and the bound for a block of labels."""
        scores = self.scored.parts @ (weights - self.sums.T @ tied)
        by_row = self.to_row @ scores
        if self.level == "residual":
            bound = np.sqrt(self.to_group @ (scores * scores)).sum(axis=0)
        else:
            bound = self._spread_bound(weights, tied)
        return np.linalg.norm(by_row, axis=0), np.abs(by_row).max(axis=0, initial=0.0), bound

    def _spread_bound(
        self, weights: NDArray[np.float64], tied: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        mean = self.mean @ weights
        centred = weights - self.sums.T @ mean
        spread = np.sqrt(self.sums @ (centred * centred)) * self.spreads[:, None]
        norms = self.pooled_norms[:, None]
        # Two bounds for an arbitrary tied weight: from the mean by the triangle inequality,
        # and from the least-squares weight by orthogonality; the smaller one counts.
        by_mean = spread + np.abs(tied - mean) * norms
        by_least_squares = np.hypot(spread, (tied - self.least_squares @ weights) * norms)
        bound = np.minimum(by_mean, by_least_squares).sum(axis=0)
        lost = self.dropped_norms @ np.abs(weights[self.dropped])
        return np.asarray(bound + lost)


def frobenius_spreads(
    groups: Ids,
    n_clusters: int,
    column_squares: NDArray[np.float64],
    pooled_squares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the Frobenius norm of the centred columns of each group."""
    kept = groups >= 0
    total = np.bincount(groups[kept], column_squares[kept], minlength=n_clusters)
    sizes = np.bincount(groups[kept], minlength=n_clusters)
    # Rounding can make the difference slightly negative if the columns are equal.
    return np.sqrt(np.maximum(total - pooled_squares / np.maximum(sizes, 1), 0.0))


def spectral_spreads(
    X: Csr, groups: Ids, n_clusters: int, frobenius: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the largest singular value of the centred columns of each group.

    For a group of more than 2,048 features, the Frobenius norm is returned, which is
    never smaller.
    """
    spreads = frobenius.copy()
    sizes = np.bincount(groups[groups >= 0], minlength=n_clusters)
    spreads[sizes == 1] = 0.0
    order = np.argsort(groups, kind="stable")
    ends = np.searchsorted(groups[order], np.arange(n_clusters), side="right")
    columns = X.tocsc().astype(np.float64)
    for k in np.flatnonzero((sizes > 1) & (sizes <= _LARGEST_SPECTRAL)):
        chosen = columns[:, order[ends[k] - sizes[k] : ends[k]]]
        gram = (chosen.T @ chosen).toarray()
        # Centring the rows and columns of the Gram matrix centres the columns of X.
        gram = gram - gram.mean(axis=0)
        gram = gram - gram.mean(axis=1, keepdims=True)
        largest = float(np.linalg.eigvalsh(gram)[-1])
        spreads[k] = min(spreads[k], np.sqrt(max(largest, 0.0)))
    return spreads


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
    weights = check_weights(tied, "tied")
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
        return mean_operator(checked, n_clusters) @ weights
    cut = cut_rows(X, checked, n_clusters)
    tied = least_squares_operator(cut, checked, n_clusters) @ weights
    return tied if method == "cluster_ls" else joint_least_squares(X, cut, weights, tied)


def certificate(
    X: MatrixLike, groups: ArrayLike, W: Any, *, tied: Any = None, level: Level = "residual"
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
        tied = check_weights(tied, "tied")
    X, weights, checked, n_clusters = _check(X, groups, W, None if tied is None else tied.shape[0])
    cut = cut_rows(X, checked, n_clusters)
    operator = least_squares_operator(cut, checked, n_clusters)
    if tied is None:
        tied = operator @ weights
    elif tied.shape[1:] != weights.shape[1:]:
        raise ValueError(f"tied must have the labels of W: {weights.shape[1:]}, "
                         f"got {tied.shape[1:]}")  # fmt: skip
    geometry = Geometry(X, checked, n_clusters, cut=cut, operator=operator, level=level)
    height = len(geometry.scored.row)
    blocks = [geometry.measure(w, t) for w, t in column_blocks(height, weights, tied)]
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
    weights = check_weights(W, "W")
    if weights.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"W must have one row for each of the {matrix.shape[1]} features of X, "
            f"got {weights.shape[0]}"
        )
    checked, n_clusters = check_groups(groups, n_features=matrix.shape[1], n_clusters=n_clusters)
    return matrix, weights, checked, n_clusters
