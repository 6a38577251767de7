"""Label trees in a model file."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

from defrag._native import LabelTreeArrays
from defrag.classifiers.label_tree import TrainedTree, TreeClassifier
from defrag.persistence._label_tree_checks import (
    check_label_tree,
    check_label_tree_weights,
    n_outputs,
)
from defrag.persistence._schema import Array, Child, Part, Schema
from defrag.persistence.codecs._base import MAX_COUNT, Codec, SaveOptions
from defrag.persistence.codecs._tree_weights import WEIGHT_ARRAYS, pack_weights, unpack_weights
from defrag.persistence.codecs.classifiers import ClassifierCodec

__all__ = ["TreeCodec", "TreesCodec"]

MAX_FEATURES = 2**26 - 1
"""Limit of training. Prediction allocates memory for each feature, even if no tree uses it."""


class TreeCodec(Codec):
    """Codec of one tree of an ensemble."""

    def __init__(self) -> None:
        shape = {field.name: Array("int32") for field in fields(LabelTreeArrays)}
        super().__init__(TrainedTree, Schema({}, arrays={**shape, **WEIGHT_ARRAYS}, inner=True))

    def encode(self, model: TrainedTree, options: SaveOptions) -> Part:
        """Return the part of a trained tree."""
        shape = {field.name: getattr(model.tree, field.name) for field in fields(LabelTreeArrays)}
        weights = pack_weights(model.tree, model.weights, options.weights)
        return Part(arrays={**shape, **weights})

    def decode(self, part: Part) -> TrainedTree:
        """Check the tree and return it; the ensemble checks its labels and features."""
        check_label_tree(part, MAX_COUNT)
        starts = check_label_tree_weights(part, MAX_COUNT)
        tree = LabelTreeArrays(**{name.name: part.arrays[name.name]
                                  for name in fields(LabelTreeArrays)})  # fmt: skip
        widths = n_outputs(tree.n_children, tree.begin, tree.end)
        return TrainedTree(tree, unpack_weights(part.arrays, widths, starts))


class TreesCodec(ClassifierCodec):
    """Codec of any ensemble of label trees."""

    parts: ClassVar[dict[str, Codec]] = {"tree": TreeCodec()}

    def __init__(self, estimator: type[TreeClassifier]) -> None:
        super().__init__(estimator, children={"trees": Child(part="tree", many=True)})

    def encode(self, model: TreeClassifier, options: SaveOptions) -> Part:
        """Return the part of a fitted ensemble."""
        part = super().encode(model, options)
        part.children = {"trees": list(model.trees_)}
        return part

    def decode(self, part: Part) -> Any:
        """Check that the trees match the labels and features, and return the ensemble."""
        trees: list[TrainedTree] = part.children["trees"]
        if not trees:
            part.fail(f"children '{part.prefix}trees' must be at least one, got none")
        if part.state["n_features"] > MAX_FEATURES:
            part.fail(f"n_features of a label tree must be at most {MAX_FEATURES}, got "
                      f"{part.state['n_features']}")  # fmt: skip
        model = super().decode(part)
        for number, one in enumerate(trees):
            for name, ids, bound in (
                ("order", one.tree.order, model.n_labels_),
                ("features", one.weights.features, model.n_features_in_),
            ):
                largest = int(ids.max(initial=0))
                if largest >= bound:
                    part.fail(f"{part.name(f'trees/{number}/{name}')} must be in [0, {bound}), "
                              f"got {largest}")  # fmt: skip
        model.trees_ = trees
        return model
