"""Weights of points in training: ``sample_weight`` of ``fit``, and ``class_weight``.

A point of weight 2 counts as two equal points, up to where the solver stops. ``fit`` of all
classifiers asks here, and the label trees and one-vs-rest hand the weights to the solver.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from defrag._parameters import Float, param
from defrag.persistence.fields import plain
from defrag.persistence.kinds import Rewritten
from defrag.typing import Csr, Floats

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier

BALANCED = "balanced"
_WEIGHT = Float(0.0, 1e9)


class ClassWeights:
    """The rule of ``class_weight``: None, "balanced", or weights by class, which a file lists."""

    kind: ClassVar[str] = 'dict, "balanced" or None'

    def describe(self) -> str:
        """Return the rule in words."""
        return "None, 'balanced', or a dict from classes to weights in [0, 1e9]"

    def accepts(self, value: Any) -> bool:
        """Return whether the value satisfies the rule."""
        if isinstance(value, list):
            return all(isinstance(one, list) and len(one) == 2 for one in value) and (
                self.accepts({str(key): weight for key, weight in value})
            )
        if isinstance(value, dict):
            return all(map(_WEIGHT.accepts, value.values()))
        return value is None or (isinstance(value, str) and value == BALANCED)


CLASS_WEIGHT = param(
    ClassWeights(),
    'Weights of the classes, by class, label name or id; "balanced": inversely proportional to '
    "their numbers of points. A point with several labels has the mean of their weights.",
    default=None,
)
"""The parameter of classifiers that can weigh points."""

STORED_CLASS_WEIGHT = Rewritten(
    ClassWeights(),
    pack=lambda value: (
        [[plain(key), float(weight)] for key, weight in value.items()]
        if isinstance(value, dict)
        else value
    ),
    unpack=lambda value: dict(value) if isinstance(value, list) else value,
)
"""How a file has it."""


def check_sample_weight(model: Classifier, weights: Any, n_points: int) -> Floats | None:
    """Return the weights of the points, or None if all are 1.

    Raises ValueError if they are not one number >= 0 per point, or if the model can weigh no
    points.
    """
    if weights is None:
        return None
    if not model._takes_weights():
        raise ValueError(
            f"{type(model).__name__} takes no sample_weight, because its method has none: repeat "
            "points instead, or use LabelTree or DiSMEC"
        )
    given = np.asarray(weights)
    if given.shape != (n_points,) or given.dtype.kind not in "fiub":
        raise ValueError(
            f"sample_weight must be one number per point ({n_points}), got {given.dtype} of shape "
            f"{given.shape}"
        )
    if not (np.isfinite(given).all() and (given >= 0).all() and given.max(initial=0) <= 1e9):
        raise ValueError("sample_weight must be numbers in [0, 1e9]")
    if not given.any():
        raise ValueError("sample_weight must have at least one number that is non-zero, got zeros")
    return None if (given == 1).all() else given.astype(np.float32)


def with_class_weight(
    class_weight: Any, weights: Floats | None, Y: Csr, classes: NDArray[Any] | None
) -> Floats | None:
    """Return the weights of points times the mean weight of their labels.

    Examples
    --------
    >>> from scipy import sparse
    >>> Y = sparse.csr_array([[1, 0], [1, 0], [1, 1], [0, 0]])
    >>> with_class_weight({"a": 2, "b": 4}, None, Y, np.array(["a", "b"])).tolist()
    [2.0, 2.0, 3.0, 1.0]
    """
    if class_weight is None:
        return weights
    n_points, n_labels = Y.shape
    counts = np.bincount(Y.indices, minlength=n_labels)
    if isinstance(class_weight, str):
        of_labels = n_points / (np.count_nonzero(counts) * np.maximum(counts, 1))
    else:
        of_labels = _weights_by_name(class_weight, n_labels, classes)
    sums = np.add.reduceat(np.append(of_labels[Y.indices], 0.0), Y.indptr[:-1])
    sizes = np.diff(Y.indptr)
    own = np.where(sizes > 0, sums / np.maximum(sizes, 1), 1.0)
    return np.asarray(own if weights is None else own * weights, dtype=np.float32)


def _weights_by_name(
    given: Mapping[Any, float], n_labels: int, classes: NDArray[Any] | None
) -> NDArray[np.float64]:
    known = range(n_labels) if classes is None else classes.tolist()
    places = {label: place for place, label in enumerate(known)}
    found = np.ones(n_labels)
    for label, weight in given.items():
        if plain(label) not in places:
            raise ValueError(f"class_weight must have labels of Y, got {label!r}")
        found[places[plain(label)]] = weight
    return found
