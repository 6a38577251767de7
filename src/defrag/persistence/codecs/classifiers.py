"""Base classes of the codecs of classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._parameters import Choice, Int
from defrag._validation import Names
from defrag.classifiers._calibrated import Calibration
from defrag.persistence._checks import check_finite, check_length
from defrag.persistence._schema import Array, Child, Part, Schema
from defrag.persistence._strings import pack_strings, string_arrays, unpack_strings
from defrag.persistence.codecs._base import MAX_COUNT, SEED, Codec, SaveOptions, stored_rules
from defrag.persistence.codecs._classes import (
    CLASS_ARRAYS,
    CLASS_KIND,
    pack_classes,
    unpack_classes,
)
from defrag.persistence.codecs._feature_names import (
    FEATURE_NAMES,
    pack_feature_names,
    unpack_feature_names,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from defrag._parameters import Rule
    from defrag.classifiers._base import Classifier

__all__ = ["ClassifierCodec", "CompositeCodec"]


class ClassifierCodec(Codec):
    """Base class of codecs of classifiers: numbers of labels and features, classes, names.

    A reader must not allocate memory in proportion to the number of labels alone, which a hostile
    file chooses.
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
            **estimator.parameter_rules,
            "random_state": SEED,
            **(rules or {}),
        }
        schema = Schema(
            parameters=stored_rules(estimator, known),
            state={
                "n_labels": Int(1, MAX_COUNT),
                "n_features": Int(1, MAX_COUNT),
                "dense_answers": Choice((True, False)),
                "classes": CLASS_KIND,
                **(state or {}),
            },
            arrays={
                **CLASS_ARRAYS,
                "calibration/scores": Array("float64", group="calibration"),
                "calibration/probabilities": Array("float64", group="calibration"),
                **FEATURE_NAMES,
                **string_arrays("label_names", optional=True),
                **string_arrays("vocabulary", optional=True),
                **(arrays or {}),
            },
            children=children or {},
        )
        super().__init__(estimator, schema)

    def encode(self, model: Classifier, options: SaveOptions) -> Part:  # noqa: ARG002 - of trees
        """Return the part with the content that all classifiers share."""
        kind, arrays = pack_classes(model.class_names_, multilabel=model.multilabel_)
        arrays |= pack_feature_names(model)
        names = {"label_names": model.label_names_, "vocabulary": model.vocabulary_}
        for name, strings in names.items():
            # Names that came with the training labels are stored as classes.
            if strings is not None and not (name == "label_names" and _are_classes(model)):
                arrays |= pack_strings(name, strings)
        calibration = getattr(model, "calibration_", None)
        if calibration is not None:
            arrays["calibration/scores"] = calibration.scores
            arrays["calibration/probabilities"] = calibration.probabilities
        state = {
            "n_labels": int(model.n_labels_),
            "n_features": int(model.n_features_in_),
            "dense_answers": bool(model.dense_answers_),
            "classes": kind,
        }
        return Part(self.parameters(model), state, arrays)

    def summary(self, part: Part) -> dict[str, int]:
        """Return the numbers of labels and features."""
        return {"features": part.state["n_features"], "labels": part.state["n_labels"]}

    def decode(self, part: Part) -> Any:
        """Return the classifier with its classes and names."""
        n_labels, n_features = part.state["n_labels"], part.state["n_features"]
        model = self.rebuild(part.parameters)
        model.n_labels_, model.n_features_in_ = n_labels, n_features
        model.dense_answers_ = part.state["dense_answers"]
        model.multilabel_ = part.state["classes"] in {"ids", "names"}
        model.class_names_ = unpack_classes(part, n_labels)
        named = model.multilabel_ and model.class_names_ is not None
        model.label_names_ = Names(model.class_names_) if named else None
        model.vocabulary_ = None
        model.calibration_ = _unpack_calibration(part)
        if part.has("label_names/bytes"):
            model.label_names_ = unpack_strings(part, "label_names", n_labels)
        if part.has("vocabulary/bytes"):
            model.vocabulary_ = unpack_strings(part, "vocabulary", n_features)
        unpack_feature_names(part, model)
        return model


def _are_classes(model: Classifier) -> bool:
    """Return whether the label names came with the training labels."""
    names = model.label_names_
    return isinstance(names, Names) and names.names is model.class_names_


def _unpack_calibration(part: Part) -> Calibration | None:
    names = "calibration/scores", "calibration/probabilities"
    if not part.has(names[0]):
        return None
    check_length(part, names[1], len(part.arrays[names[0]]))
    for name in names:
        values = part.arrays[name]
        if not len(values):
            part.fail(f"{part.name(name)} must have at least one item, got none")
        check_finite(part, name)
        if values.min() < 0 or values.max() > 1 or (np.diff(values) < 0).any():
            part.fail(f"{part.name(name)} must increase within [0, 1]")
    return Calibration(*(np.array(part.arrays[name]) for name in names))


class CompositeCodec(ClassifierCodec):
    """Base class of codecs of composites, whose child ``base`` is a classifier."""

    def check_base(self, part: Part, model: Any) -> None:
        """Check that the base has the same features and labels, and set it."""
        base = part.children["base"]
        for what, got, wanted in (
            ("features", base.n_features_in_, model.n_features_in_),
            ("labels", base.n_labels_, model.n_labels_),
        ):
            if got != wanted:
                part.fail(f"model '{part.prefix}base' must have the {what} of its owner "
                          f"({wanted}), got {got}")  # fmt: skip
        model.base_ = base
