"""What a codec is, and the parameters of estimators as values that JSON can say."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from defrag import registry
from defrag._parameters import Int
from defrag.persistence._schema import MOST_LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sklearn.base import BaseEstimator

    from defrag._parameters import Rule
    from defrag.persistence._schema import Part, Schema
    from defrag.registry import Entry, Role

__all__ = [
    "MOST",
    "NOT_STORED",
    "SEED",
    "Codec",
    "SaveOptions",
    "Unfitted",
    "all_codecs",
    "codec_of",
    "entry_of",
    "find_codec",
    "plain_parameters",
    "stored_rules",
]

NOT_STORED = frozenset({"n_jobs", "verbose"})
"""About the machine, not the model: the same fit gives the same bytes for any ``n_jobs``."""

MOST = 2**31 - 1
"""The most labels, features, nodes or groups of a model."""

SEED = Int(0, 2**63 - 1, none=True)
"""What a stored ``random_state`` may be."""


@dataclass(frozen=True)
class SaveOptions:
    """How a model is written; ``weights`` is the type that the weights of trees become."""

    weights: str = "float32"


class Codec(ABC):
    """Writes one kind of estimator into a part of a model file, and reads it back.

    Parameters
    ----------
    estimator : type
        The class; exactly this one, since a subclass may have learnt more. Of an inner kind,
        which stands only inside others, it need not be an estimator.
    schema : Schema
        What the part contains.
    """

    parts: ClassVar[dict[str, Codec]] = {}
    """Codecs of the parts that such a model is made of and that are no estimators."""

    def __init__(self, estimator: type[Any], schema: Schema) -> None:
        self.estimator = estimator
        self.schema = schema

    @abstractmethod
    def encode(self, model: Any, options: SaveOptions) -> Part:
        """Turn a fitted estimator into a part; its ``children`` are estimators still."""

    @abstractmethod
    def decode(self, part: Part) -> Any:
        """Turn a part into an estimator; its ``children`` are estimators already.

        The part obeys the schema. What the arrays mean, alone and together, is checked here.
        """

    def summary(self, part: Part) -> dict[str, int]:  # noqa: ARG002 - of the codecs below
        """Return the ``features``, ``labels`` and ``groups`` of a part, those that it has."""
        return {}

    def parameters(self, model: Any) -> dict[str, Any]:
        """Return the parameters of an estimator, fitted or not, as JSON values."""
        values = plain_parameters(model, self.schema.parameters)
        for name, rule in self.schema.parameters.items():
            if isinstance(rule, Unfitted):
                values[name] = rule.pack(values[name])
        return values

    def rebuild(self, parameters: Mapping[str, Any]) -> Any:
        """Make an estimator that is not fitted, of parameters that obey the schema."""
        values = dict(parameters)
        for name, rule in self.schema.parameters.items():
            if isinstance(rule, Unfitted):
                values[name] = rule.unpack(values[name])
        return self.estimator(**values)


@dataclass(frozen=True)
class Unfitted:
    """A parameter that is None or an estimator: in the file, its kind and its parameters."""

    roles: tuple[Role, ...]

    def describe(self) -> str:
        """Return the rule in words."""
        kinds = ", ".join(registry.kinds(*self.roles))
        return f"None, or the kind ({kinds}) and parameters of an estimator"

    def accepts(self, value: Any, depth: int = MOST_LEVELS) -> bool:
        """Return whether the value obeys the rule."""
        if value is None:
            return True
        if not depth or not isinstance(value, dict) or set(value) != {"kind", "parameters"}:
            return False
        kind, parameters = value["kind"], value["parameters"]
        if not isinstance(kind, str) or kind not in registry.kinds(*self.roles):
            return False
        rules = find_codec(kind).schema.parameters
        return (
            isinstance(parameters, dict)
            and set(parameters) == set(rules)
            and all(
                rule.accepts(parameters[name], depth - 1)
                if isinstance(rule, Unfitted)
                else rule.accepts(parameters[name])
                for name, rule in rules.items()
            )
        )

    def pack(self, estimator: Any) -> dict[str, Any] | None:
        """Return the kind and the parameters of an estimator."""
        if estimator is None:
            return None
        entry = entry_of(estimator, self.roles)
        return {"kind": entry.kind, "parameters": codec_of(entry).parameters(estimator)}

    def unpack(self, value: Mapping[str, Any] | None) -> Any:
        """Return the estimator of what :meth:`pack` returned."""
        return None if value is None else find_codec(value["kind"]).rebuild(value["parameters"])


def entry_of(estimator: Any, roles: tuple[Role, ...] = ()) -> Entry:
    """Return the line of an estimator in the registry.

    Raises
    ------
    TypeError
        If there is none.
    """
    known = registry.entries(*roles)
    for entry in known:
        # The name first: looking at a class imports its room.
        if type(estimator).__name__ == entry.name and type(estimator) is entry.estimator():
            return entry
    names = ", ".join(entry.name for entry in known)
    raise TypeError(f"only {names} can be saved, got {type(estimator).__name__}")


@cache
def codec_of(entry: Entry) -> Codec:
    """Return the codec of an estimator."""
    module, _, name = entry.codec.partition(":")
    if "." not in module:
        module = f"defrag.persistence.codecs.{module}"
    codec: Codec = getattr(importlib.import_module(module), name)(entry.estimator())
    return codec


def find_codec(kind: str) -> Codec:
    """Return the codec of a kind of model, or of a part that only occurs inside others."""
    for entry in registry.entries():
        if entry.kind == kind:
            return codec_of(entry)
    return all_codecs()[kind]


def all_codecs() -> dict[str, Codec]:
    """Return the codec of every kind, those of inner parts included."""
    codecs = {entry.kind: codec_of(entry) for entry in registry.entries()}
    inner: dict[str, Codec] = {}
    for codec in codecs.values():
        inner |= codec.parts
    return inner | codecs


def stored_rules(estimator: type[BaseEstimator], rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """Return the rules of the parameters that are stored."""
    names = estimator().get_params(deep=False)
    return {name: rules[name] for name in names if name not in NOT_STORED}


def plain_parameters(estimator: BaseEstimator, rules: Mapping[str, Rule]) -> dict[str, Any]:
    """Return the parameters that are stored, as Python's own numbers and strings.

    A generator as ``random_state`` has moved on since ``fit`` and says nothing about the model:
    it is stored as None.
    """
    values = {name: _plain(getattr(estimator, name)) for name in rules}
    if isinstance(values.get("random_state"), (np.random.RandomState, np.random.Generator)):
        values["random_state"] = None
    return values


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
