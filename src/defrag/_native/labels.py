"""Label trees as arrays, their training, and contributions to the scores of labels in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from defrag import _core
from defrag._native.rows import named
from defrag.typing import Floats, Ids, Offsets

Values = NDArray[np.float64]

# --- Label trees as arrays, and their training; see ``cpp/core/label_tree/train.hpp``.


@dataclass(frozen=True)
class LabelTreeArrays:
    """A tree over labels in breadth-first order.

    Node ``v`` holds the labels ``order[begin[v]:end[v]]``. Its children are the
    ``n_children[v]`` nodes from ``first_child[v]`` on and hold consecutive parts of that
    range; a node without children is a leaf. Node 0 is the root.
    """

    first_child: Ids
    n_children: Ids
    begin: Ids
    end: Ids
    order: Ids


@dataclass(frozen=True)
class LabelTreeWeights:
    """The classifiers of all nodes of a label tree."""

    feature_ptr: Offsets
    features: Ids
    entry_ptr: Offsets
    outputs: NDArray[np.uint16]
    weights: Floats
    bias_ptr: Offsets
    bias: Floats


@dataclass(frozen=True)
class StoredTreeWeights:
    """The classifiers of all nodes in the layout of model files, which kernels read directly.

    Compared with :class:`LabelTreeWeights`, the entries of feature ``f`` are given by their number
    ``sizes[f]``, ``starts[i]`` is where those of feature ``8 * i`` begin, outputs may be uint8,
    and weights may be int8 with a scale per node, or uint16, the bits of float16.
    """

    feature_ptr: Offsets
    features: Ids
    sizes: NDArray[np.uint16 | np.uint32]
    starts: Offsets
    outputs: NDArray[np.uint8 | np.uint16]
    weights: NDArray[Any]
    scales: Floats | None
    bias_ptr: Offsets
    bias: Floats


train_label_tree = named(_core.train_label_tree, LabelTreeWeights)
"""Train the classifiers of every node; row l of ``positives`` contains the points of label l.

Rows of X are not normalised. ``negatives`` are further points of the nodes, as ``reached_leaves``
returns them. With ``blocks``, int64 rows ``(node, first block, last block)``, only these blocks of
sixteen outputs are trained, and row i is node i of the result. The loss of row i of X is multiplied
by ``weights[i]``, which is positive.
"""


# --- The classifiers on the paths to the labels of a tree; see ``cpp/core/label_tree/paths.hpp``.


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


label_paths = named(_core.label_paths, LabelPaths)
"""Return the weights of increasing features on the paths to the labels at ``places``."""


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


path_parts = named(_core.path_parts, PathParts)
"""Return the contributions of the entries of a row to the scores of labels.

``places`` are positions of labels in the order of the tree; ``features`` increase, ``values`` are
theirs, and ``units`` theirs in the unit row.
"""
