"""Text vectorisers and text classifiers in a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._parameters import Int
from defrag.persistence._checks import check_finite, check_ints, check_length, check_size
from defrag.persistence._schema import Array, Child, Part, Schema
from defrag.persistence._strings import pack_strings, string_arrays, unpack_strings
from defrag.persistence.codecs._base import (
    MAX_COUNT,
    NOT_STORED,
    SEED,
    Codec,
    SaveOptions,
    Unfitted,
    stored_rules,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from defrag.text import TextClassifier, TextVectorizer

__all__ = ["TextClassifierCodec", "VectorizerCodec"]


class VectorizerCodec(Codec):
    """Codec of :class:`TextVectorizer`."""

    def __init__(self, estimator: type[TextVectorizer]) -> None:
        schema = Schema(
            parameters=stored_rules(estimator, estimator.parameter_rules),
            state={"n_words": Int(1, MAX_COUNT)},
            arrays={
                **string_arrays("words"),
                "word_feature": Array("int32"),
                "pairs": Array("int32"),
                "idf": Array("float32"),
            },
        )
        super().__init__(estimator, schema)

    def rebuild(self, parameters: Mapping[str, Any]) -> Any:
        """Return an unfitted vectoriser; lists become tuples, which JSON does not have."""
        characters = parameters["characters"]
        given = tuple(characters) if isinstance(characters, list) else characters
        return super().rebuild({**parameters, "characters": given})

    def encode(self, model: TextVectorizer, options: SaveOptions) -> Part:  # noqa: ARG002 - no weights
        """Return the part of a fitted vectoriser."""
        arrays = {
            **pack_strings("words", model.words_),
            "word_feature": model.word_feature_,
            "pairs": model.pairs_.ravel(),
            "idf": model.idf_,
        }
        return Part(self.parameters(model), {"n_words": len(model.words_)}, arrays)

    def summary(self, part: Part) -> dict[str, int]:
        """Return the number of features."""
        return {"features": len(part.arrays["idf"])}

    def decode(self, part: Part) -> Any:
        """Check that words, pairs and features match, and return the vectoriser."""
        n_words, n_features = part.state["n_words"], len(part.arrays["idf"])
        model = self.rebuild(part.parameters)
        model.words_ = unpack_strings(part, "words", n_words)
        check_length(part, "word_feature", n_words)
        feature = part.arrays["word_feature"]
        n_single = int(np.count_nonzero(feature >= 0))
        check_ints(part, "word_feature", -1, max(1, n_features))
        check_ints(part, "pairs", 0, n_words)
        check_length(part, "pairs", 2 * (n_features - n_single))
        check_finite(part, "idf", low=0)
        check_size(part, "idf")
        model.word_feature_, model.idf_ = feature, part.arrays["idf"]
        model.pairs_ = part.arrays["pairs"].reshape(-1, 2)
        try:
            model._prepare()
        except ValueError as error:
            part.fail(f"{part.name('words')}: {error}")
        return model


class TextClassifierCodec(Codec):
    """Codec of :class:`TextClassifier`: vectoriser, classifier, names of labels."""

    def __init__(self, estimator: type[TextClassifier]) -> None:
        rules = {
            **estimator.parameter_rules,
            "base": Unfitted(("classifier", "composite")),
            "vectorizer": Unfitted(("vectorizer",)),
            "random_state": SEED,
        }
        schema = Schema(
            # ``extra`` is a function, which cannot be stored.
            parameters={name: rules[name] for name in rules if name not in NOT_STORED},
            state={"n_labels": Int(1, MAX_COUNT), "n_extra": Int(0, MAX_COUNT)},
            arrays=string_arrays("label_names"),
            children={
                "base": Child(("classifier", "composite")),
                "vectorizer": Child(("vectorizer",)),
            },
        )
        super().__init__(estimator, schema)

    def encode(self, model: TextClassifier, options: SaveOptions) -> Part:  # noqa: ARG002 - the base has them
        """Return the part of a fitted classifier."""
        arrays = pack_strings("label_names", list(model.classes_))
        children = {"base": model.base_, "vectorizer": model.vectorizer_}
        state = {"n_labels": len(model.classes_), "n_extra": int(model.n_extra_)}
        return Part(self.parameters(model), state, arrays, children)

    def summary(self, part: Part) -> dict[str, int]:
        """Return the numbers of features and labels."""
        vectorizer = part.children["vectorizer"]
        features = len(vectorizer.arrays["idf"]) if isinstance(vectorizer, Part) else 0
        return {"features": features + part.state["n_extra"], "labels": part.state["n_labels"]}

    def decode(self, part: Part) -> Any:
        """Check that vectoriser and base match, and return the classifier."""
        model = self.rebuild(part.parameters)
        base, vectorizer = part.children["base"], part.children["vectorizer"]
        n_features = len(vectorizer.idf_) + part.state["n_extra"]
        for what, got, wanted in (
            ("features of its owner", base.n_features_in_, n_features),
            ("labels of its owner", base.n_labels_, part.state["n_labels"]),
        ):
            if got != wanted:
                part.fail(f"model '{part.prefix}base' must have the {what} ({wanted}), got {got}")
        names = unpack_strings(part, "label_names", part.state["n_labels"])
        model.classes_ = np.array(list(names), dtype=object)
        model.base_, model.vectorizer_ = base, vectorizer
        model.n_extra_ = part.state["n_extra"]
        return model
