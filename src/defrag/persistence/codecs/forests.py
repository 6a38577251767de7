"""Forests over points in a model file.

Nodes are numbered breadth first, so that the numbers of children determine the tree; pointers
are stored as sizes. Weights, slots, values and outputs stay mapped; derived arrays take a few
bytes per node.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._native import FULL_HASH, FeatureHash, Forest, Prototypes, narrow
from defrag._parameters import Int
from defrag.persistence._checks import (
    check_finite,
    check_increasing,
    check_increasing_ids,
    check_length,
)
from defrag.persistence._forest_checks import (
    check_centroids,
    check_forest_shape,
    check_leaves,
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

    from defrag._parameters import Rule
    from defrag.baselines.forests import CRAFTML, FastXML, ForestClassifier, PfastreXML
    from defrag.persistence.codecs._base import SaveOptions
    from defrag.typing import Offsets

__all__ = ["CRAFTMLCodec", "FastXMLCodec", "PfastreXMLCodec"]

_SIZES = ("uint16", "uint32")
_IDS = ("uint16", "int32")


class ForestCodec(ClassifierCodec):
    """Base class of codecs of forests; int8 weights have one scale per inner node."""

    binary: bool

    def __init__(
        self,
        estimator: type[ForestClassifier],
        *,
        arrays: Mapping[str, Array],
        state: Mapping[str, Rule] | None = None,
    ) -> None:
        super().__init__(
            estimator,
            arrays={
                "tree_ptr": Array("int64"),
                "n_children": Array("uint8"),
                "sizes": Array(_SIZES),
                "slots": Array(_IDS),
                "weights": Array(WEIGHT_TYPES),
                "scales": Array("float32", group="scales"),
                "labels": Array("int32"),
                "leaf_sizes": Array(_SIZES),
                "outputs": Array(_IDS),
                "values": Array("float32"),
                **arrays,
            },
            state=state,
        )

    def encode(self, model: ForestClassifier, options: SaveOptions) -> Part:
        """Return the part of a fitted forest."""
        part = super().encode(model, options)
        forest = model.forest_
        inner = forest.n_children > 0
        for name in ("tree_ptr", "slots", "labels", "outputs", "values"):
            part.arrays[name] = getattr(forest, name)
        part.arrays["n_children"] = forest.n_children.astype(np.uint8)
        entry_ptr = np.append(forest.entry_ptr[:-1][inner], forest.entry_ptr[-1])
        part.arrays["sizes"] = _narrow(np.diff(entry_ptr))
        part.arrays["leaf_sizes"] = _narrow(np.diff(forest.leaf_ptr)[~inner])
        part.arrays |= pack_values(forest.weights, entry_ptr, options.weights)
        return part

    def decode(self, part: Part) -> Any:
        """Check the forest and return the classifier."""
        model = super().decode(part)
        arrays = part.arrays
        first_child = check_forest_shape(part, binary=self.binary)
        inner = np.asarray(arrays["n_children"] > 0)
        n_inner = int(np.count_nonzero(inner))
        entry_ptr = check_rows(part, n_inner, self.n_slots(part, model))
        leaf_ptr = check_leaves(part, len(inner) - n_inner, model.n_labels_)
        model.forest_ = Forest(
            tree_ptr=arrays["tree_ptr"],
            first_child=first_child,
            n_children=arrays["n_children"].astype(np.int32),
            entry_ptr=entry_ptr[offsets(inner.astype(np.uint8))],
            slots=arrays["slots"],
            weights=unpack_values(arrays, entry_ptr),
            leaf_ptr=leaf_ptr[offsets((~inner).astype(np.uint8))],
            labels=arrays["labels"],
            outputs=arrays["outputs"],
            values=arrays["values"],
            **self.routing(part, inner, entry_ptr),
        )
        return model

    @abstractmethod
    def n_slots(self, part: Part, model: ForestClassifier) -> int:
        """Check the meaning of the slots and return their number."""

    @abstractmethod
    def routing(self, part: Part, inner: NDArray[np.bool_], entry_ptr: Offsets) -> dict[str, Any]:
        """Check the entries of inner nodes and return the fields that depend on their kind."""


class FastXMLCodec(ForestCodec):
    """Codec of forests of binary trees with separators."""

    binary = True

    def __init__(
        self, estimator: type[FastXML], *, arrays: Mapping[str, Array] | None = None
    ) -> None:
        super().__init__(
            estimator,
            arrays={"features": Array("int32"), "bias": Array("float32"), **(arrays or {})},
        )

    def encode(self, model: ForestClassifier, options: SaveOptions) -> Part:
        """Return the part of a fitted forest."""
        part = super().encode(model, options)
        part.arrays["features"] = model.forest_.features
        part.arrays["bias"] = model.forest_.bias[model.forest_.n_children > 0]
        return part

    def n_slots(self, part: Part, model: ForestClassifier) -> int:
        """Check the features that are used and return their number."""
        check_increasing_ids(part, "features", model.n_features_in_)
        return len(part.arrays["features"])

    def routing(self, part: Part, inner: NDArray[np.bool_], entry_ptr: Offsets) -> dict[str, Any]:
        """Check the separators and return them."""
        check_increasing(part, "slots", entry_ptr)
        check_length(part, "bias", len(entry_ptr) - 1)
        check_finite(part, "bias")
        bias = np.zeros(len(inner), dtype=np.float32)
        bias[inner] = part.arrays["bias"]
        children = np.zeros(0, dtype=np.uint8)
        return {"features": part.arrays["features"], "children": children, "bias": bias}


class PfastreXMLCodec(FastXMLCodec):
    """Codec of :class:`PfastreXML`; int8 prototypes have one scale each."""

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
        """Return the part of a fitted forest and its prototypes."""
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
        check_increasing(part, "prototypes/slots", prototype_ptr)
        slots = arrays["prototypes/slots"]
        if slots.dtype != forest.slots.dtype:
            part.fail(f"{part.name('prototypes/slots')} must be {forest.slots.dtype.name} like "
                      f"those of the trees, got {slots.dtype.name}")  # fmt: skip
        values = unpack_values(arrays, prototype_ptr, prefix="prototypes/")
        model.prototypes_ = Prototypes.of(prototype_ptr, slots, values, arrays["label_weights"])
        return model


class CRAFTMLCodec(ForestCodec):
    """Codec of forests of hashed features whose nodes have centroids."""

    binary = False

    def __init__(self, estimator: type[CRAFTML]) -> None:
        super().__init__(
            estimator,
            arrays={"children": Array("uint8"), "hash_keys": Array("uint64")},
            state={
                "n_buckets": estimator.parameter_rules["n_buckets"],
                "n_kept": Int(1, FULL_HASH),
            },
        )

    def encode(self, model: ForestClassifier, options: SaveOptions) -> Part:
        """Return the part of a fitted forest."""
        part = super().encode(model, options)
        forest = model.forest_
        if forest.hash is None:
            raise ValueError("the features of CRAFTML must be hashed")
        part.arrays["children"] = forest.children
        part.arrays["hash_keys"] = forest.hash.keys
        part.state |= {"n_buckets": forest.hash.n_buckets, "n_kept": forest.hash.n_kept}
        return part

    def n_slots(self, part: Part, model: ForestClassifier) -> int:  # noqa: ARG002 - any number
        """Check the type of the buckets and return their number."""
        n_buckets: int = part.state["n_buckets"]
        slots = part.arrays["slots"]
        wanted = narrow(slots[:0], n_buckets).dtype
        if slots.dtype != wanted:
            part.fail(f"{part.name('slots')} must be {wanted.name} for {n_buckets} buckets, got "
                      f"{slots.dtype.name}")  # fmt: skip
        check_length(part, "hash_keys", len(part.arrays["tree_ptr"]) - 1)
        return n_buckets

    def routing(self, part: Part, inner: NDArray[np.bool_], entry_ptr: Offsets) -> dict[str, Any]:
        """Check the centroids and return them."""
        check_centroids(part, entry_ptr, part.arrays["n_children"][inner])
        return {
            "features": np.zeros(0, dtype=np.int32),
            "children": part.arrays["children"],
            "bias": np.zeros(0, dtype=np.float32),
            "hash": FeatureHash(
                part.arrays["hash_keys"], part.state["n_buckets"], part.state["n_kept"]
            ),
        }


def _narrow(sizes: NDArray[np.int64]) -> NDArray[Any]:
    return sizes.astype(np.uint16 if int(sizes.max(initial=0)) < 2**16 else np.uint32)
