"""The classifiers on the paths to labels of a tree; see ``cpp/core/label_paths.hpp``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from defrag import _core

if TYPE_CHECKING:
    from defrag._native.label_tree import LabelTreeArrays, LabelTreeWeights, StoredTreeWeights
    from defrag.typing import Floats, Ids, Offsets

__all__ = ["LabelPaths", "label_paths"]


class LabelPaths(NamedTuple):
    """Classifiers on the way from the root to some labels.

    Label i has the steps ``step_ptr[i]`` to ``step_ptr[i + 1] - 1``, the root first. A step is
    a classifier, ``outputs``, of a node, ``nodes``, with its bias and its weights, one row each.
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
    """Collect the weights of rising features on the paths to the labels at places of the order."""
    return LabelPaths(*_core.label_paths(tree, weights, places, features))
