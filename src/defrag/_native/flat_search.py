"""Weights of one-vs-rest models; see ``cpp/core/flat_search.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from defrag._core import flat_search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.typing import Csr, Floats, Ids, Offsets

__all__ = ["FlatWeights", "flat_search"]


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
