"""Weights in a file: float32, float16, or int8 with one scale per run of weights.

A run is a node of a tree or a feature of a flat model. Run ``r`` is
``weights[bounds[r]:bounds[r + 1]]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag.persistence import _checks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from defrag.typing import Floats, Offsets

__all__ = ["WEIGHT_TYPES", "pack_values", "unpack_values"]

WEIGHT_TYPES = ("float32", "float16", "int8")
"""Types of weights in a file."""


def pack_values(
    weights: Floats, bounds: Offsets, weight_type: str, *, prefix: str = ""
) -> dict[str, NDArray[Any]]:
    """Return the arrays ``weights`` and, for int8, ``scales`` of a file.

    Parameters
    ----------
    weights : ndarray of float32
        The weights of all runs.
    bounds : ndarray of int64
        Offsets of the runs, including the end of the last.
    weight_type : {"float32", "float16", "int8"}
        Type in the file; int8 values are multiples of 1/127 of the largest weight of the run.
    prefix : str, default=""
        Prefix of the names of the arrays.
    """
    if weight_type == "int8":
        scales = _find_scales(weights, bounds)
        steps = _quantise(weights, scales, bounds)
        return {f"{prefix}scales": scales, f"{prefix}weights": steps}
    with np.errstate(over="ignore"):  # the reader's checks reject an infinite float16
        return {f"{prefix}weights": weights.astype(weight_type, copy=False)}


def unpack_values(
    arrays: Mapping[str, NDArray[Any]], bounds: Offsets, *, prefix: str = ""
) -> Floats:
    """Return the weights as float32, without a copy if they already are."""
    weights = arrays[f"{prefix}weights"]
    if weights.dtype == np.int8:
        weights = _widen(weights, arrays[f"{prefix}scales"], bounds)
    return weights.astype(np.float32, copy=False)


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
    for first, last in _blocks(bounds):
        part = slice(bounds[first], bounds[last])
        scale = np.repeat(scales[first:last], np.diff(bounds[first : last + 1]))
        steps = np.divide(weights[part], scale, out=np.zeros_like(scale), where=scale > 0)
        # Beyond 127 only if the scale is subnormal and has lost digits.
        result[part] = np.clip(np.rint(steps), -127, 127)
    return result


def _widen(weights: NDArray[np.int8], scales: Floats, bounds: Offsets) -> Floats:
    """Return dequantised weights."""
    result = np.empty(len(weights), dtype=np.float32)
    for first, last in _blocks(bounds):
        part = slice(bounds[first], bounds[last])
        scale = np.repeat(scales[first:last], np.diff(bounds[first : last + 1]))
        np.multiply(weights[part], scale, out=result[part])
    return result


def _blocks(bounds: Offsets) -> list[tuple[int, int]]:
    """Yield ranges of runs: single runs, or runs with at most ``BLOCK_ITEMS`` entries together."""
    n_runs = len(bounds) - 1
    blocks = []
    first = 0
    while first < n_runs:
        reach = bounds[first] + _checks.BLOCK_ITEMS
        last = max(first + 1, int(np.searchsorted(bounds, reach, side="right")) - 1)
        last = min(last, n_runs)
        blocks.append((first, last))
        first = last
    return blocks
