"""Focus, and classifiers on focused points, in a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from defrag._parameters import Int
from defrag.focusing import LEAST_AUTO, MOST_AUTO
from defrag.persistence._checks import check_finite, check_length, check_size
from defrag.persistence._schema import Array, Child, Part, Schema
from defrag.persistence.codecs._base import (
    MAX_COUNT,
    SEED,
    Codec,
    SaveOptions,
    Unfitted,
    stored_rules,
)
from defrag.persistence.codecs._feature_names import (
    FEATURE_NAMES,
    pack_feature_names,
    unpack_feature_names,
)
from defrag.persistence.codecs.classifiers import CompositeCodec

if TYPE_CHECKING:
    from defrag.focusing import Focus, Focused

__all__ = ["FocusCodec", "FocusedCodec"]


class FocusCodec(Codec):
    """Codec of :class:`Focus`."""

    def __init__(self, estimator: type[Focus]) -> None:
        schema = Schema(
            parameters=stored_rules(estimator, {**estimator.parameter_rules, "random_state": SEED}),
            state={"n_features": Int(1, MAX_COUNT), "auto_budget": Int(LEAST_AUTO, MOST_AUTO)},
            arrays={
                "importance": Array("float32"),
                "factor": Array("float32"),
                **FEATURE_NAMES,
            },
        )
        super().__init__(estimator, schema)

    def encode(self, model: Focus, options: SaveOptions) -> Part:  # noqa: ARG002 - no weights
        """Return the part of a fitted focus."""
        arrays: dict[str, Any] = {"importance": model.importance_, "factor": model.factor_}
        arrays |= pack_feature_names(model)
        state = {"n_features": int(model.n_features_in_), "auto_budget": model.auto_budget_}
        return Part(self.parameters(model), state, arrays)

    def summary(self, part: Part) -> dict[str, int]:
        """Return the number of features."""
        return {"features": part.state["n_features"]}

    def decode(self, part: Part) -> Any:
        """Check the arrays and return the focus."""
        model = self.rebuild(part.parameters)
        model.n_features_in_ = part.state["n_features"]
        model.auto_budget_ = part.state["auto_budget"]
        for name in ("importance", "factor"):
            check_length(part, name, model.n_features_in_)
            check_finite(part, name, low=0)
            check_size(part, name)
        model.importance_, model.factor_ = part.arrays["importance"], part.arrays["factor"]
        unpack_feature_names(part, model)
        return model


class FocusedCodec(CompositeCodec):
    """Codec of :class:`Focused`."""

    def __init__(self, estimator: type[Focused]) -> None:
        super().__init__(
            estimator,
            children={"base": Child(("classifier", "composite")), "focus": Child(("focus",))},
            rules={"base": Unfitted(("classifier", "composite")), "focus": Unfitted(("focus",))},
        )

    def encode(self, model: Focused, options: SaveOptions) -> Part:
        """Return the part of a fitted classifier."""
        part = super().encode(model, options)
        part.children = {"base": model.base_, "focus": model.focus_}
        return part

    def decode(self, part: Part) -> Any:
        """Check that focus and base match, and return the classifier."""
        model = super().decode(part)
        self.check_base(part, model)
        model.focus_ = part.children["focus"]
        wanted, got = model.n_features_in_, model.focus_.n_features_in_
        if got != wanted:
            part.fail(f"model '{part.prefix}focus' must have the features of its owner "
                      f"({wanted}), got {got}")  # fmt: skip
        return model
