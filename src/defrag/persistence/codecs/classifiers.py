"""Classifiers in a model file: label trees, one-vs-rest, and ensembles on agglomerated features.

A new ensemble of label trees, and a new one-vs-rest method, is one line of ``CLASSIFIER_CODECS``.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._native import FlatWeights, LabelTreeArrays
from defrag._parameters import Choice, Int
from defrag.classifiers import (
    PLT,
    Agglomerated,
    Bonsai,
    DiSMEC,
    LabelTree,
    Parabel,
    PPDSparse,
    ProXML,
)
from defrag.classifiers.label_trees._base import TrainedTree, TreeClassifier
from defrag.persistence._label_tree_checks import (
    check_label_tree,
    check_label_tree_weights,
    n_outputs,
)
from defrag.persistence._schema import Array, Child, Part, Schema
from defrag.persistence._strings import pack_strings, string_arrays, unpack_strings
from defrag.persistence._weight_checks import check_flat_weights
from defrag.persistence.codecs._base import SEED, Codec, SaveOptions, Unfitted, stored_rules
from defrag.persistence.codecs._classes import (
    CLASS_ARRAYS,
    CLASS_KIND,
    pack_classes,
    unpack_classes,
)
from defrag.persistence.codecs._tree_weights import WEIGHT_ARRAYS, pack_weights, unpack_weights
from defrag.persistence.codecs._weight_values import WEIGHT_TYPES, pack_values, unpack_values
from defrag.persistence.codecs.agglomeration import POOLING_CODECS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from defrag._parameters import Rule
    from defrag.classifiers._base import Classifier
    from defrag.classifiers.one_vs_rest._base import OneVsRest

__all__ = ["CLASSIFIER_CODECS", "AgglomeratedCodec", "ClassifierCodec", "TreeCodec", "TreesCodec"]

_MOST = 2**31 - 1


class TreeCodec(Codec):
    """Writes and reads one tree of an ensemble."""

    def __init__(self) -> None:
        shape = {field.name: Array("int32") for field in fields(LabelTreeArrays)}
        super().__init__(TrainedTree, Schema({}, arrays={**shape, **WEIGHT_ARRAYS}, inner=True))

    def encode(self, model: TrainedTree, options: SaveOptions) -> Part:
        """Turn a trained tree into a part."""
        names = (field.name for field in fields(LabelTreeArrays))
        shape = dict(zip(names, model.tree.parts(), strict=True))
        weights = pack_weights(model.tree, model.weights, options.weights)
        return Part(arrays={**shape, **weights})

    def decode(self, part: Part) -> TrainedTree:
        """Check the tree and give it; the ensemble knows how many labels and features it has."""
        check_label_tree(part, _MOST)
        entry_ptr = check_label_tree_weights(part, _MOST)
        tree = LabelTreeArrays(**{name.name: part.arrays[name.name]
                                  for name in fields(LabelTreeArrays)})  # fmt: skip
        widths = n_outputs(tree.n_children, tree.begin, tree.end)
        return TrainedTree(tree, unpack_weights(part.arrays, widths, entry_ptr))


class ClassifierCodec(Codec):
    """What every classifier stores: how many labels and features, the classes, the names.

    The number of labels alone makes a reader allocate nothing: a file may say that most of
    its labels are never predicted.
    """

    def __init__(
        self,
        estimator: type[Classifier],
        *,
        arrays: Mapping[str, Array] | None = None,
        children: Mapping[str, Child] | None = None,
        rules: Mapping[str, Rule] | None = None,
        state: Mapping[str, Rule] | None = None,
    ) -> None:
        known = {
            **estimator._rules,  # noqa: SLF001 - the codec is a friend of the class
            "random_state": SEED,
            **(rules or {}),
        }
        schema = Schema(
            parameters=stored_rules(estimator, known),
            state={
                "n_labels": Int(1, _MOST),
                "n_features": Int(1, _MOST),
                "dense_answers": Choice((True, False)),
                "classes": CLASS_KIND,
                **(state or {}),
            },
            arrays={
                **CLASS_ARRAYS,
                **string_arrays("feature_names", optional=True),
                **string_arrays("label_names", optional=True),
                **string_arrays("vocabulary", optional=True),
                **(arrays or {}),
            },
            children=children or {},
        )
        super().__init__(estimator, schema)

    def encode(self, model: Classifier, options: SaveOptions) -> Part:  # noqa: ARG002 - of trees
        """Turn what all classifiers have into a part."""
        kind, arrays = pack_classes(None if model.multilabel_ else model.classes_)
        names = {
            "feature_names": getattr(model, "feature_names_in_", None),
            "label_names": model.label_names_,
            "vocabulary": model.vocabulary_,
        }
        for name, strings in names.items():
            if strings is not None:
                arrays |= pack_strings(name, strings)
        state = {
            "n_labels": int(model.n_labels_),
            "n_features": int(model.n_features_in_),
            "dense_answers": bool(model.dense_answers_),
            "classes": kind,
        }
        return Part(self.parameters(model), state, arrays)

    def summary(self, part: Part) -> dict[str, int]:
        """Give the numbers of labels and features."""
        return {"features": part.state["n_features"], "labels": part.state["n_labels"]}

    def decode(self, part: Part) -> Any:
        """Give the classifier without what it has learnt beyond classes and names."""
        n_labels, n_features = part.state["n_labels"], part.state["n_features"]
        model = self.rebuild(part.parameters)
        model.n_labels_, model.n_features_in_ = n_labels, n_features
        model.dense_answers_ = part.state["dense_answers"]
        model.multilabel_ = part.state["classes"] == "ids"
        model.class_names_ = unpack_classes(part, n_labels)
        model.label_names_ = model.vocabulary_ = None
        if part.has("label_names/bytes"):
            model.label_names_ = unpack_strings(part, "label_names", n_labels)
        if part.has("vocabulary/bytes"):
            model.vocabulary_ = unpack_strings(part, "vocabulary", n_features)
        if part.has("feature_names/bytes"):
            names = unpack_strings(part, "feature_names", n_features)
            model.feature_names_in_ = np.array(list(names), dtype=object)
        return model


class TreesCodec(ClassifierCodec):
    """Writes and reads any ensemble of label trees."""

    def __init__(self, estimator: type[TreeClassifier]) -> None:
        super().__init__(estimator, children={"trees": Child(("tree",), many=True)})

    def encode(self, model: TreeClassifier, options: SaveOptions) -> Part:
        """Turn a fitted ensemble into a part."""
        part = super().encode(model, options)
        part.children = {"trees": list(model.trees_)}
        return part

    def decode(self, part: Part) -> Any:
        """Check that the trees are about these labels and features, and give the ensemble."""
        trees: list[TrainedTree] = part.children["trees"]
        if not trees:
            part.fail(f"children '{part.prefix}trees' must be at least one, got none")
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


class OneVsRestCodec(ClassifierCodec):
    """Writes and reads any one-vs-rest model; int8 weights have one scale per feature."""

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
        """Turn a fitted classifier into a part."""
        part = super().encode(model, options)
        flat = model.weights_
        for name in ("labels", "feature_ptr", "outputs", "bias"):
            part.arrays[name] = getattr(flat, name)
        part.arrays |= pack_values(flat.weights, flat.feature_ptr, options.weights)
        return part

    def decode(self, part: Part) -> Any:
        """Check the weights and give the classifier; all but small weights stay mapped."""
        model = super().decode(part)
        check_flat_weights(part, model.n_labels_, model.n_features_in_)
        arrays = part.arrays
        model.weights_ = FlatWeights(
            labels=arrays["labels"],
            feature_ptr=arrays["feature_ptr"],
            outputs=arrays["outputs"],
            weights=unpack_values(arrays, arrays["feature_ptr"]),
            bias=arrays["bias"],
        )
        return model


class AgglomeratedCodec(ClassifierCodec):
    """Writes and reads :class:`Agglomerated`: its fitted pairs, and what they were cloned from."""

    def __init__(self, bases: Mapping[str, Codec], kinds: tuple[str, ...]) -> None:
        super().__init__(
            Agglomerated,
            children={
                "agglomerations": Child(tuple(POOLING_CODECS), many=True),
                "bases": Child(kinds, many=True),
            },
            rules={"base": Unfitted(bases), "agglomeration": Unfitted(POOLING_CODECS)},
        )

    def encode(self, model: Agglomerated, options: SaveOptions) -> Part:
        """Turn a fitted ensemble into a part."""
        part = super().encode(model, options)
        part.children = {
            "agglomerations": [groups for groups, _ in model.members_],
            "bases": [base for _, base in model.members_],
        }
        return part

    def decode(self, part: Part) -> Any:
        """Check that the members fit together, and give the ensemble."""
        poolings, bases = part.children["agglomerations"], part.children["bases"]
        if len(poolings) != len(bases) or not bases:
            part.fail(f"children '{part.prefix}agglomerations' and 'bases' must be as many, at "
                      f"least one, got {len(poolings)} and {len(bases)}")  # fmt: skip
        model = super().decode(part)
        for number, (groups, base) in enumerate(zip(poolings, bases, strict=True)):
            for what, got, wanted in (
                (f"agglomerations/{number}' must have the features", groups.n_features_in_,
                 model.n_features_in_),
                (f"bases/{number}' must have the groups", base.n_features_in_, groups.n_clusters_),
                (f"bases/{number}' must have the labels", base.n_labels_, model.n_labels_),
            ):  # fmt: skip
                if got != wanted:
                    part.fail(f"model '{part.prefix}{what} of its ensemble ({wanted}), got {got}")
        model.members_ = list(zip(poolings, bases, strict=True))
        return model


CLASSIFIER_CODECS: dict[str, Codec] = {
    "label_tree": TreesCodec(LabelTree),
    "parabel": TreesCodec(Parabel),
    "bonsai": TreesCodec(Bonsai),
    "plt": TreesCodec(PLT),
    "dismec": OneVsRestCodec(DiSMEC),
    "ppd_sparse": OneVsRestCodec(PPDSparse),
    "proxml": OneVsRestCodec(ProXML),
}
"""The classifiers that stand on their own."""
