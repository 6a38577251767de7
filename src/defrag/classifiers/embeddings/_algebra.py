"""Dense linear algebra that is bit-identical for any number of threads.

The order in which BLAS adds depends on its number of threads. Here BLAS always runs with one
thread, on blocks of rows of a fixed size; blocks are distributed over our own threads and their
results are added in order.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from defrag import _native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from defrag.typing import Csr, Floats

__all__ = [
    "conjugate_gradients",
    "gram",
    "multiply",
    "one_blas_thread",
    "orthonormal_basis",
    "symmetric_eigenpairs",
]

_BLOCK_ROWS = 4096
"""Number of rows in a block; the results depend on it, since it fixes the order of sums."""

_MIN_SQUARED_NORM = 1e-30
"""Columns whose residual has a smaller squared norm are solved."""


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread per call."""
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limits


def gram(A: Floats, B: Floats, *, n_threads: int) -> NDArray[np.float64]:
    """Return A' B for tall matrices with equal numbers of rows; blocks are added in float64."""
    parts = _over_blocks(len(A), n_threads, lambda rows: A[rows].T @ B[rows])
    total = np.zeros((A.shape[1], B.shape[1]), dtype=np.float64)
    for part in parts:
        total += part
    return total


def multiply(A: Floats, Q: NDArray[Any], *, n_threads: int) -> Floats:
    """Return A Q for a tall matrix A and a small matrix Q."""
    small = np.ascontiguousarray(Q, dtype=np.float32)
    result = np.empty((len(A), small.shape[1]), dtype=np.float32)
    for _ in _over_blocks(
        len(A), n_threads, lambda rows: np.matmul(A[rows], small, out=result[rows])
    ):
        pass
    return result


def symmetric_eigenpairs(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], Any]:
    """Return the eigenvalues of a symmetric matrix in decreasing order, and its eigenvectors."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return values[::-1], np.ascontiguousarray(vectors[:, ::-1])


def orthonormal_basis(A: Floats, *, n_threads: int) -> Floats:
    """Return an orthonormal basis of the columns of a tall matrix, by decreasing singular value.

    It is computed from the eigenvectors of A'A in double precision; columns beyond the rank are
    zero.
    """
    values, vectors = symmetric_eigenpairs(gram(A, A, n_threads=n_threads))
    floor = max(values[0], 0.0) * len(values) * float(np.finfo(np.float32).eps)
    scale = np.zeros_like(values)
    np.divide(1.0, np.sqrt(np.maximum(values, floor)), out=scale, where=values > floor)
    return multiply(A, vectors * scale, n_threads=n_threads)


def conjugate_gradients(
    X: Csr,
    XT: Csr,
    right: Floats,
    *,
    weights: Floats,
    ridge: float,
    n_steps: int,
    n_threads: int,
    start: Floats | None = None,
) -> Floats:
    """Solve ``(weights[j] X'X + ridge I) w_j = right_j`` for all columns j simultaneously.

    Parameters
    ----------
    X, XT : csr_array
        The points and their transpose.
    right : ndarray of float32, shape (n_features, n_columns)
        The right-hand sides.
    weights : ndarray of float32, shape (n_columns,)
        The weight of X'X in each system.
    ridge : float
        The regulariser.
    n_steps : int
        Number of steps; step lengths are computed separately for each column.
    n_threads : int
        Number of threads.
    start : ndarray of float32, shape (n_features, n_columns), optional
        Initial solution; default: zero.

    Returns
    -------
    solution : ndarray of float32, shape (n_features, n_columns)
        The columns w_j.
    """
    strength = np.float32(ridge)

    def apply(V: Floats) -> Floats:
        result = _native.sparse_dense(
            XT, _native.sparse_dense(X, V, n_threads=n_threads), n_threads=n_threads
        )
        result *= weights
        result += strength * V
        return result

    solution = np.zeros_like(right) if start is None else start.copy()
    residual = right.copy() if start is None else right - apply(start)
    direction = residual.copy()
    energy = _column_products(residual, residual)
    for _ in range(n_steps):
        image = apply(direction)
        curvature = _column_products(direction, image)
        length = _ratio(energy, curvature)
        solution += length * direction
        residual -= length * image
        before, energy = energy, _column_products(residual, residual)
        direction *= _ratio(energy, before)
        direction += residual
    return solution


def _column_products(A: Floats, B: Floats) -> NDArray[np.float64]:
    """Return the dot product of each column of A with the same column of B."""
    total = np.zeros(A.shape[1], dtype=np.float64)
    for rows in _blocks(len(A)):
        total += np.einsum("ij,ij->j", A[rows], B[rows])
    return total


def _ratio(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> Floats:
    """Return the quotients, or 0 where the denominator is almost 0."""
    result = np.zeros_like(numerator)
    np.divide(numerator, denominator, out=result, where=denominator > _MIN_SQUARED_NORM)
    return result.astype(np.float32)


def _blocks(n_rows: int) -> Iterator[slice]:
    for first in range(0, n_rows, _BLOCK_ROWS):
        yield slice(first, min(first + _BLOCK_ROWS, n_rows))


def _over_blocks(
    n_rows: int, n_threads: int, work: Callable[[slice], Any]
) -> Iterator[NDArray[Any]]:
    """Call ``work`` on each block of rows and yield the results in order."""
    blocks = list(_blocks(n_rows))
    if n_threads == 1 or len(blocks) == 1:
        yield from map(work, blocks)
        return
    with ThreadPoolExecutor(min(n_threads, len(blocks))) as pool:
        yield from pool.map(work, blocks)
