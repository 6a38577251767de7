"""Imputation, and classifiers that impute, in a model file.

The layout of blocks is derived from the groups, so that checking the groups covers it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from defrag._native import GroupLayout, csr_from_parts
from defrag._parameters import Int
from defrag.agglomeration.co_occurrence import CoOccurrence
from defrag.imputation import Companions, Fiat, MissingRule
from defrag.persistence._checks import check_csr, check_ints, check_length, check_size
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
    from defrag.imputation import Imputed

__all__ = ["FiatCodec", "ImputedCodec"]


class BlocksCodec(Codec):
    """Codec of the blocks of one clustering."""

    def __init__(self) -> None:
        arrays = {"groups": Array("int32"), "entries": Array("float32")}
        super().__init__(_Blocks, Schema({}, arrays=arrays, inner=True))

    def encode(self, model: _Blocks, options: SaveOptions) -> Part:  # noqa: ARG002 - no weights
        """Return the part of blocks."""
        return Part(arrays={"groups": model.layout.groups, "entries": model.entries})

    def decode(self, part: Part) -> _Blocks:
        """Check groups and entries, and return the blocks."""
        groups = part.arrays["groups"]
        # Group ids are below the number of features, which bounds the allocation.
        check_ints(part, "groups", -1, max(1, len(groups)))
        layout = GroupLayout.of(groups, int(groups.max(initial=-1)) + 1)
        check_length(part, "entries", int(layout.entry_ptr[-1]))
        check_size(part, "entries")
        return _Blocks(layout, part.arrays["entries"])


class _Blocks:
    """The blocks of one clustering, as a part of a model."""

    def __init__(self, layout: GroupLayout, entries: Any) -> None:
        self.layout = layout
        self.entries = entries


class FiatCodec(Codec):
    """Codec of :class:`Fiat`; clusterings that were passed fitted are not stored."""

    parts: ClassVar[dict[str, Codec]] = {"blocks": BlocksCodec()}

    def __init__(self, estimator: type[Fiat]) -> None:
        rules = {
            **estimator.parameter_rules,
            "agglomeration": Unfitted(("clustering",)),
            "random_state": SEED,
        }
        schema = Schema(
            parameters=stored_rules(estimator, rules),
            state={"n_features": Int(1, MAX_COUNT), "usual_size": Int(0, MAX_COUNT)},
            arrays={
                "rule/coefficients": Array("float64", group="rule"),
                "rule/log_sizes": Array("float32", group="rule"),
                "companions/indptr": Array("int64", group="companions"),
                "companions/indices": Array("int32", group="companions"),
                "companions/data": Array("float32", group="companions"),
                **FEATURE_NAMES,
            },
            children={"blocks": Child(part="blocks", many=True)},
        )
        super().__init__(estimator, schema)

    def parameters(self, model: Fiat) -> dict[str, Any]:
        """Return the parameters, without groups that were passed, which are data."""
        if not model.prefit:
            return super().parameters(model)
        given = {"agglomeration": None, "prefit": False, "companions": None}
        plain = Fiat(**{**model.get_params(deep=False), **given})
        return super().parameters(plain)

    def encode(self, model: Fiat, options: SaveOptions) -> Part:  # noqa: ARG002 - no weights
        """Return the part of a fitted imputation."""
        arrays: dict[str, Any] = {}
        blocks: list[_Blocks] = []
        if model.rule_ is not None:
            arrays["rule/coefficients"] = model.rule_.coefficients
            arrays["rule/log_sizes"] = model.rule_.log_sizes
        related = model.co_occurrence_
        if isinstance(related, Companions):
            arrays |= {
                "companions/indptr": related.lists.indptr.astype(np.int64),
                "companions/indices": related.lists.indices.astype(np.int32),
                "companions/data": related.lists.data,
            }
        else:
            blocks = [_Blocks(*one) for one in related.blocks]
        arrays |= pack_feature_names(model)
        state = {
            "n_features": int(model.n_features_in_),
            "usual_size": int(model.usual_size_),
        }
        return Part(self.parameters(model), state, arrays, {"blocks": blocks})

    def summary(self, part: Part) -> dict[str, int]:
        """Return the number of features."""
        return {"features": part.state["n_features"]}

    def decode(self, part: Part) -> Fiat:
        """Check that the blocks match the features, and return the imputation."""
        model: Fiat = self.rebuild(part.parameters)
        model.n_features_in_ = part.state["n_features"]
        model.usual_size_ = part.state["usual_size"]
        listed = model._uses_companions()
        if listed != part.has("companions/indptr"):
            part.fail(f"{part.name('companions/indptr')} must be present if and only if a blend "
                      "has companions and no agglomeration")  # fmt: skip
        model.co_occurrence_ = self._decode_lists(part) if listed else self._decode_blocks(part)
        learnt = model.mode == "blend" and model.beta == "auto"
        if learnt != part.has("rule/coefficients"):
            part.fail(f"{part.name('rule/coefficients')} must be present if and only if beta is "
                      "'auto' in a blend")  # fmt: skip
        model.rule_ = self._decode_rule(part) if learnt else None
        unpack_feature_names(part, model)
        return model

    @staticmethod
    def _decode_lists(part: Part) -> Companions:
        if part.children["blocks"]:
            part.fail(f"children '{part.prefix}blocks' must be empty if there are companions")
        size = part.state["n_features"]
        indptr, indices, data = (f"companions/{name}" for name in ("indptr", "indices", "data"))
        check_csr(part, indptr, indices, n_rows=size, n_cols=size)
        check_length(part, data, len(part.arrays[indices]))
        check_size(part, data)
        parts = part.arrays[indptr], part.arrays[indices], part.arrays[data]
        return Companions(csr_from_parts(parts, (size, size)))

    @staticmethod
    def _decode_blocks(part: Part) -> CoOccurrence:
        blocks: list[_Blocks] = part.children["blocks"]
        if not blocks:
            part.fail(f"children '{part.prefix}blocks' must be at least one, got none")
        for number, one in enumerate(blocks):
            wanted, got = part.state["n_features"], len(one.layout.groups)
            if got != wanted:
                part.fail(f"{part.name(f'blocks/{number}/groups')} must have {wanted} items, "
                          f"got {got}")  # fmt: skip
        return CoOccurrence([(one.layout, one.entries) for one in blocks])

    @staticmethod
    def _decode_rule(part: Part) -> MissingRule:
        check_length(part, "rule/coefficients", 3)
        check_length(part, "rule/log_sizes", part.state["n_features"])
        check_size(part, "rule/coefficients")
        check_size(part, "rule/log_sizes")
        return MissingRule(part.arrays["rule/coefficients"], part.arrays["rule/log_sizes"])


class ImputedCodec(CompositeCodec):
    """Codec of :class:`Imputed`."""

    def __init__(self, estimator: type[Imputed]) -> None:
        super().__init__(
            estimator,
            children={
                "base": Child(("classifier", "composite")),
                "imputation": Child(("imputation",)),
            },
            rules={
                "base": Unfitted(("classifier", "composite")),
                "imputation": Unfitted(("imputation",)),
            },
        )

    def encode(self, model: Imputed, options: SaveOptions) -> Part:
        """Return the part of a fitted classifier."""
        part = super().encode(model, options)
        part.children = {"base": model.base_, "imputation": model.imputation_}
        return part

    def decode(self, part: Part) -> Any:
        """Check that the parts match, and return the classifier."""
        model = super().decode(part)
        self.check_base(part, model)
        model.imputation_ = part.children["imputation"]
        wanted, got = model.n_features_in_, model.imputation_.n_features_in_
        if got != wanted:
            part.fail(f"model '{part.prefix}imputation' must have the features of its owner "
                      f"({wanted}), got {got}")  # fmt: skip
        return model
