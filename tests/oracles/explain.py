"""Slow twins of explanations: gradients summed up along a line, paths found by looking."""

import numpy as np

from tests.oracles.label_trees import children_of, dense_classifiers


def path_to(tree, label):
    """Walk from the root to a label; gives (node, output) pairs."""
    node, path = 0, []
    while True:
        output = next(i for i, labels in enumerate(children_of(tree, node)) if label in labels)
        path.append((node, output))
        if tree.n_children[node] == 0:
            return path
        node = int(tree.first_child[node]) + output


def _gain(margin, loss, power):
    if loss == "logistic":
        return -np.logaddexp(0.0, -margin)
    return -(max(0.0, 1 - margin) ** power)


def step_parts(tree, weights, label, x, *, loss, discount, leaf_discount, power):
    """Take the score of a label for a dense row apart; gives (score, base, parts) of each step.

    The parts are shares of the change of the step's log score in proportion to the summands of
    its margin, scaled so that those of all steps add up to the change of the score.
    """
    path = path_to(tree, label)
    found, change = [], 0.0
    for depth, (node, output) in enumerate(path):
        dense, bias = dense_classifiers(weights, node, len(x))
        summands = dense[:, output].astype(np.float64) * x
        start = float(bias[output])
        n_after = len(path) - 1 - depth  # steps, before each of which the score is discounted
        c = np.prod([1.0, leaf_discount, *[discount] * n_after][: n_after + 1])
        at, base = (c * _gain(m, loss, power) for m in (start + summands.sum(), start))
        total = summands.sum()
        parts = summands * (at - base) / total if total else 0 * summands
        change += at - base
        found.append((np.exp(at), np.exp(base), parts))
    score, none = np.prod([one[0] for one in found]), np.prod([one[1] for one in found])
    scale = (score - none) / change if change else score
    return [(at, base, parts * scale) for at, base, parts in found]


def tree_score(tree, weights, label, n_features, *, loss, discount, leaf_discount, power):
    """Return the function that scores a label for a dense row, which is taken as it is."""
    classifiers = []
    for node, output in path_to(tree, label):
        dense, bias = dense_classifiers(weights, node, n_features)
        classifiers.append((dense[:, output].astype(np.float64), float(bias[output])))

    def score(x):
        total = 0.0
        for depth, (weight, start) in enumerate(classifiers):
            total *= leaf_discount if depth == len(classifiers) - 1 else discount
            total += _gain(start + float(weight @ x), loss, power)
        return np.exp(total)

    return score


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
