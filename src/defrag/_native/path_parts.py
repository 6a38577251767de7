"""The scores of labels of a tree, taken apart; see ``cpp/core/path_parts.hpp``."""

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

    A step multiplies the score by ``step_scores``, and by ``step_bases`` for a row without
    features. ``contributions`` has a row for each step, ``without`` for each label: the scores
    without each entry.
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
    """Take the scores of the labels at places of the order apart.

    Parameters
    ----------
    tree, weights : LabelTreeArrays, LabelTreeWeights
        The tree.
    places : ndarray of int32
        The places of the labels.
    row : (ndarray of int32, ndarray of float32, ndarray of float32)
        Rising features, their values, and their values in the L2-normalised row.
    loss, discount, power : Loss, float, int
        How margins become scores.
    """
    found = _core.path_parts(tree, weights, places, *row, loss=loss, discount=discount, power=power)
    return PathParts(*found)
