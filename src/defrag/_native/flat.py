"""One-vs-rest models side by side, and the search through them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from defrag import _core
from defrag._native.arrays import KernelRows, csr_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr, Floats, Ids, Offsets, Progress

__all__ = ["FlatWeights", "flat_search"]


@dataclass(frozen=True)
class FlatWeights:
    """The linear classifiers of all labels that have one; see ``cpp/core/flat_search.hpp``.

    Output ``o`` is the classifier of ``labels[o]``; labels rise. Feature ``j`` has the weights
    ``weights[feature_ptr[j]:feature_ptr[j + 1]]``, which belong to the ``outputs`` at the same
    places; these rise within a feature.
    """

    labels: Ids
    feature_ptr: Offsets
    outputs: NDArray[np.uint16] | Ids
    weights: Floats
    bias: Floats

    @cached_property
    def by_bias(self) -> Ids:
        """All outputs by falling bias, then rising: the ranking of a point without features."""
        return np.argsort(-self.bias, kind="stable").astype(np.int32)

    @cached_property
    def by_output(self) -> Csr:
        """The weights by output instead of by feature, from which some outputs are cut."""
        shape = (len(self.feature_ptr) - 1, len(self.labels))
        by_feature = sparse.csr_array((self.weights, self.outputs, self.feature_ptr), shape=shape)
        if by_feature.nnz < 2**31:  # int32 offsets halve the time of transpositions
            by_feature.indptr = by_feature.indptr.astype(np.int32)
            by_feature.indices = by_feature.indices.astype(np.int32, copy=False)
        return sparse.csr_array(by_feature.T)

    def __getstate__(self) -> dict[str, Any]:
        # What is computed on demand is no part of the model.
        computed = {"by_bias", "by_output"}
        return {name: array for name, array in vars(self).items() if name not in computed}


def flat_search(
    model: FlatWeights,
    X: Csr | KernelRows,
    *,
    k: int,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> tuple[Ids, Floats]:
    """Find the best labels of every row of X, scaled as in training, and their scores.

    The score of a margin z is 1 / (1 + exp(-z)). Both arrays are ``(n, k)``, by falling
    score and rising label; -1 with score 0 where there are fewer.
    """
    labels, scores = _core.flat_search(
        model.feature_ptr,
        model.outputs,
        model.weights,
        model.bias,
        model.labels,
        model.by_bias,
        csr_parts(X),
        k=k,
        n_threads=n_threads,
        progress=progress,
    )
    return labels.reshape(-1, k), scores.reshape(-1, k)
