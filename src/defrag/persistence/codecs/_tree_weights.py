"""The classifiers of a label tree, compact in a file and wide before the kernels.

This is the one place that knows both forms. In a file, pointers are sizes, outputs have one
byte where every node has at most 256 of them, and weights are float32, float16, or int8 with
one scale per node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from defrag._native import LabelTreeWeights
from defrag.persistence._label_tree_checks import n_outputs, offsets
from defrag.persistence._schema import Array
from defrag.persistence.codecs._weight_values import WEIGHT_TYPES, pack_values, unpack_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from defrag._native import LabelTreeArrays
    from defrag.typing import Offsets

__all__ = ["WEIGHT_ARRAYS", "pack_weights", "unpack_weights"]

WEIGHT_ARRAYS = {
    "feature_ptr": Array("int64"),
    "features": Array("int32"),
    "sizes": Array(("uint16", "uint32")),
    "outputs": Array(("uint8", "uint16")),
    "weights": Array(WEIGHT_TYPES),
    "scales": Array("float32", group="scales"),
    "bias": Array("float32"),
}
"""The schema of what :func:`pack_weights` gives."""


def pack_weights(
    tree: LabelTreeArrays, weights: LabelTreeWeights, weight_type: str
) -> dict[str, NDArray[Any]]:
    """Make the arrays of a file.

    Parameters
    ----------
    tree : LabelTreeArrays
        The tree whose nodes they classify.
    weights : LabelTreeWeights
        The classifiers.
    weight_type : {"float32", "float16", "int8"}
        What the weights become. int8 are multiples of the largest weight of their node / 127.

    Raises
    ------
    ValueError
        If the biases are not those of the nodes; what else may be wrong, the reader's checks
        find.
    """
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
    arrays: Mapping[str, NDArray[Any]], widths: NDArray[np.int64], entry_ptr: Offsets
) -> LabelTreeWeights:
    """Make what the kernels take of the arrays of a file, which have been checked.

    Used as they are, so mapped where the file is: ``feature_ptr``, ``features``, ``bias``,
    ``outputs`` of uint16 and ``weights`` of float32. Rebuilt in memory: ``entry_ptr``,
    ``bias_ptr``, ``outputs`` of uint8 and ``weights`` of float16 or int8, which are widened.

    Parameters
    ----------
    arrays : mapping from name to ndarray
        As :func:`pack_weights` gave them.
    widths : ndarray of int64
        How many outputs each node has.
    entry_ptr : ndarray of int64
        Where the entries of each feature begin: the sums of ``sizes``.
    """
    return LabelTreeWeights(
        feature_ptr=arrays["feature_ptr"],
        features=arrays["features"],
        entry_ptr=entry_ptr,
        outputs=arrays["outputs"].astype(np.uint16, copy=False),
        weights=unpack_values(arrays, entry_ptr[arrays["feature_ptr"]]),
        bias_ptr=offsets(widths),
        bias=arrays["bias"],
    )
