"""The classifiers on the paths to the labels of a tree; see ``cpp/core/label_paths.hpp``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from defrag import _core

if TYPE_CHECKING:
    from defrag._native.label_tree import LabelTreeArrays, LabelTreeWeights, StoredTreeWeights
    from defrag.typing import Floats, Ids, Offsets

__all__ = ["LabelPaths", "label_paths"]


class LabelPaths(NamedTuple):
    """Classifiers on the paths from the root to some labels.

    Label i has the steps ``step_ptr[i]`` to ``step_ptr[i + 1] - 1``, the root first. Step s is the
    classifier ``outputs[s]`` of node ``nodes[s]``, with ``bias[s]`` and the row ``weights[s]``.
    """

    step_ptr: Offsets
    nodes: Ids
    outputs: Ids
    bias: Floats
    weights: Floats


def label_paths(
    tree: LabelTreeArrays,
    weights: LabelTreeWeights | StoredTreeWeights,
    places: Ids,
    features: Ids,
) -> LabelPaths:
    """Return the weights of increasing features on the paths to the labels at ``places``."""
    return LabelPaths(*_core.label_paths(tree, weights, places, features))
