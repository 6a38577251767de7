"""Embeddings in a model file.

All real numbers of a model are one array ``weights``, matrix after matrix, so that they become
float16 or int8 together: rows of features one after the other, then panels of sixteen rows that
are searched among, as the kernel reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._native import RowPanels
from defrag._parameters import Int
from defrag.persistence._checks import check_length
from defrag.persistence._schema import Array, Part
from defrag.persistence._weight_checks import check_rising_labels, check_weight_values
from defrag.persistence.codecs._weight_values import WEIGHT_TYPES, pack_values, unpack_values
from defrag.persistence.codecs.classifiers import ClassifierCodec

if TYPE_CHECKING:
    from defrag.classifiers.embeddings import LEML
    from defrag.persistence.codecs._base import SaveOptions
    from defrag.typing import Offsets

__all__ = ["LEMLCodec"]

_COMPONENTS = Int(1, 1 << 16)
_LANES = 16

WEIGHT_ARRAYS = {
    "weights": Array(WEIGHT_TYPES),
    "scales": Array("float32", group="scales"),
}
"""The real numbers; int8 ones have a scale per row of features and per panel."""


class LEMLCodec(ClassifierCodec):
    """Writes and reads :class:`LEML`: rows of W, panels of H."""

    def __init__(self, estimator: type[LEML]) -> None:
        super().__init__(
            estimator,
            arrays={"labels": Array("int32"), **WEIGHT_ARRAYS},
            state={"rank": _COMPONENTS},
        )

    def encode(self, model: LEML, options: SaveOptions) -> Part:
        """Turn a fitted model into a part."""
        part = super().encode(model, options)
        n_features, rank = model.feature_factors_.shape
        part.state["rank"] = int(rank)
        part.arrays["labels"] = model.labels_
        lines = model.label_factors_.lines
        weights = np.concatenate([model.feature_factors_.ravel(), lines.ravel()])
        bounds = runs(n_features, len(lines), rank)
        part.arrays |= pack_values(weights, bounds, options.weights)
        return part

    def decode(self, part: Part) -> Any:
        """Check the factors and give the model; float32 ones stay mapped."""
        model = super().decode(part)
        rank, n_features = part.state["rank"], model.n_features_in_
        check_rising_labels(part, model.n_labels_)
        labels = part.arrays["labels"]
        n_panels = -(-len(labels) // _LANES)
        check_length(part, "weights", (n_features + n_panels * _LANES) * rank)
        check_weight_values(part, n_features + n_panels)
        weights = unpack_values(part.arrays, runs(n_features, n_panels, rank))
        split = n_features * rank
        model.labels_ = labels
        model.feature_factors_ = weights[:split].reshape(n_features, rank)
        lines = weights[split:].reshape(n_panels, rank, _LANES)
        model.label_factors_ = RowPanels(lines, len(labels))
        return model


def runs(n_rows: int, n_panels: int, n_columns: int) -> Offsets:
    """Return the bounds of the runs of ``n_rows`` rows followed by ``n_panels`` panels."""
    sizes = np.full(n_rows + n_panels, n_columns, dtype=np.int64)
    sizes[n_rows:] *= _LANES
    return np.concatenate([[0], np.cumsum(sizes)])
