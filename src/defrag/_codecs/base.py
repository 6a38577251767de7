"""What a codec is, and the parameters of estimators as values that JSON can say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._validation import Int

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sklearn.base import BaseEstimator

    from defrag._validation import Rule
    from defrag.io.model_schema import Part, Schema

__all__ = ["NOT_STORED", "SEED", "Codec", "plain_parameters"]

NOT_STORED = frozenset({"n_jobs", "verbose"})
"""About the machine, not the model: the same fit gives the same bytes for any ``n_jobs``."""

SEED = Int(0, 2**63 - 1, none=True)
"""What a stored ``random_state`` may be."""


class Codec(ABC):
    """Writes one kind of estimator into a part of a model file, and reads it back.

    Parameters
    ----------
    estimator : type
        The class; exactly this one, since a subclass may have learnt more.
    schema : Schema
        What the part contains.
    """

    def __init__(self, estimator: type[BaseEstimator], schema: Schema) -> None:
        self.estimator = estimator
        self.schema = schema

    @abstractmethod
    def encode(self, model: Any) -> Part:
        """Turn a fitted estimator into a part; its ``children`` are estimators still."""

    @abstractmethod
    def decode(self, part: Part) -> Any:
        """Turn a part into an estimator; its ``children`` are estimators already.

        The part obeys the schema. What the arrays mean, alone and together, is checked here.
        """


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
