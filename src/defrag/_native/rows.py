"""Matrices, groups of features, dense rows and one-vs-rest models as the kernels have them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag import _core
from defrag.typing import Csr, Floats, Ids, Offsets

if TYPE_CHECKING:
    from defrag._core import KernelRows

P = ParamSpec("P")
R = TypeVar("R")


def named(kernel: Callable[P, tuple[Any, ...]], result: Callable[..., R]) -> Callable[P, R]:
    """Return a kernel whose results have names, those of the fields of a class."""

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return result(*kernel(*args, **kwargs))

    return call


# --- Conversion to scipy matrices.


def as_matrix(rows: Csr | KernelRows) -> Csr:
    """Return rows as a scipy matrix that shares their memory."""
    if isinstance(rows, sparse.csr_array):
        return rows
    return csr_from_parts((rows.indptr, rows.indices, rows.data), rows.shape)


def csr_from_parts(parts: tuple[Any, Any, Any], shape: tuple[int, int]) -> Csr:
    """Return a matrix from (indptr, indices, data) with sorted rows without duplicates."""
    indptr, indices, data = parts
    if indptr[-1] <= np.iinfo(np.int32).max:
        # scipy uses one integer type for both arrays and converts the narrower one otherwise.
        indptr = indptr.astype(np.int32)
    result = sparse.csr_array((data, indices, indptr), shape=shape)
    result.has_canonical_format = True
    return result


# --- Number of threads of the kernels.

# Every thread needs scratch memory: more threads than this are used only if there are as many
# processors.
_MAX_THREADS = 64


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs`` of scikit-learn."""
    if n_jobs is None:
        return 1
    if type(n_jobs) is int and 0 < n_jobs <= _MAX_THREADS:
        return n_jobs
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise ValueError(  # noqa: TRY004 - as for all invalid parameters
            f"n_jobs must be an int or None, got {n_jobs!r}"
        )
    if 0 < n_jobs <= _MAX_THREADS:
        return int(n_jobs)
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    processors = available or 1
    if n_jobs > 0:
        return min(int(n_jobs), max(processors, _MAX_THREADS))
    return max(1, processors + 1 + int(n_jobs))


# --- Layout of groups of features for ``cpp/core/imputation/imputation.hpp``.


@dataclass(frozen=True)
class GroupLayout:
    """Positions of the members of groups, and of the co-occurrence block of each group.

    Group g has the features ``members[member_ptr[g]:member_ptr[g + 1]]`` and the entries of its
    block from ``entry_ptr[g]`` on; ``slots`` are the positions of features in their groups.
    """

    groups: Ids
    slots: Ids
    member_ptr: Offsets
    members: Ids
    entry_ptr: Offsets

    @classmethod
    def of(cls, groups: Ids, n_groups: int) -> GroupLayout:
        """Return the layout of groups; features with group -1 are in no group."""
        groups = np.ascontiguousarray(groups, dtype=np.int32)
        order = np.argsort(groups, kind="stable").astype(np.int32)
        members = order[int(np.count_nonzero(groups < 0)) :]
        sizes = np.bincount(groups[members], minlength=n_groups).astype(np.int64)
        member_ptr = np.append(0, np.cumsum(sizes))
        slots = np.full(len(groups), -1, dtype=np.int32)
        slots[members] = np.arange(len(members)) - member_ptr[groups[members]]
        entry_ptr = np.append(0, np.cumsum(sizes * sizes))
        return cls(groups, slots, member_ptr, members, entry_ptr)


# --- Nearest neighbours among dense rows; see ``cpp/core/neighbours/nearest_rows.hpp``.


