"""Conversion of the classifiers of a label tree between model files and kernels.

In a file, pointers are stored as sizes, outputs as one byte if no node has more than 256 of
them, and weights as float32, float16, or int8 with one scale per node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._native import LabelTreeWeights, StoredTreeWeights
from defrag.persistence._label_tree_checks import n_outputs, offsets
from defrag.persistence._schema import Array
from defrag.persistence.codecs._weight_values import WEIGHT_TYPES, pack_values, unpack_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from defrag._native import LabelTreeArrays
    from defrag.typing import Offsets

__all__ = ["WEIGHT_ARRAYS", "pack_weights", "unpack_weights", "widened"]

WEIGHT_ARRAYS = {
    "feature_ptr": Array("int64"),
    "features": Array("int32"),
    "sizes": Array(("uint16", "uint32")),
    "outputs": Array(("uint8", "uint16")),
    "weights": Array(WEIGHT_TYPES),
    "scales": Array("float32", group="scales"),
    "bias": Array("float32"),
}
"""Schema of the arrays of :func:`pack_weights`."""


def pack_weights(
    tree: LabelTreeArrays, weights: LabelTreeWeights | StoredTreeWeights, weight_type: str
) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file.

    Parameters
    ----------
    tree : LabelTreeArrays
        The tree.
    weights : LabelTreeWeights or StoredTreeWeights
        The classifiers.
    weight_type : {"float32", "float16", "int8"}
        Type in the file; int8 values are multiples of 1/127 of the largest weight of the node.

    Raises
    ------
    ValueError
        If the number of biases is not that of the outputs; the reader checks the rest.
    """
    if isinstance(weights, StoredTreeWeights):
        weights = widened(weights)
    widths = n_outputs(tree.n_children, tree.begin, tree.end)
    if not np.array_equal(weights.bias_ptr, offsets(widths)):
        raise ValueError("bias_ptr of the weights of a tree must give each node a bias per output")
    sizes = np.diff(weights.entry_ptr)
    largest = int(sizes.max(initial=0))
    narrow = int(widths.max(initial=0)) <= 256
    arrays: dict[str, NDArray[Any]] = {
        "feature_ptr": weights.feature_ptr,
        "features": weights.features,
        "sizes": sizes.astype(np.uint16 if largest < 2**16 else np.uint32),
        "outputs": weights.outputs.astype(np.uint8) if narrow else weights.outputs,
        "bias": weights.bias,
    }
    bounds = weights.entry_ptr[weights.feature_ptr]
    return {**arrays, **pack_values(weights.weights, bounds, weight_type)}


def unpack_weights(
    arrays: Mapping[str, NDArray[Any]], widths: NDArray[np.int64], starts: Offsets
) -> StoredTreeWeights:
    """Return the arrays for the kernels from the checked arrays of a file, without a copy.

    Parameters
    ----------
    arrays : mapping from name to ndarray
        As returned by :func:`pack_weights`.
    widths : ndarray of int64
        Number of outputs of each node.
    starts : ndarray of int64
        Offsets of the entries of every eighth feature.
    """
    weights = arrays["weights"]
    return StoredTreeWeights(
        feature_ptr=arrays["feature_ptr"],
        features=arrays["features"],
        sizes=arrays["sizes"],
        starts=starts,
        outputs=arrays["outputs"],
        weights=weights.view(np.uint16) if weights.dtype == np.float16 else weights,
        scales=arrays.get("scales"),
        bias_ptr=offsets(widths),
        bias=arrays["bias"],
    )


def widened(stored: StoredTreeWeights) -> LabelTreeWeights:
    """Return the weights in the types that training uses."""
    entry_ptr = offsets(stored.sizes)
    weights = stored.weights
    arrays: dict[str, Any] = {
        "weights": weights.view(np.float16) if weights.dtype == np.uint16 else weights,
        "scales": stored.scales,
    }
    return LabelTreeWeights(
        feature_ptr=stored.feature_ptr,
        features=stored.features,
        entry_ptr=entry_ptr,
        outputs=stored.outputs.astype(np.uint16, copy=False),
        weights=unpack_values(arrays, entry_ptr[stored.feature_ptr]),
        bias_ptr=stored.bias_ptr,
        bias=stored.bias,
    )
