"""What a codec is, and the parameters of estimators as values that JSON can say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._parameters import Int
from defrag.persistence._schema import MOST_LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sklearn.base import BaseEstimator

    from defrag._parameters import Rule
    from defrag.persistence._schema import Part, Schema

__all__ = [
    "NOT_STORED",
    "SEED",
    "Codec",
    "SaveOptions",
    "Unfitted",
    "kind_of",
    "plain_parameters",
    "stored_rules",
]

NOT_STORED = frozenset({"n_jobs", "verbose"})
"""About the machine, not the model: the same fit gives the same bytes for any ``n_jobs``."""

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
        """Give the ``features``, ``labels`` and ``groups`` of a part, those that it has."""
        return {}

    def parameters(self, model: Any) -> dict[str, Any]:
        """Give the parameters of an estimator, fitted or not, as JSON can say them."""
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

    codecs: Mapping[str, Codec]

    def describe(self) -> str:
        """Say the rule in words."""
        return f"None, or the kind ({', '.join(self.codecs)}) and parameters of an estimator"

    def accepts(self, value: Any, depth: int = MOST_LEVELS) -> bool:
        """Tell whether the value obeys the rule."""
        if value is None:
            return True
        if not depth or not isinstance(value, dict) or set(value) != {"kind", "parameters"}:
            return False
        kind, parameters = value["kind"], value["parameters"]
        if not isinstance(kind, str) or kind not in self.codecs:
            return False
        rules = self.codecs[kind].schema.parameters
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
        """Give the kind and the parameters of an estimator."""
        if estimator is None:
            return None
        kind = kind_of(estimator, self.codecs)
        return {"kind": kind, "parameters": self.codecs[kind].parameters(estimator)}

    def unpack(self, value: Mapping[str, Any] | None) -> Any:
        """Make the estimator of what :meth:`pack` gave."""
        return None if value is None else self.codecs[value["kind"]].rebuild(value["parameters"])


def kind_of(estimator: Any, codecs: Mapping[str, Codec]) -> str:
    """Find the kind of an estimator.

    Raises
    ------
    TypeError
        If there is none.
    """
    for kind, codec in codecs.items():
        if type(estimator) is codec.estimator:
            return kind
    names = ", ".join(c.estimator.__name__ for c in codecs.values() if not c.schema.inner)
    raise TypeError(f"only {names} can be saved, got {type(estimator).__name__}")


def stored_rules(estimator: type[BaseEstimator], rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """Give the rules of the parameters that are stored."""
    names = estimator().get_params(deep=False)
    return {name: rules[name] for name in names if name not in NOT_STORED}


def plain_parameters(estimator: BaseEstimator, rules: Mapping[str, Rule]) -> dict[str, Any]:
    """Give the parameters that are stored, as Python's own numbers and strings.

    A generator as ``random_state`` has moved on since ``fit`` and says nothing about the model:
    it is stored as None.
    """
    values = {name: _plain(getattr(estimator, name)) for name in rules}
    if isinstance(values.get("random_state"), (np.random.RandomState, np.random.Generator)):
        values["random_state"] = None
    return values


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