@dataclass(frozen=True)
class RowPanels:
    """Dense rows to search among, laid out for the kernel.

    - ``lines``, shape (n_panels, n_columns, 16): panels of sixteen rows, stored by column and
      padded with zeros.
    - ``bias``, shape (n_rows,): added to the score of each row; default: zero.
    """

    lines: Floats
    n_rows: int
    bias: Floats | None = None

    @classmethod
    def pack(cls, rows: Floats, bias: Floats | None = None) -> RowPanels:
        """Return the panels of the rows of a matrix."""
        return cls(_core.pack_panels(rows), len(rows), bias)

    def rows(self, numbers: NDArray[np.int64]) -> Floats:
        """Return some rows as a matrix."""
        size = self.lines.shape[2]
        return self.lines[numbers // size, :, numbers % size]

    def unpack(self) -> Floats:
        """Return the rows as a matrix."""
        rows = self.lines.transpose(0, 2, 1).reshape(-1, self.lines.shape[1])
        return np.ascontiguousarray(rows[: self.n_rows])


def nearest_rows(queries: Floats, rows: RowPanels, **options: Any) -> tuple[Ids, Floats]:
    """Return the rows with the highest scores for each query, and their scores."""
    n_rows, bias = rows.n_rows, rows.bias
    return _core.nearest_rows(queries, rows.lines, n_rows=n_rows, bias=bias, **options)


# --- Weights of one-vs-rest models; see ``cpp/core/search/flat_search.hpp``.


@dataclass(frozen=True)
class FlatWeights:
    """The linear classifiers of all labels that have one.

    Output ``o`` is the classifier of ``labels[o]``; labels increase. Feature ``j`` has the weights
    ``weights[feature_ptr[j]:feature_ptr[j + 1]]``, which belong to the ``outputs`` at the same
    positions; these increase within a feature. Weights are float32, or of a type of model files:
    int8 with a scale per feature, or uint16, the bits of float16.
    """

    labels: Ids
    feature_ptr: Offsets
    outputs: NDArray[np.uint16] | Ids
    weights: NDArray[Any]
    bias: Floats
    scales: Floats | None = None

    def widened(self) -> Floats:
        """Return all weights as float32, without a copy if they already are."""
        if self.scales is not None:
            wide: Floats = self.weights.astype(np.float32)
            wide *= np.repeat(self.scales, np.diff(self.feature_ptr))
            return wide
        return _floats(self.weights)

    def weights_at(self, places: NDArray[np.int64], features: Ids) -> Floats:
        """Return the weights at places; ``features`` are those of the last axis of ``places``."""
        found = _floats(self.weights[places])
        return found if self.scales is None else found * self.scales[features]

    @cached_property
    def by_bias(self) -> Ids:
        """All outputs by decreasing bias, then number: the ranking for points without features."""
        return np.argsort(-self.bias, kind="stable").astype(np.int32)

    @cached_property
    def by_output(self) -> Csr:
        """The weights by output instead of by feature, for selecting outputs."""
        shape = (len(self.feature_ptr) - 1, len(self.labels))
        by_feature = sparse.csr_array((self.widened(), self.outputs, self.feature_ptr), shape=shape)
        if by_feature.nnz < 2**31:  # int32 offsets halve the time of transpositions
            by_feature.indptr = by_feature.indptr.astype(np.int32)
            by_feature.indices = by_feature.indices.astype(np.int32, copy=False)
        return sparse.csr_array(by_feature.T)

    def __getstate__(self) -> dict[str, Any]:
        # Cached properties are not part of the model.
        computed = {"by_bias", "by_output"}
        return {name: array for name, array in vars(self).items() if name not in computed}


def _floats(weights: NDArray[Any]) -> Floats:
    """Return stored weights as float32; int8 weights are not scaled."""
    halves = weights.view(np.float16) if weights.dtype == np.uint16 else weights
    return halves.astype(np.float32, copy=False)


# --- One-vs-rest training; see ``cpp/core/solver/solver.hpp``.


@dataclass(frozen=True)
class FlatSolution:
    """Classifiers, shape (n_features, n_labels), and the final state of each."""

    weights: Csr
    bias: Floats
    passes: Offsets
    converged: NDArray[np.bool_]
    violation: NDArray[np.float64]
    primal: NDArray[np.float64]
    dual: NDArray[np.float64]


solve_blocks = named(_core.solve_blocks, FlatSolution)
"""Train a classifier for each row of ``positives``, the points of a label, in blocks of 16.

The loss of row i of X is multiplied by ``weights[i]``, which is positive. The result for a label
depends on the labels of its block and on its number; the first block has that of ``first_block``.
"""


@dataclass(frozen=True)
class ProxmlSolution:
    """Classifiers, with the biases as the last column of ``weights``, and the state of each."""

    weights: Csr
    rounds: Offsets
    converged: NDArray[np.bool_]
    objective: NDArray[np.float64]


train_proxml = named(_core.train_proxml, ProxmlSolution)
"""Train a classifier for each row of ``positives``, the points of a label."""
