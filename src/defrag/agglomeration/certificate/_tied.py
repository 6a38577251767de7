"""Weights of groups from weights of features, by means and least squares."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from defrag.agglomeration._groups import CutRows, membership

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from defrag.typing import Csr, Ids

__all__ = [
    "BLOCK",
    "check_weights",
    "column_blocks",
    "joint_least_squares",
    "least_squares_operator",
    "mean_operator",
]

# Doubles per block: 32 MB for any number of labels.
BLOCK = 2**22

_TOLERANCE = 1e-10
_MAX_ITERATIONS = 1000


def check_weights(W: Any, name: str) -> Any:
    """Return validated weights, a vector or a matrix; sparse weights as CSC."""
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
    sizes = np.bincount(groups[groups >= 0], minlength=n_clusters)
    share = 1.0 / np.maximum(sizes, 1)
    return membership(groups, n_clusters, share[groups] if n_clusters else None)


def least_squares_operator(cut: CutRows, groups: Ids, n_clusters: int) -> sparse.csr_array:
    """Return the matrix that maps weights to the least-squares weight of each group.

    The tied weight is <P u, P 1> / ||P 1||^2, linear in u: the coefficient of feature j is
    <p_j, P 1> / ||P 1||^2. If P 1 = 0, every weight fits equally well; the mean is used.
    """
    sums, squares = cut.pooled(n_clusters)
    products = cut.parts.T @ sums
    sizes = np.bincount(groups[groups >= 0], minlength=n_clusters)
    if n_clusters == 0:
        return membership(groups, 0)
    fits = squares[groups] > 0
    share = np.where(fits, products, 1.0)
    share /= np.where(fits, squares[groups], np.maximum(sizes, 1)[groups])
    return membership(groups, n_clusters, share)


def column_blocks(
    *matrices: Any, height: int | None = None
) -> Iterator[tuple[NDArray[np.float64], ...]]:
    """Yield dense blocks of columns of bounded size of matrices with equal numbers of columns."""
    columns = [m.reshape(-1, 1) if m.ndim == 1 else m for m in matrices]
    columns = [m.tocsc() if _is_sparse(m) else m for m in columns]
    n_labels = columns[0].shape[1]
    height = max(1, *(m.shape[0] for m in columns), height or 0)
    size = max(1, BLOCK // height)
    # A model without labels yields one empty block, so that results can be concatenated.
    for first in range(0, max(1, n_labels), size):
        blocks = (m[:, first : first + size] for m in columns)
        yield tuple(b.toarray() if _is_sparse(b) else b for b in blocks)


def joint_least_squares(X: Csr, cut: CutRows, weights: Any, start: Any) -> Any:
    """Return the least-squares weights of all groups together, starting from ``start``."""
    n_clusters = start.shape[0]
    sums, squares = cut.pooled(n_clusters)
    kept = cut.group < n_clusters
    # With unit columns, conjugate gradients need far fewer iterations.
    scale = 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0))
    pooled = sparse.csr_array(
        (sums[kept] * scale[cut.group[kept]], (cut.row[kept], cut.group[kept])),
        shape=(X.shape[0], n_clusters),
    )
    wide = X.astype(np.float64)
    results: list[Any] = []
    for block, first in column_blocks(weights, start, height=X.shape[0]):
        scores = wide @ block
        target = scores - pooled @ (first / scale[:, None])
        goal = _TOLERANCE * np.linalg.norm(scores, axis=0)
        found = first + _conjugate_gradients(pooled, target, goal) * scale[:, None]
        results.append(sparse.csc_array(found) if _is_sparse(weights) else found)
    if _is_sparse(weights):
        return sparse.hstack(results, format="csr")
    joined = np.hstack(results)
    return joined[:, 0] if weights.ndim == 1 else joined


def _conjugate_gradients(
    matrix: sparse.csr_array, target: NDArray[np.float64], goal: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Solve one least-squares problem per column of the target, simultaneously.

    A column is solved when the norm of its gradient is at most its goal. The residual never
    grows from one iteration to the next, so stopping early is never worse than the start.
    """
    solution = np.zeros((matrix.shape[1], target.shape[1]))
    residual = target.copy()
    gradient = matrix.T @ residual
    direction = gradient.copy()
    squared_norm = (gradient * gradient).sum(axis=0)
    for _ in range(_MAX_ITERATIONS):
        active = squared_norm > goal**2
        if not active.any():
            return solution
        image = matrix @ direction
        curvature = (image * image).sum(axis=0)
        active &= curvature > 0
        step = np.where(active, squared_norm / np.where(active, curvature, 1.0), 0.0)
        solution += step * direction
        residual -= step * image
        gradient = matrix.T @ residual
        new_squared_norm = (gradient * gradient).sum(axis=0)
        beta = np.where(active, new_squared_norm / np.where(active, squared_norm, 1.0), 0.0)
        direction = gradient + beta * direction
        squared_norm = np.where(active, new_squared_norm, 0.0)
    warnings.warn(
        f"joint_ls did not converge for {np.count_nonzero(squared_norm > goal**2)} labels after "
        f"{_MAX_ITERATIONS} iterations; their tied weights are no worse than cluster_ls",
        ConvergenceWarning,
        stacklevel=4,
    )
    return solution
