"""Scores of labels in label trees, taken apart along their paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from defrag import _native
from defrag._native import Loss
from defrag.explain.explainers import Explainer, own_features, search_notes
from defrag.explain.formulas import logarithmic_mean, secant
from defrag.explain.leaving_out import sums_without
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
    """How the margins on a path become the score of a label.

    The score is ``exp(sum of c L(m))`` over the steps of a path, m being the margin of a step
    and c the discounts of the steps that follow.

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
        """Return L of margins."""
        if self.loss == Loss.logistic:
            return -np.logaddexp(0.0, -margins)
        return np.asarray(-(np.maximum(0.0, 1.0 - margins) ** self.power))


@dataclass(frozen=True)
class _Paths:
    """The paths to labels in several trees, one after the other.

    Path p goes to label ``label[p]`` in tree ``member[p]`` and has the steps from
    ``begin[p]`` on; step s is of path ``path[s]`` and has a node, a child, a discount c, a bias
    and a row of weights.
    """

    label: Ids
    member: Ids
    path: Ids
    begin: NDArray[np.int64]
    nodes: Ids
    children: Ids
    discounts: Values
    bias: Values
    weights: Values

    def sums(self, steps: Values) -> Values:
        """Add up the last axis of numbers of steps over the paths."""
        return np.add.reduceat(steps, self.begin, axis=-1)


class TreesExplainer(Explainer):
    """The scores of some labels in an ensemble of trees.

    Parameters
    ----------
    members : sequence of TrainedTree
        The trees.
    labels : ndarray of int32
        The labels; one that is not in a tree scores 0 there.
    rule : TreeScore
        How margins become scores.
    found : ndarray of bool, shape (n_labels, n_members)
        The trees whose search found each label; it counts as 0 in the others.
    missed : ndarray of bool, shape (n_labels,)
        The labels that no search found; all trees count for them.
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
        """Return the paths to labels that count, or None if there are none."""
        known = [np.flatnonzero(places >= 0) for places in self._places]
        if not any(map(len, known)):
            return None
        parts = [
            _native.label_paths(one.tree, one.weights, places[own], features)
            for one, places, own in zip(self._members, self._places, known, strict=True)
        ]
        n_steps = np.concatenate([np.diff(part.step_ptr) for part in parts])
        end = np.cumsum(n_steps)
        path = np.repeat(np.arange(len(end), dtype=np.int32), n_steps)
        following = end[path] - 1 - np.arange(end[-1])
        return _Paths(
            label=np.concatenate(known).astype(np.int32),
            member=np.repeat(np.arange(len(parts), dtype=np.int32), list(map(len, known))),
            path=path,
            begin=end - n_steps,
            nodes=np.concatenate([part.nodes for part in parts]),
            children=np.concatenate([part.outputs for part in parts]),
            discounts=self._rule.discount ** following.astype(np.float64),
            bias=np.concatenate([part.bias for part in parts]).astype(np.float64),
            weights=np.concatenate([part.weights for part in parts]).astype(np.float64),
        )

    def _mean(self, paths: _Paths, logs: Values) -> Values:
        """Return the mean scores of labels for the log scores of paths in the last axis."""
        share = np.zeros((len(paths.label), len(self._found)))
        share[np.arange(len(paths.label)), paths.label] = 1.0 / len(self._members)
        return np.asarray(np.exp(logs) @ share)

    def _scores(self, paths: _Paths, margins: Values) -> Values:
        return self._mean(paths, paths.sums(paths.discounts * self._rule.gain(margins)))

    def scores(self, X: Csr) -> Values:
        """Return the scores of the labels for the rows of a canonical matrix."""
        features, product = own_features(_native.unit_rows(X, n_threads=1))
        paths = self._paths(features)
        if paths is None:
            return np.zeros((X.shape[0], len(self._found)))
        return self._scores(paths, paths.bias + product(paths.weights))

    def attribute(self, row: Csr) -> Attribution:
        """Return the products of weights and values, as parts of the score."""
        return self.take_apart(row).attribution

    def take_apart(self, row: Csr) -> Parts:
        """Return the contributions to the scores of a row, and the scores without its entries."""
        n_labels = len(self._found)
        steps: list[list[Step]] = [[] for _ in range(n_labels)]
        contributions = np.zeros((n_labels, row.nnz))
        notes = search_notes(self._found, self._missed)
        paths = self._paths(row.indices)
        if paths is None:
            nothing, without = np.zeros(n_labels), np.zeros((row.nnz, n_labels))
            attribution = Attribution(contributions, steps, notes, FROM_WEIGHTS)
            return Parts(nothing, nothing, without, attribution)
        gain, c = self._rule.gain, paths.discounts
        summands = paths.weights * _native.unit_rows(row, n_threads=1).data.astype(np.float64)
        margins = paths.bias + summands.sum(axis=1)
        gains, base_gains = c * gain(margins), c * gain(paths.bias)
        logs, base_logs = paths.sums(gains), paths.sums(base_gains)
        means = logarithmic_mean(logs, base_logs) / len(self._members)
        slopes = c * secant(gain, margins, paths.bias) * means[paths.path]
        parts = summands * slopes[:, None]
        np.add.at(contributions, paths.label[paths.path], parts)
        for s, (label, member, node, child, score, base) in enumerate(
            zip(
                paths.label[paths.path].tolist(),
                paths.member[paths.path].tolist(),
                paths.nodes.tolist(),
                paths.children.tolist(),
                np.exp(gains).tolist(),
                np.exp(base_gains).tolist(),
                strict=True,
            )
        ):
            steps[label].append(Step(member, node, child, score, base, parts[s]))
        return Parts(
            self._mean(paths, logs),
            self._mean(paths, base_logs),
            self._scores(paths, paths.bias + sums_without(row, paths.weights)),
            Attribution(contributions, steps, notes, FROM_WEIGHTS),
        )
