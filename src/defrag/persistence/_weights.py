"""Weights in a file: float32, float16, or int8 with one scale per run of weights.

A run is a node of a tree, a feature of a flat model or a row of an embedding. Run ``r`` is
``weights[bounds[r]:bounds[r + 1]]``. The field ``Weights`` writes them (``fields``); the classes
that have weights check and widen them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from defrag.persistence import _checks
from defrag.typing import Floats, Offsets

if TYPE_CHECKING:
    from defrag.persistence.fields import Part

WEIGHT_TYPES = ("float32", "float16", "int8")
"""Types of weights in a file; label trees have int4, too (``trees``)."""


def pack_values(weights: Floats, bounds: Offsets, weight_type: str) -> dict[str, NDArray[Any]]:
    """Return the arrays ``weights`` and, for int8, ``scales`` of a file.

    Values of int8 are multiples of 1/127 of the largest weight of the run.
    """
    if weight_type not in WEIGHT_TYPES:
        raise ValueError(f'weights="{weight_type}" is for models of label trees only')
    if weight_type == "int8":
        scales = _find_scales(weights, bounds)
        return {"scales": scales, "weights": _quantise(weights, scales, bounds)}
    with np.errstate(over="ignore"):  # the reader's checks reject an infinite float16
        return {"weights": weights.astype(weight_type, copy=False)}


def unpack_values(arrays: Mapping[str, NDArray[Any]], bounds: Offsets) -> Floats:
    """Return the weights as float32, without a copy if they already are."""
    weights = arrays["weights"]
    if weights.dtype != np.int8:
        return weights.astype(np.float32, copy=False)
    result = np.empty(len(weights), dtype=np.float32)
    for part, scale in _scale_of_each(arrays["scales"], bounds):
        np.multiply(weights[part], scale, out=result[part])
    return result


def _find_scales(weights: Floats, bounds: Offsets) -> Floats:
    """Return the largest weight of each run / 127; 0 for a run without weights.

    Scales are rounded up to 17 bits, so that 127 times a scale is exact and a loaded model is
    saved with the same bytes.
    """
    scales = np.zeros(len(bounds) - 1, dtype=np.float32)
    filled = bounds[1:] > bounds[:-1]
    if filled.any():
        largest = np.maximum.reduceat(np.abs(weights), bounds[:-1][filled])
        scales[filled] = largest / np.float32(127)
    bits = scales.view(np.uint32)
    return ((bits + np.uint32(0x7F)) & ~np.uint32(0x7F)).view(np.float32)


def _quantise(weights: Floats, scales: Floats, bounds: Offsets) -> NDArray[np.int8]:
    """Return the weights as multiples of the scale of their run."""
    result = np.zeros(len(weights), dtype=np.int8)
    for part, scale in _scale_of_each(scales, bounds):
        steps = np.divide(weights[part], scale, out=np.zeros_like(scale), where=scale > 0)
        # Beyond 127 only if the scale is subnormal and has lost digits.
        result[part] = np.clip(np.rint(steps), -127, 127)
    return result


def _scale_of_each(scales: Floats, bounds: Offsets) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of weights, and the scale of each weight."""
    for first, last in blocks_of_runs(bounds):
        sizes = np.diff(bounds[first : last + 1])
        yield slice(bounds[first], bounds[last]), np.repeat(scales[first:last], sizes)


def blocks_of_runs(bounds: Offsets) -> Iterator[tuple[int, int]]:
    """Yield ranges of runs: single runs, or runs with at most ``BLOCK_ITEMS`` entries together."""
    first, n_runs = 0, len(bounds) - 1
    while first < n_runs:
        reach = bounds[first] + _checks.BLOCK_ITEMS
        last = max(first + 1, int(np.searchsorted(bounds, reach, side="right")) - 1)
        yield first, last
        first = last


# --- Embeddings: rows of features, then panels of sixteen rows that are searched.

LANES = 16
"""Rows of a panel, in the layout of the kernel."""


def panel_runs(rows: Floats, panels: Floats) -> tuple[Floats, Offsets]:
    """Return the weights of rows and panels with the bounds of their runs, for a file."""
    bounds = panel_bounds(len(rows), len(panels), rows.shape[1])
    return np.concatenate([rows.ravel(), panels.ravel()]), bounds


def panel_bounds(n_rows: int, n_panels: int, n_columns: int) -> Offsets:
    """Return the bounds of the runs of rows followed by panels: one run each."""
    sizes = np.full(n_rows + n_panels, n_columns, dtype=np.int64)
    sizes[n_rows:] *= LANES
    return np.concatenate([[0], np.cumsum(sizes)])


# --- Checks.


def check_flat_weights(part: Part) -> None:
    """Check the classifiers of a one-vs-rest model.

    There is at least one label, and labels increase; outputs are positions in that list and
    increase within a feature; every output has a bias, and all numbers are finite.
    """
    check_label_ids(part)
    n_features = part.state["n_features"]
    labels = part.arrays["labels"]
    part.check_length("feature_ptr", n_features + 1)
    part.check_offsets("feature_ptr", len(part.arrays["outputs"]))
    part.check_ints("outputs", 0, len(labels))
    part.check_increasing("outputs", part.arrays["feature_ptr"], "feature")
    part.check_length("bias", len(labels))
    part.check_size("bias")
    part.check_length("weights", len(part.arrays["outputs"]))
    check_weight_values(part, n_features)


def check_label_ids(part: Part) -> None:
    """Check the ids of the labels that have weights: at least one, in range, increasing."""
    labels = part.arrays["labels"]
    if not len(labels):
        part.refuse("labels", "have at least one label, got none")
    part.check_increasing_ids("labels", part.state["n_labels"])


def check_weight_values(part: Part, n_runs: int) -> None:
    """Check weights of any type and the scales of int8 runs."""
    if part.arrays["weights"].dtype != np.int8:
        if part.has("scales"):
            part.fail(f"{part.name('scales')} is allowed only with weights of int8, got "
                      f"{part.arrays['weights'].dtype.name}")  # fmt: skip
        part.check_size("weights")
        return
    if not part.has("scales"):
        part.fail(f"{part.name('scales')} is required with weights of int8, got none")
    part.check_ints("weights", -127, 128)
    part.check_length("scales", n_runs)
    part.check_finite("scales", low=0)
    part.check_size("scales", most=_checks.LARGEST / 127)
