"""Validation of the weights of label trees and flat models in a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defrag.persistence import _checks
from defrag.persistence._checks import (
    check_finite,
    check_increasing,
    check_increasing_ids,
    check_ints,
    check_length,
    check_offsets,
    check_size,
)

if TYPE_CHECKING:
    from defrag.persistence._schema import Part

__all__ = [
    "check_flat_weights",
    "check_label_ids",
    "check_weight_values",
]


def check_flat_weights(part: Part, n_labels: int, n_features: int) -> None:
    """Check the classifiers of a one-vs-rest model.

    There is at least one label, and labels increase; outputs are positions in that list and
    increase within a feature; every output has a bias, and all numbers are finite.
    """
    check_label_ids(part, n_labels)
    labels = part.arrays["labels"]
    check_length(part, "feature_ptr", n_features + 1)
    check_offsets(part, "feature_ptr", len(part.arrays["outputs"]))
    check_ints(part, "outputs", 0, len(labels))
    check_increasing(part, "outputs", part.arrays["feature_ptr"], "feature")
    check_length(part, "bias", len(labels))
    check_size(part, "bias")
    check_length(part, "weights", len(part.arrays["outputs"]))
    check_weight_values(part, n_features)


def check_label_ids(part: Part, n_labels: int) -> None:
    """Check the ids of the labels that have weights: at least one, in range, increasing."""
    labels = part.arrays["labels"]
    if not len(labels):
        part.fail(f"{part.name('labels')} must have at least one label, got none")
    check_increasing_ids(part, "labels", n_labels)


def check_weight_values(part: Part, n_runs: int, *, prefix: str = "") -> None:
    """Check weights of any type and the scales of int8 runs."""
    weights, scales = f"{prefix}weights", f"{prefix}scales"
    if part.arrays[weights].dtype != np.int8:
        if part.has(scales):
            part.fail(f"{part.name(scales)} is allowed only with weights of int8, got "
                      f"{part.arrays[weights].dtype.name}")  # fmt: skip
        check_size(part, weights)
        return
    if not part.has(scales):
        part.fail(f"{part.name(scales)} is required with weights of int8, got none")
    check_ints(part, weights, -127, 128)
    check_length(part, scales, n_runs)
    check_finite(part, scales, low=0)
    check_size(part, scales, most=_checks.LARGEST / 127)
