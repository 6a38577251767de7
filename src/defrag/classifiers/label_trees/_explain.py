"""Scores of labels in a label tree, taken apart along their paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from defrag import _native
from defrag.classifiers._base import unit_rows
from defrag.explain.explainers import Explainer, only_own_features
from defrag.explain.formulas import logarithmic_mean, secant
from defrag.explain.parts import FROM_WEIGHTS, Attribution, Step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from defrag._native import LabelPaths
    from defrag.classifiers.label_trees._base import TrainedTree
    from defrag.typing import Csr, Ids

    Values = NDArray[np.float64]

__all__ = ["TreeExplainer"]


class TreeExplainer(Explainer):
    """The scores of some labels in one tree.

    The score of a label is ``exp(sum of c L(m))`` over the steps of its path, m being the
    margin of a step, ``L(m) = -max(0, 1 - m) ** power`` or ``-log(1 + exp(-m))``, and c the
    discount of the steps that follow.

    Parameters
    ----------
    member : TrainedTree
        The tree.
    labels : ndarray of int32
        The labels; one that is not in the tree scores 0.
    loss : {"squared_hinge", "logistic"}
        Whether L is a hinge.
    discount : float
        The factor of the log score of a node in that of its children.
    power : int
        The exponent of the hinge.
    """

    def __init__(
        self, member: TrainedTree, labels: Ids, *, loss: str, discount: float, power: int
    ) -> None:
        self._member = member
        self._n_labels = len(labels)
        places = member.places(labels)
        self._known = np.flatnonzero(places >= 0)
        self._places = places[self._known]
        self._hinge = loss != "logistic"
        self._discount = discount
        self._power = power

    def _paths(self, features: Ids) -> LabelPaths:
        tree = self._member
        return _native.label_paths(tree.tree, tree.weights, self._places, features)

    def _gain(self, margins: Values) -> Values:
        """Return L of margins."""
        if self._hinge:
            return np.asarray(-(np.maximum(0.0, 1.0 - margins) ** self._power))
        return -np.logaddexp(0.0, -margins)

    def _discounts(self, paths: LabelPaths) -> Values:
        """Return c of each step: the discounts of the steps after it."""
        last = np.repeat(paths.step_ptr[1:] - 1, np.diff(paths.step_ptr))
        return np.asarray(self._discount ** (last - np.arange(len(last))), dtype=np.float64)

    def scores(self, X: Csr) -> Values:
        """Return the scores of the labels for the rows of a canonical matrix."""
        scores = np.zeros((X.shape[0], self._n_labels))
        if not len(self._known):
            return scores
        narrow, features = only_own_features(unit_rows(X, 1))
        paths = self._paths(features)
        margins: Values = narrow @ paths.weights.T.astype(np.float64) + paths.bias
        logs = self._discounts(paths) * self._gain(margins)
        scores[:, self._known] = np.exp(np.add.reduceat(logs, paths.step_ptr[:-1], axis=1))
        return scores

    def attribute(self, row: Csr) -> Attribution:
        """Return the products of weights and values, as parts of the score."""
        unit = unit_rows(row, 1)
        contributions = np.zeros((self._n_labels, row.nnz))
        steps: list[list[Step]] = [[] for _ in range(self._n_labels)]
        if len(self._known):
            paths = self._paths(unit.indices)
            bias = paths.bias.astype(np.float64)
            summands = paths.weights * unit.data.astype(np.float64)
            margins = bias + summands.sum(axis=1)
            c = self._discounts(paths)
            gains, base_gains = c * self._gain(margins), c * self._gain(bias)
            begins = paths.step_ptr[:-1]
            means = logarithmic_mean(
                np.add.reduceat(gains, begins), np.add.reduceat(base_gains, begins)
            )
            slopes = c * secant(self._gain, margins, bias)
            slopes *= np.repeat(means, np.diff(paths.step_ptr))
            parts = summands * slopes[:, None]
            contributions[self._known] = np.add.reduceat(parts, begins, axis=0)
            factors, base_factors = np.exp(gains).tolist(), np.exp(base_gains).tolist()
            nodes, children = paths.nodes.tolist(), paths.outputs.tolist()
            for number, label in enumerate(self._known.tolist()):
                steps[label] = [
                    Step(0, nodes[s], children[s], factors[s], base_factors[s], parts[s])
                    for s in range(paths.step_ptr[number], paths.step_ptr[number + 1])
                ]
        return Attribution(contributions, steps, [()] * self._n_labels, FROM_WEIGHTS)
