"""Forests over points in a model file.

Nodes are breadth first, so that the number of children of each says which nodes they are;
pointers are sizes. Weights, slots, values and outputs stay mapped; what is derived takes a few
bytes per node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._native import Forest
from defrag.persistence._forest_checks import (
    check_forest_shape,
    check_leaves,
    check_rising_ids,
    check_routing,
)
from defrag.persistence._label_tree_checks import offsets
from defrag.persistence._schema import Array, Part
from defrag.persistence.codecs._weight_values import WEIGHT_TYPES, pack_values, unpack_values
from defrag.persistence.codecs.classifiers import ClassifierCodec

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag.classifiers.forests._base import ForestClassifier
    from defrag.persistence.codecs._base import SaveOptions

__all__ = ["ForestCodec"]

_SIZES = ("uint16", "uint32")
_IDS = ("uint16", "int32")


class ForestCodec(ClassifierCodec):
    """Writes and reads forests of binary trees; int8 weights have one scale per separator."""

    def __init__(self, estimator: type[ForestClassifier]) -> None:
        super().__init__(
            estimator,
            arrays={
                "tree_ptr": Array("int64"),
                "n_children": Array("uint8"),
                "features": Array("int32"),
                "sizes": Array(_SIZES),
                "slots": Array(_IDS),
                "weights": Array(WEIGHT_TYPES),
                "scales": Array("float32", group="scales"),
                "bias": Array("float32", group="bias"),
                "labels": Array("int32"),
                "leaf_sizes": Array(_SIZES),
                "outputs": Array(_IDS),
                "values": Array("float32"),
            },
        )

    def encode(self, model: ForestClassifier, options: SaveOptions) -> Part:
        """Turn a fitted forest into a part."""
        part = super().encode(model, options)
        forest = model.forest_
        leaves = forest.n_children == 0
        for name in ("tree_ptr", "features", "slots", "bias", "labels", "outputs", "values"):
            part.arrays[name] = getattr(forest, name)
        part.arrays["n_children"] = forest.n_children.astype(np.uint8)
        part.arrays["sizes"] = _narrow(np.diff(forest.entry_ptr))
        part.arrays["leaf_sizes"] = _narrow(np.diff(forest.leaf_ptr)[leaves])
        part.arrays |= pack_values(forest.weights, forest.entry_ptr, options.weights)
        return part

    def decode(self, part: Part) -> Any:
        """Check the forest and return the classifier."""
        model = super().decode(part)
        arrays = part.arrays
        first_child = check_forest_shape(part, binary=True)
        inner = arrays["n_children"] > 0
        check_rising_ids(part, "features", model.n_features_in_)
        n_rows = int(np.count_nonzero(inner))
        entry_ptr = check_routing(part, n_rows, len(arrays["features"]), biased=True)
        leaf_ptr = check_leaves(part, len(inner) - n_rows, model.n_labels_)
        model.forest_ = Forest(
            tree_ptr=arrays["tree_ptr"],
            first_child=first_child,
            n_children=arrays["n_children"].astype(np.int32),
            row_ptr=offsets(inner.astype(np.uint8)),
            entry_ptr=entry_ptr,
            features=arrays["features"],
            slots=arrays["slots"],
            weights=unpack_values(arrays, entry_ptr),
            bias=arrays["bias"],
            leaf_ptr=leaf_ptr[offsets((~inner).astype(np.uint8))],
            labels=arrays["labels"],
            outputs=arrays["outputs"],
            values=arrays["values"],
        )
        return model


def _narrow(sizes: NDArray[np.int64]) -> NDArray[Any]:
    return sizes.astype(np.uint16 if int(sizes.max(initial=0)) < 2**16 else np.uint32)
