"""Contributions to the scores of labels in a tree; see ``cpp/core/path_parts.hpp``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from defrag import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from defrag._native import Loss
    from defrag._native.label_tree import LabelTreeArrays, LabelTreeWeights, StoredTreeWeights
    from defrag.typing import Floats, Ids, Offsets

    Values = NDArray[np.float64]

__all__ = ["PathParts", "path_parts"]


class PathParts(NamedTuple):
    """Scores of labels and their parts; steps are those of ``LabelPaths``.

    A step multiplies the score by ``step_scores``, or by ``step_bases`` for a row without
    features. ``contributions`` has one row per step. ``without`` has one row per label, the
    scores without each entry of the row.
    """

    step_ptr: Offsets
    nodes: Ids
    outputs: Ids
    step_scores: Values
    step_bases: Values
    contributions: Values
    scores: Values
    bases: Values
    without: Values


def path_parts(
    tree: LabelTreeArrays,
    weights: LabelTreeWeights | StoredTreeWeights,
    places: Ids,
    row: tuple[Ids, Floats, Floats],
    *,
    loss: Loss,
    discount: float,
    power: int,
) -> PathParts:
    """Return the contributions of the entries of a row to the scores of labels.

    Parameters
    ----------
    tree, weights : LabelTreeArrays, LabelTreeWeights
        The tree.
    places : ndarray of int32
        Positions of the labels in the order of the tree.
    row : (ndarray of int32, ndarray of float32, ndarray of float32)
        Features in increasing order, their values, and their values in the unit row.
    loss, discount, power : Loss, float, int
        The function from margins to scores.
    """
    found = _core.path_parts(tree, weights, places, *row, loss=loss, discount=discount, power=power)
    return PathParts(*found)
