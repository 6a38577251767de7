"""What stands over classifiers in a model file: re-ranking, imputation, agglomeration.

Blocks, rules, prototypes, the trade-off are here; :class:`Agglomerated` is with the classifiers.

Layouts of blocks are derived from the groups, so that a file can say nothing about them that is
not checked by one look at the groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._native import GroupLayout, csr_from_parts
from defrag._parameters import Int
from defrag.agglomeration.co_occurrence import CoOccurrence
from defrag.imputation import Fiat, Imputed
from defrag.imputation._companions import Companions
from defrag.imputation._missing import MissingRule
from defrag.persistence._checks import check_csr, check_finite, check_ints, check_length
from defrag.persistence._schema import Array, Child, Part, Schema
from defrag.persistence._strings import pack_strings, string_arrays, unpack_strings
from defrag.persistence.codecs._base import SEED, Codec, SaveOptions, Unfitted, stored_rules
from defrag.persistence.codecs.agglomeration import POOLING_CODECS
from defrag.persistence.codecs.classifiers import (
    CLASSIFIER_CODECS,
    AgglomeratedCodec,
    ClassifierCodec,
    TreeCodec,
)
from defrag.reranking import Refrag
from defrag.reranking._trade_off import GUARDS, MEASURES, TradeOff

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OVER_CODECS", "FiatCodec", "ImputedCodec", "RefragCodec"]

_SETTINGS = ("alpha", "gamma", "propensity_weight")
# What is stored about every setting: the setting, what it did, and how sure its losses are.
_ERRORS = {name: f"error of {name}" for name in GUARDS}
_COLUMNS = (*_SETTINGS, *MEASURES, *_ERRORS.values())
_MOST = 2**31 - 1
# Sums over rows of length 1 stay far below it.
_LARGEST = 1e12


class BlocksCodec(Codec):
    """Writes and reads the blocks of one clustering."""

    def __init__(self) -> None:
        arrays = {"groups": Array("int32"), "entries": Array("float32")}
        super().__init__(_Blocks, Schema({}, arrays=arrays, inner=True))

    def encode(self, model: _Blocks, options: SaveOptions) -> Part:  # noqa: ARG002 - no weights
        """Turn blocks into a part."""
        return Part(arrays={"groups": model.layout.groups, "entries": model.entries})

    def decode(self, part: Part) -> _Blocks:
        """Check groups and entries, and lay the blocks out."""
        groups = part.arrays["groups"]
        # No group is numbered beyond the features: the bound on what is allocated.
        check_ints(part, "groups", -1, max(1, len(groups)))
        layout = GroupLayout.of(groups, int(groups.max(initial=-1)) + 1)
        check_length(part, "entries", int(layout.entry_ptr[-1]))
        _check_size(part, "entries")
        return _Blocks(layout, part.arrays["entries"])


class _Blocks:
    """The blocks of one clustering, as a part of a model."""

    def __init__(self, layout: GroupLayout, entries: Any) -> None:
        self.layout = layout
        self.entries = entries


class FiatCodec(Codec):
    """Writes and reads :class:`Fiat`; clusterings that were given as fitted are not part of it."""

    def __init__(self) -> None:
        rules = {
            **Fiat._rules,  # noqa: SLF001 - the codec is a friend of the class
            "agglomeration": Unfitted(POOLING_CODECS),
            "random_state": SEED,
        }
        schema = Schema(
            parameters=stored_rules(Fiat, rules),
            state={"n_features": Int(1, _MOST), "usual_size": Int(0, _MOST)},
            arrays={
                "rule/coefficients": Array("float64", group="rule"),
                "rule/log_sizes": Array("float32", group="rule"),
                "companions/indptr": Array("int64", group="companions"),
                "companions/indices": Array("int32", group="companions"),
                "companions/data": Array("float32", group="companions"),
                **string_arrays("feature_names", optional=True),
            },
            children={"blocks": Child(("blocks",), many=True)},
        )
        super().__init__(Fiat, schema)

    def parameters(self, model: Fiat) -> dict[str, Any]:
        """Give the parameters; groups that were given are data, as given vectors are."""
        if not model.prefit:
            return super().parameters(model)
        given = {"agglomeration": None, "prefit": False, "companions": None}
        plain = Fiat(**{**model.get_params(deep=False), **given})
        return super().parameters(plain)

    def encode(self, model: Fiat, options: SaveOptions) -> Part:  # noqa: ARG002 - no weights
        """Turn a fitted imputation into a part."""
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
        if hasattr(model, "feature_names_in_"):
            arrays |= pack_strings("feature_names", model.feature_names_in_)
        state = {
            "n_features": int(model.n_features_in_),
            "usual_size": int(model.usual_size_),
        }
        return Part(self.parameters(model), state, arrays, {"blocks": blocks})

    def summary(self, part: Part) -> dict[str, int]:
        """Give the number of features."""
        return {"features": part.state["n_features"]}

    def decode(self, part: Part) -> Fiat:
        """Check that the blocks are about these features, and give the imputation."""
        model: Fiat = self.rebuild(part.parameters)
        model.n_features_in_ = part.state["n_features"]
        model.usual_size_ = part.state["usual_size"]
        listed = model._uses_lists()  # noqa: SLF001 - the codec is a friend of the class
        if listed != part.has("companions/indptr"):
            part.fail(f"{part.name('companions/indptr')} must be there if and only if a blend has "
                      "companions and no agglomeration")  # fmt: skip
        model.co_occurrence_ = self._decode_lists(part) if listed else self._decode_blocks(part)
        learnt = model.mode == "blend" and model.beta == "auto"
        if learnt != part.has("rule/coefficients"):
            part.fail(f"{part.name('rule/coefficients')} must be there if and only if beta is "
                      "'auto' in a blend")  # fmt: skip
        model.rule_ = self._decode_rule(part) if learnt else None
        if part.has("feature_names/bytes"):
            names = unpack_strings(part, "feature_names", model.n_features_in_)
            model.feature_names_in_ = np.array(list(names), dtype=object)
        return model

    @staticmethod
    def _decode_lists(part: Part) -> Companions:
        if part.children["blocks"]:
            part.fail(f"children '{part.prefix}blocks' must be none beside companions")
        size = part.state["n_features"]
        indptr, indices, data = (f"companions/{name}" for name in ("indptr", "indices", "data"))
        check_csr(part, indptr, indices, n_rows=size, n_cols=size)
        check_length(part, data, len(part.arrays[indices]))
        _check_size(part, data)
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
        _check_size(part, "rule/coefficients")
        _check_size(part, "rule/log_sizes")
        return MissingRule(part.arrays["rule/coefficients"], part.arrays["rule/log_sizes"])


class _OverBase(ClassifierCodec):
    """A classifier over one other."""

    def check_base(self, part: Part, model: Any) -> None:
        """Check that the base is about the same features and labels, and set it."""
        base = part.children["base"]
        for what, got, wanted in (
            ("features", base.n_features_in_, model.n_features_in_),
            ("labels", base.n_labels_, model.n_labels_),
        ):
            if got != wanted:
                part.fail(f"model '{part.prefix}base' must have the {what} of its owner "
                          f"({wanted}), got {got}")  # fmt: skip
        model.base_ = base


class ImputedCodec(_OverBase):
    """Writes and reads :class:`Imputed`."""

    def __init__(self, bases: Mapping[str, Codec], fiat: FiatCodec, kinds: tuple[str, ...]) -> None:
        super().__init__(
            Imputed,
            children={"base": Child(kinds), "imputation": Child(("fiat",))},
            rules={"base": Unfitted(bases), "imputation": Unfitted({"fiat": fiat})},
        )

    def encode(self, model: Imputed, options: SaveOptions) -> Part:
        """Turn a fitted pair into a part."""
        part = super().encode(model, options)
        part.children = {"base": model.base_, "imputation": model.imputation_}
        return part

    def decode(self, part: Part) -> Any:
        """Check that the two fit together, and give the classifier."""
        model = super().decode(part)
        self.check_base(part, model)
        model.imputation_ = part.children["imputation"]
        wanted, got = model.n_features_in_, model.imputation_.n_features_in_
        if got != wanted:
            part.fail(f"model '{part.prefix}imputation' must have the features of its owner "
                      f"({wanted}), got {got}")  # fmt: skip
        return model


class RefragCodec(_OverBase):
    """Writes and reads :class:`Refrag`: base, prototypes, propensities, what was measured."""

    def __init__(self, bases: Mapping[str, Codec], kinds: tuple[str, ...]) -> None:
        super().__init__(
            Refrag,
            arrays={
                "prototypes/indptr": Array("int64"),
                "prototypes/indices": Array("int32"),
                "prototypes/data": Array("float32"),
                "bonus": Array("float32"),
                **{_column(name): Array("float64", group="trade_off") for name in _COLUMNS},
            },
            children={"base": Child(kinds)},
            rules={"base": Unfitted(bases), "agglomeration": Unfitted(POOLING_CODECS)},
            state={
                **{name: Refrag._rules[name].rule for name in _SETTINGS},  # noqa: SLF001 - a friend
                "measured_rows": Int(0, 2**53),
            },
        )

    def encode(self, model: Refrag, options: SaveOptions) -> Part:
        """Turn a fitted re-ranker into a part."""
        part = super().encode(model, options)
        prototypes, table = model.prototypes_, model.trade_off_
        part.arrays |= {
            "prototypes/indptr": prototypes.indptr.astype(np.int64),
            "prototypes/indices": prototypes.indices.astype(np.int32),
            "prototypes/data": prototypes.data,
            "bonus": model.bonus_,
        }
        part.state |= {name: float(getattr(model, f"{name}_")) for name in _SETTINGS}
        part.state["measured_rows"] = 0 if table is None else int(table.n_rows)
        if table is not None:
            part.arrays |= {_column(name): getattr(table, name) for name in _SETTINGS}
            part.arrays |= {_column(name): table.measures[name] for name in MEASURES}
            part.arrays |= {_column(_ERRORS[name]): table.errors[name] for name in GUARDS}
        part.children = {"base": model.base_}
        return part

    def decode(self, part: Part) -> Any:
        """Check that all is about the same labels and features, and give the re-ranker."""
        model = super().decode(part)
        self.check_base(part, model)
        shape = (model.n_labels_, model.n_features_in_)
        check_csr(part, "prototypes/indptr", "prototypes/indices", n_rows=shape[0], n_cols=shape[1])
        check_length(part, "prototypes/data", len(part.arrays["prototypes/indices"]))
        _check_size(part, "prototypes/data")
        check_length(part, "bonus", model.n_labels_)
        check_finite(part, "bonus", low=0)
        indptr, indices, data = (
            part.arrays[f"prototypes/{name}"] for name in ("indptr", "indices", "data")
        )
        model.prototypes_ = csr_from_parts((indptr, indices, data), shape)
        model.bonus_ = part.arrays["bonus"]
        for name in _SETTINGS:
            setattr(model, f"{name}_", part.state[name])
        model.trade_off_ = _decode_table(part)
        return model


def _column(name: str) -> str:
    """Name the array of a column of the trade-off."""
    return f"trade_off/{name.replace('@', '_at_').replace(' ', '_').lower()}"


def _check_size(part: Part, name: str) -> None:
    """Check that numbers are small enough for sums of them to be finite."""
    check_finite(part, name)
    largest = float(np.abs(part.arrays[name]).max(initial=0.0))
    if largest > _LARGEST:
        part.fail(f"{part.name(name)} must be at most {_LARGEST:g} in size, got {largest:g}")


def _decode_table(part: Part) -> TradeOff | None:
    if not part.has("trade_off/alpha"):
        return None
    length = len(part.arrays["trade_off/alpha"])
    if not length:
        part.fail(f"{part.name('trade_off/alpha')} must have at least one item, got none")
    for name in _COLUMNS:
        check_length(part, _column(name), length)
        check_finite(part, _column(name), low=0)
    alpha, gamma, weight = (part.arrays[_column(name)] for name in _SETTINGS)
    if alpha.min() <= 0.0 or alpha.max() > 1.0:
        part.fail(f"{part.name('trade_off/alpha')} must be in (0, 1], got {alpha.min()} to "
                  f"{alpha.max()}")  # fmt: skip
    measures = {name: part.arrays[_column(name)] for name in MEASURES}
    errors = {name: part.arrays[_column(_ERRORS[name])] for name in GUARDS}
    return TradeOff(alpha, gamma, weight, measures, errors, part.state["measured_rows"])


def _codecs() -> dict[str, Codec]:
    """Make the codecs; what stands over a classifier may stand over every other such thing."""
    names = (*CLASSIFIER_CODECS, "agglomerated", "refrag", "imputed")
    fiat = FiatCodec()
    bases: dict[str, Codec] = dict(CLASSIFIER_CODECS)
    over = {
        "agglomerated": AgglomeratedCodec(bases, names),
        "refrag": RefragCodec(bases, names),
        "imputed": ImputedCodec(bases, fiat, names),
    }
    bases |= over  # the codecs hold `bases` itself: each of them knows all three
    return {"tree": TreeCodec(), "blocks": BlocksCodec(), "fiat": fiat, **over}


OVER_CODECS: dict[str, Codec] = _codecs()
"""The kinds that stand over classifiers, and the parts that models are made of."""
