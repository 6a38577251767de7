"""Explanations of one-vs-rest classifiers, from the weights of single labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from defrag.explain.explainers import Explainer, SingleIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag._native import FlatWeights
    from defrag.typing import Ids

__all__ = ["flat_explainer"]


def flat_explainer(flat: FlatWeights, labels: Ids) -> Explainer:
    """Return an explainer of some labels; a label without a classifier has the score 0."""
    place = np.searchsorted(flat.labels, labels)
    outputs = np.minimum(place, len(flat.labels) - 1)
    known = flat.labels[outputs] == labels

    def weights(features: Ids) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return weights_of(flat, outputs, features), flat.bias[outputs].astype(np.float64)

    return SingleIndex(weights, expit, known)


def weights_of(flat: FlatWeights, outputs: NDArray[np.int64], features: Ids) -> NDArray[np.float64]:
    """Return weights, shape (n_outputs, n_features), found by bisection within each feature."""
    shape = len(outputs), len(features)
    if not len(flat.weights):
        return np.zeros(shape)
    low = np.broadcast_to(flat.feature_ptr[features], shape).copy()
    end = np.broadcast_to(flat.feature_ptr[features + 1], shape)
    high, last = end.copy(), len(flat.outputs) - 1
    wanted = outputs[:, None]
    while (low < high).any():
        middle = (low + high) // 2
        before = (flat.outputs[np.minimum(middle, last)] < wanted) & (low < high)
        low, high = np.where(before, middle + 1, low), np.where(before, high, middle)
    place = np.minimum(low, last)
    found = (low < end) & (flat.outputs[place] == wanted)
    return np.where(found, flat.weights_at(place, features).astype(np.float64), 0.0)
