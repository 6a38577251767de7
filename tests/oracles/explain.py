"""Slow twins of explanations: gradients summed up along a line, paths found by looking."""

from __future__ import annotations

import numpy as np

from tests.oracles.label_trees import children_of, dense_classifiers

__all__ = ["integrated_gradients", "path_to", "tree_score"]


def path_to(tree, label):
    """Walk from the root to a label; gives (node, output) pairs."""
    node, path = 0, []
    while True:
        output = next(i for i, labels in enumerate(children_of(tree, node)) if label in labels)
        path.append((node, output))
        if tree.n_children[node] == 0:
            return path
        node = int(tree.first_child[node]) + output


def tree_score(tree, weights, label, x, *, loss, discount, power):
    """Score a label for a dense row that is taken as it is."""
    total = 0.0
    for node, output in path_to(tree, label):
        dense, bias = dense_classifiers(weights, node, len(x))
        margin = float(bias[output]) + float(dense[:, output].astype(np.float64) @ x)
        gain = (
            -np.logaddexp(0.0, -margin) if loss == "logistic" else -(max(0.0, 1 - margin) ** power)
        )
        total = total * discount + gain
    return np.exp(total)


def integrated_gradients(log_score, x, n_steps=400):
    """Add up the gradients of a log score from the empty row to x, by differences."""
    total = np.zeros(len(x))
    h = 1e-5
    for step in (np.arange(n_steps) + 0.5) / n_steps:
        for j in np.flatnonzero(x):
            moved = step * x
            moved[j] += h
            above = log_score(moved)
            moved[j] -= 2 * h
            total[j] += (above - log_score(moved)) / (2 * h)
    return total * x / n_steps
