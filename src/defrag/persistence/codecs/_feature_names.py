"""The feature names that scikit-learn takes from data frames, in a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag.persistence._strings import pack_strings, string_arrays, unpack_strings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag._estimator import Estimator
    from defrag.persistence._schema import Part

__all__ = ["FEATURE_NAMES", "pack_feature_names", "unpack_feature_names"]

FEATURE_NAMES = string_arrays("feature_names", optional=True)
"""Schema of the feature names."""


def pack_feature_names(model: Estimator) -> dict[str, NDArray[Any]]:
    """Return the arrays of ``feature_names_in_``; none if the model was fitted without names."""
    names = getattr(model, "feature_names_in_", None)
    return {} if names is None else pack_strings("feature_names", names)


def unpack_feature_names(part: Part, model: Any) -> None:
    """Set ``feature_names_in_`` if the part has it; the model has ``n_features_in_`` already."""
    if part.has("feature_names/bytes"):
        names = unpack_strings(part, "feature_names", model.n_features_in_)
        model.feature_names_in_ = np.array(list(names), dtype=object)
