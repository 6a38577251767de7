"""Explanations of the scores of label trees, by the steps of paths to labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from defrag import _native
from defrag._native import Loss
from defrag.explain.explainers import Explainer, own_features, search_notes
from defrag.explain.parts import FROM_WEIGHTS, Attribution, Parts, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag.classifiers.label_trees._base import TrainedTree
    from defrag.typing import Csr, Ids

    Values = NDArray[np.float64]

__all__ = ["TreeScore", "TreesExplainer"]


@dataclass(frozen=True)
class TreeScore:
    """The function from the margins on a path to the score of a label.

    The score is ``exp(sum of c L(m))`` over the steps of a path, where m is the margin of a step
    and c the product of the discounts of the steps after it.

    Attributes
    ----------
    loss : Loss
        Whether ``L(m)`` is ``-max(0, 1 - m) ** power`` or ``-log(1 + exp(-m))``.
    discount : float
        The factor of the log score of a node in that of its children.
    power : int
        The exponent of the hinge.
    """

    loss: Loss
    discount: float
    power: int

    def gain(self, margins: Values) -> Values:
        """Return ``L(m)`` for margins."""
        if self.loss == Loss.logistic:
            return -np.logaddexp(0.0, -margins)
        return np.asarray(-(np.maximum(0.0, 1.0 - margins) ** self.power))


@dataclass(frozen=True)
class _Paths:
    """The paths to labels in all trees, concatenated.

    Path p leads to label ``label[p]``, and its steps begin at ``begin[p]``; a step has a discount
    c, a bias and a row of weights.
    """

    label: Ids
    begin: NDArray[np.int64]
    discounts: Values
    bias: Values
    weights: Values


class TreesExplainer(Explainer):
    """Explainer of some labels in an ensemble of label trees.

    Parameters
    ----------
    members : sequence of TrainedTree
        The trees.
    labels : ndarray of int32
        The labels; a label that is not in a tree has the score 0 there.
    rule : TreeScore
        The function from margins to scores.
    found : ndarray of bool, shape (n_labels, n_members)
        Whether the search of a tree found a label; its score is 0 in the other trees.
    missed : ndarray of bool, shape (n_labels,)
        The labels that no search found; they are scored in all trees.
    """

    def __init__(
        self,
        members: Sequence[TrainedTree],
        labels: Ids,
        rule: TreeScore,
        *,
        found: NDArray[np.bool_],
        missed: NDArray[np.bool_],
    ) -> None:
        self._members = members
        self._rule = rule
        self._found, self._missed = found, missed
        self._places = [member.places(labels) for member in members]
        for number, places in enumerate(self._places):
            places[~found[:, number]] = -1

    def _paths(self, features: Ids) -> _Paths | None:
        """Return the paths to all labels that are found in a tree, or None."""
        known = [np.flatnonzero(places >= 0) for places in self._places]
        if not any(map(len, known)):
            return None
        parts = [
            _native.label_paths(one.tree, one.weights, places[own], features)
            for one, places, own in zip(self._members, self._places, known, strict=True)
        ]
        n_steps = np.concatenate([np.diff(part.step_ptr) for part in parts])
        end = np.cumsum(n_steps)
        steps_after = np.repeat(end, n_steps) - 1 - np.arange(end[-1])
        return _Paths(
            label=np.concatenate(known).astype(np.int32),
            begin=end - n_steps,
            discounts=self._rule.discount ** steps_after.astype(np.float64),
            bias=np.concatenate([part.bias for part in parts]).astype(np.float64),
            weights=np.concatenate([part.weights for part in parts]).astype(np.float64),
        )

    def scores(self, X: Csr) -> Values:
        """Return the scores of the labels for the rows of a canonical matrix."""
        features, product = own_features(_native.unit_rows(X, n_threads=1))
        paths = self._paths(features)
        if paths is None:
            return np.zeros((X.shape[0], len(self._found)))
        gains = paths.discounts * self._rule.gain(paths.bias + product(paths.weights))
        logs = np.add.reduceat(gains, paths.begin, axis=-1)
        share = np.zeros((len(paths.label), len(self._found)))
        share[np.arange(len(paths.label)), paths.label] = 1.0 / len(self._members)
        return np.asarray(np.exp(logs) @ share)

    def attribute(self, row: Csr) -> Attribution:
        """Return the contributions of the entries of a row to the scores."""
        return self.take_apart(row).attribution

    def take_apart(self, row: Csr) -> Parts:
        """Return the contributions to the scores of a row, and the scores without its entries."""
        n_labels, share = len(self._found), 1.0 / len(self._members)
        steps: list[list[Step]] = [[] for _ in range(n_labels)]
        scores, bases = np.zeros(n_labels), np.zeros(n_labels)
        contributions, without = np.zeros((n_labels, row.nnz)), np.zeros((row.nnz, n_labels))
        entries = row.indices, row.data, _native.unit_rows(row, n_threads=1).data
        rule = self._rule
        for number, (member, places) in enumerate(zip(self._members, self._places, strict=True)):
            known = (places >= 0).nonzero()[0]
            found = _native.path_parts(
                member.tree,
                member.weights,
                places[known],
                entries,
                loss=rule.loss,
                discount=rule.discount,
                power=rule.power,
            )
            scores[known] += share * found.scores
            bases[known] += share * found.bases
            without[:, known] += share * found.without.T
            parts = share * found.contributions
            columns = (found.nodes, found.outputs, found.step_scores, found.step_bases)
            rows = list(zip(*(column.tolist() for column in columns), parts, strict=True))
            ends = found.step_ptr.tolist()
            for i, label in enumerate(known.tolist()):
                own = slice(ends[i], ends[i + 1])
                contributions[label] += parts[own].sum(axis=0)
                steps[label] += [Step(number, *step) for step in rows[own]]
        notes = search_notes(self._found, self._missed)
        return Parts(scores, bases, without, Attribution(contributions, steps, notes, FROM_WEIGHTS))
