"""Re-ranking in a model file: base, prototypes, propensities, measured trade-off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._native import csr_from_parts
from defrag._parameters import Int
from defrag.persistence._checks import check_csr, check_finite, check_length, check_size
from defrag.persistence._schema import Array, Child, Part
from defrag.persistence.codecs._base import SaveOptions, Unfitted
from defrag.persistence.codecs.classifiers import CompositeCodec
from defrag.reranking import GUARDS, MEASURES, TradeOff

if TYPE_CHECKING:
    from defrag.reranking import Refrag

__all__ = ["RefragCodec"]

_SETTINGS = ("alpha", "gamma", "propensity_weight")
# Each setting is stored with its metrics and the standard errors of its losses.
_ERRORS = {name: f"error of {name}" for name in GUARDS}
_COLUMNS = (*_SETTINGS, *MEASURES, *_ERRORS.values())


class RefragCodec(CompositeCodec):
    """Codec of :class:`Refrag`: base, prototypes, propensities, measured trade-off."""

    def __init__(self, estimator: type[Refrag]) -> None:
        super().__init__(
            estimator,
            arrays={
                "prototypes/indptr": Array("int64"),
                "prototypes/indices": Array("int32"),
                "prototypes/data": Array("float32"),
                "bonus": Array("float32"),
                **{_column(name): Array("float64", group="trade_off") for name in _COLUMNS},
            },
            children={"base": Child(("classifier", "composite"))},
            rules={
                "base": Unfitted(("classifier", "composite")),
                "agglomeration": Unfitted(("clustering",)),
            },
            state={
                **{name: estimator.parameter_rules[name].rule for name in _SETTINGS},
                "measured_rows": Int(0, 2**53),
            },
        )

    def encode(self, model: Refrag, options: SaveOptions) -> Part:
        """Return the part of a fitted re-ranker."""
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
        """Check that the parts match, and return the re-ranker."""
        model = super().decode(part)
        self.check_base(part, model)
        shape = (model.n_labels_, model.n_features_in_)
        check_csr(part, "prototypes/indptr", "prototypes/indices", n_rows=shape[0], n_cols=shape[1])
        check_length(part, "prototypes/data", len(part.arrays["prototypes/indices"]))
        check_size(part, "prototypes/data")
        check_length(part, "bonus", model.n_labels_)
        check_finite(part, "bonus", low=0)
        check_size(part, "bonus")
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
    """Return the name of the array of a column of the trade-off."""
    return f"trade_off/{name.replace('@', '_at_').replace(' ', '_').lower()}"


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
