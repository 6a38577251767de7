"""Slow twins of label tree training and beam search: dense, one node and one row at a time."""

import numpy as np

from defrag._native import LabelTreeArrays


def flat_tree(nested):
    """Make the arrays of a tree given as nested lists whose innermost lists hold labels."""
    order, spans = [], {}

    def walk(node):
        begin = len(order)
        for child in node:
            if isinstance(child, list):
                walk(child)
            else:
                order.append(child)
        spans[id(node)] = (begin, len(order))

    walk(nested)
    queue, first_child, n_children = [nested], [], []
    for node in queue:
        children = [child for child in node if isinstance(child, list)]
        first_child.append(len(queue) if children else 0)
        n_children.append(len(children))
        queue += children
    begin, end = zip(*(spans[id(node)] for node in queue), strict=True)
    arrays = (first_child, n_children, begin, end, order)
    return LabelTreeArrays(*(np.array(array, dtype=np.int32) for array in arrays))


def random_tree(labels, draw, max_children=4, max_leaf=5):
    """Draw nested lists over labels; depths differ from branch to branch."""
    labels = list(labels)
    if (len(labels) <= max_leaf and draw.random() < 0.7) or len(labels) < 2:
        return labels
    n_children = int(draw.integers(2, min(max_children, len(labels)) + 1))
    cuts = np.sort(draw.choice(np.arange(1, len(labels)), n_children - 1, replace=False))
    return [
        random_tree(part, draw, max_children, max_leaf) for part in np.split(np.array(labels), cuts)
    ]


def children_of(tree, node):
    """Return the label ranges of the outputs of a node."""
    if tree.n_children[node] == 0:
        return [[label] for label in tree.order[tree.begin[node] : tree.end[node]]]
    first = tree.first_child[node]
    return [
        tree.order[tree.begin[child] : tree.end[child]]
        for child in range(first, first + tree.n_children[node])
    ]


def node_problem(tree, node, X, Y, negatives=()):
    """Return the rows of a node and which of them are positive for each output."""
    outputs = [Y[:, labels].any(axis=1) for labels in children_of(tree, node)]
    targets = np.stack(outputs, axis=1)
    rows = np.union1d(np.flatnonzero(targets.any(axis=1)), negatives).astype(int)
    return X[rows], targets[rows]


def dense_classifiers(weights, node, n_features):
    """Unpack the classifiers of a node: features by outputs, and the bias."""
    bias = weights.bias[weights.bias_ptr[node] : weights.bias_ptr[node + 1]]
    dense = np.zeros((n_features, len(bias)), dtype=np.float32)
    for f in range(weights.feature_ptr[node], weights.feature_ptr[node + 1]):
        for e in range(weights.entry_ptr[f], weights.entry_ptr[f + 1]):
            dense[weights.features[f], weights.outputs[e]] = weights.weights[e]
    return dense, bias


def margins_of(weights, node, x):
    """Add up in the order of the features, in float32, as the kernel does."""
    dense, bias = dense_classifiers(weights, node, len(x))
    total = bias.copy()
    for feature in np.flatnonzero(x):
        total += dense[feature] * x[feature]
    return total


def loss_of(margin, *, loss, power):
    """Return what a margin takes from the log score, in float32."""
    if loss == "logistic":
        return np.float32(np.logaddexp(0.0, -np.float64(margin)))
    slack = max(np.float32(0.0), np.float32(1.0) - margin)
    return slack * slack * slack if power == 3 else slack * slack


def last_beam(tree, weights, x, *, loss, beam_size, discount, power=2):
    """Search one row level by level; gives the (score, leaf) pairs of the last level."""
    beam = [(np.float32(0.0), 0)]
    while any(tree.n_children[node] for _, node in beam):
        following = []
        for score, node in beam:
            if tree.n_children[node] == 0:
                following.append((score, node))
                continue
            margins = margins_of(weights, node, x)
            first = int(tree.first_child[node])
            following += [
                (score * discount - loss_of(z, loss=loss, power=power), first + i)
                for i, z in enumerate(margins)
            ]
        beam = sorted(following, key=lambda item: (-item[0], item[1]))[:beam_size]
    return beam


def search(tree, weights, x, *, loss, beam_size, k, discount, leaf_discount=None, power=2):
    """Search one row level by level; gives (score, label) pairs, best first."""
    leaf_discount = discount if leaf_discount is None else leaf_discount
    options = {"loss": loss, "beam_size": beam_size, "discount": discount, "power": power}
    found = []
    for score, node in last_beam(tree, weights, x, **options):
        margins = margins_of(weights, node, x)
        labels = tree.order[tree.begin[node] : tree.end[node]].tolist()
        found += [
            (score * leaf_discount - loss_of(z, loss=loss, power=power), label)
            for label, z in zip(labels, margins, strict=True)
        ]
    return sorted(found, key=lambda item: (-item[0], item[1]))[:k]


def search_trees(trees, x, *, k, **options):
    """Search one row in (tree, weights) pairs; gives (mean score, label) pairs, best first."""
    listed, scores = set(), {}
    for number, (tree, weights) in enumerate(trees):
        found = search(tree, weights, x, k=len(tree.order), **options)
        listed.update(label for _, label in found[: k + 5])
        for log, label in found:
            scores.setdefault(label, [np.float32(0.0)] * len(trees))[number] = np.exp(log)
    means = [(sum(scores[label]) / np.float32(len(trees)), label) for label in listed]
    return sorted(means, key=lambda item: (-item[0], item[1]))[:k]


def inspect_entries(feature_ptr, widths, sizes, outputs):
    """Return every eighth beginning, the first entry that does not rise and the first too large."""
    ends = np.cumsum(sizes)
    not_rising, too_large = -1, -1
    for node, width in enumerate(widths):
        for f in range(feature_ptr[node], feature_ptr[node + 1]):
            for e in range(ends[f] - sizes[f], ends[f]):
                if e > ends[f] - sizes[f] and outputs[e] <= outputs[e - 1] and not_rising < 0:
                    not_rising = e
                if outputs[e] >= width and too_large < 0:
                    too_large = e
    return [0, *ends.tolist()][::8], not_rising, too_large


def pack_bits(values, ends, widths):
    """Return runs of numbers in as many bits as their run needs, the first in the lowest bits."""
    number, place, begin = 0, 0, 0
    for end, width in zip(ends, widths, strict=True):
        for value in values[begin:end]:
            number |= (int(value) % 2 ** int(width)) << place
            place += int(width)
        begin = end
    return number.to_bytes(-(-place // 8), "little")
