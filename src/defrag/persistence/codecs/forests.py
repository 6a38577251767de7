"""Forests over points in a model file.

Nodes are breadth first, so that the number of children of each says which nodes they are;
pointers are sizes. Weights, slots, values and outputs stay mapped; what is derived takes a few
bytes per node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._native import Forest, Prototypes
from defrag.persistence._checks import check_length
from defrag.persistence._forest_checks import (
    check_forest_shape,
    check_leaves,
    check_rising_ids,
    check_routing,
    check_rows,
    check_shares,
)
from defrag.persistence._label_tree_checks import offsets
from defrag.persistence._schema import Array, Part
from defrag.persistence.codecs._weight_values import WEIGHT_TYPES, pack_values, unpack_values
from defrag.persistence.codecs.classifiers import ClassifierCodec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from defrag.classifiers.forests import PfastreXML
    from defrag.classifiers.forests._base import ForestClassifier
    from defrag.persistence.codecs._base import SaveOptions

__all__ = ["ForestCodec", "PfastreXMLCodec"]

_SIZES = ("uint16", "uint32")
_IDS = ("uint16", "int32")


class ForestCodec(ClassifierCodec):
    """Writes and reads forests of binary trees; int8 weights have one scale per separator."""

    def __init__(
        self, estimator: type[ForestClassifier], *, arrays: Mapping[str, Array] | None = None
    ) -> None:
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
                **(arrays or {}),
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


class PfastreXMLCodec(ForestCodec):
    """Writes and reads :class:`PfastreXML`; int8 prototypes have one scale each."""

    def __init__(self, estimator: type[PfastreXML]) -> None:
        super().__init__(
            estimator,
            arrays={
                "label_weights": Array("float32"),
                "prototypes/sizes": Array(_SIZES),
                "prototypes/slots": Array(_IDS),
                "prototypes/weights": Array(WEIGHT_TYPES),
                "prototypes/scales": Array("float32", group="prototype scales"),
            },
        )

    def encode(self, model: PfastreXML, options: SaveOptions) -> Part:
        """Turn a fitted forest and its prototypes into a part."""
        part = super().encode(model, options)
        found = model.prototypes_
        part.arrays["label_weights"] = found.label_weights
        part.arrays["prototypes/sizes"] = _narrow(np.diff(found.prototype_ptr))
        part.arrays["prototypes/slots"] = found.slots
        part.arrays |= pack_values(
            found.values, found.prototype_ptr, options.weights, prefix="prototypes/"
        )
        return part

    def decode(self, part: Part) -> Any:
        """Check forest and prototypes and return the classifier."""
        model = super().decode(part)
        forest, arrays = model.forest_, part.arrays
        n_labels = len(forest.labels)
        check_length(part, "label_weights", n_labels)
        check_shares(part, "label_weights")
        prototype_ptr = check_rows(part, n_labels, len(forest.features), prefix="prototypes/")
        slots = arrays["prototypes/slots"]
        if slots.dtype != forest.slots.dtype:
            part.fail(f"{part.name('prototypes/slots')} must be {forest.slots.dtype.name} like "
                      f"those of the trees, got {slots.dtype.name}")  # fmt: skip
        values = unpack_values(arrays, prototype_ptr, prefix="prototypes/")
        model.prototypes_ = Prototypes.of(prototype_ptr, slots, values, arrays["label_weights"])
        return model


def _narrow(sizes: NDArray[np.int64]) -> NDArray[Any]:
    return sizes.astype(np.uint16 if int(sizes.max(initial=0)) < 2**16 else np.uint32)
