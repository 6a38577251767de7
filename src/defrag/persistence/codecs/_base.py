"""Base class of codecs, and parameters of estimators as JSON values."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from defrag import registry
from defrag._parameters import Int
from defrag.persistence._schema import MAX_LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sklearn.base import BaseEstimator

    from defrag._parameters import Rule
    from defrag.persistence._schema import Part, Schema
    from defrag.registry import Entry, Role

__all__ = [
    "MAX_COUNT",
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
"""Parameters of the machine, not of the model: the bytes of a file do not depend on them."""

MAX_COUNT = 2**31 - 1
"""Maximum number of labels, features, nodes or groups of a model."""

SEED = Int(0, 2**63 - 1, none=True)
"""Rule of a stored ``random_state``."""


@dataclass(frozen=True)
class SaveOptions:
    """Options of saving; ``weights`` is the type of the weights in the file."""

    weights: str = "float32"


class Codec(ABC):
    """Base class of codecs, each of which encodes and decodes one kind of estimator.

    Parameters
    ----------
    estimator : type
        The exact class: a subclass may have further fitted attributes. The class of an inner
        kind, which occurs only within others, need not be an estimator.
    schema : Schema
        Schema of the part.
    """

    parts: ClassVar[dict[str, Codec]] = {}
    """Codecs of inner parts that are not estimators."""

    def __init__(self, estimator: type[Any], schema: Schema) -> None:
        self.estimator = estimator
        self.schema = schema

    @abstractmethod
    def encode(self, model: Any, options: SaveOptions) -> Part:
        """Return the part of a fitted estimator, with estimators as ``children``."""

    @abstractmethod
    def decode(self, part: Part) -> Any:
        """Return the estimator of a part, whose ``children`` are estimators.

        The part satisfies the schema; the content of its arrays is checked here.
        """

    def summary(self, part: Part) -> dict[str, int]:  # noqa: ARG002 - used by subclasses
        """Return the numbers of ``features``, ``labels`` and ``groups``, where there are any."""
        return {}

    def parameters(self, model: Any) -> dict[str, Any]:
        """Return the parameters of an estimator, fitted or not, as JSON values."""
        values = plain_parameters(model, self.schema.parameters)
        for name, rule in self.schema.parameters.items():
            if isinstance(rule, Unfitted):
                values[name] = rule.pack(values[name])
        return values

    def rebuild(self, parameters: Mapping[str, Any]) -> Any:
        """Return an unfitted estimator with parameters that satisfy the schema."""
        values = dict(parameters)
        for name, rule in self.schema.parameters.items():
            if isinstance(rule, Unfitted):
                values[name] = rule.unpack(values[name])
        return self.estimator(**values)


@dataclass(frozen=True)
class Unfitted:
    """Rule of a parameter that is None or an estimator, stored as kind and parameters."""

    roles: tuple[Role, ...]

    def describe(self) -> str:
        """Return the rule in words."""
        kinds = ", ".join(registry.kinds(*self.roles))
        return f"None, or the kind ({kinds}) and parameters of an estimator"

    def accepts(self, value: Any, depth: int = MAX_LEVELS) -> bool:
        """Return whether the value satisfies the rule."""
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
        """Return the unfitted estimator that :meth:`pack` encoded."""
        return None if value is None else find_codec(value["kind"]).rebuild(value["parameters"])


def entry_of(estimator: Any, roles: tuple[Role, ...] = ()) -> Entry:
    """Return the registry entry of an estimator.

    Raises
    ------
    TypeError
        If it is not registered.
    """
    known = registry.entries(*roles)
    for entry in known:
        # Names are compared first: accessing the class imports its module.
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
    """Return the codec of a kind of model or of an inner part."""
    for entry in registry.entries():
        if entry.kind == kind:
            return codec_of(entry)
    return all_codecs()[kind]


def all_codecs() -> dict[str, Codec]:
    """Return the codecs of all kinds, including inner parts."""
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
    """Return the stored parameters as Python numbers and strings.

    A generator as ``random_state`` has advanced since ``fit``, and is stored as None.
    """
    values = {name: _plain(getattr(estimator, name)) for name in rules}
    if isinstance(values.get("random_state"), (np.random.RandomState, np.random.Generator)):
        values["random_state"] = None
    return values


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
