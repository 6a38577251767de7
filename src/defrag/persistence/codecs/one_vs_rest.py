"""One-vs-rest classifiers in a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._native import FlatWeights
from defrag.persistence._schema import Array, Part
from defrag.persistence._weight_checks import check_flat_weights
from defrag.persistence.codecs._weight_values import WEIGHT_TYPES, pack_values
from defrag.persistence.codecs.classifiers import ClassifierCodec

if TYPE_CHECKING:
    from defrag.classifiers.one_vs_rest import OneVsRest
    from defrag.persistence.codecs._base import SaveOptions

__all__ = ["OneVsRestCodec"]


class OneVsRestCodec(ClassifierCodec):
    """Codec of one-vs-rest models; int8 weights have one scale per feature."""

    def __init__(self, estimator: type[OneVsRest]) -> None:
        super().__init__(
            estimator,
            arrays={
                "labels": Array("int32"),
                "feature_ptr": Array("int64"),
                "outputs": Array(("uint16", "int32")),
                "weights": Array(WEIGHT_TYPES),
                "scales": Array("float32", group="scales"),
                "bias": Array("float32"),
            },
        )

    def encode(self, model: OneVsRest, options: SaveOptions) -> Part:
        """Return the part of a fitted classifier."""
        part = super().encode(model, options)
        flat = model.weights_
        for name in ("labels", "feature_ptr", "outputs", "bias"):
            part.arrays[name] = getattr(flat, name)
        part.arrays |= pack_values(flat.widened(), flat.feature_ptr, options.weights)
        return part

    def decode(self, part: Part) -> Any:
        """Check the weights and return the classifier, whose arrays stay mapped."""
        model = super().decode(part)
        check_flat_weights(part, model.n_labels_, model.n_features_in_)
        arrays = part.arrays
        weights = arrays["weights"]
        model.weights_ = FlatWeights(
            labels=arrays["labels"],
            feature_ptr=arrays["feature_ptr"],
            outputs=arrays["outputs"],
            weights=weights.view(np.uint16) if weights.dtype == np.float16 else weights,
            bias=arrays["bias"],
            scales=arrays.get("scales"),
        )
        return model
