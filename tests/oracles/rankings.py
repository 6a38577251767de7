"""Slow twins of what ranks labels: flat weights, candidates, labels that stand for others."""

import numpy as np

from tests.oracles.embeddings import best_columns


def dense_weights(model, n_features):
    """Unpack weights into (features, outputs)."""
    result = np.zeros((n_features, len(model.labels)), np.float32)
    for feature in range(n_features):
        for e in range(model.feature_ptr[feature], model.feature_ptr[feature + 1]):
            result[feature, model.outputs[e]] = model.weights[e]
    return result


def rank_all_labels(model, X, k):
    """Compute the margins of all labels, as float32 sums in feature order, and sort them."""
    weights = dense_weights(model, X.shape[1])
    margins = np.tile(model.bias, (X.shape[0], 1))
    for row, own in enumerate(X):
        for feature, value in zip(own.indices, own.data, strict=True):
            margins[row] += weights[feature] * value
    chances = (1 / (1 + np.exp(-margins.astype(np.float64)))).astype(np.float32)
    places, scores = best_columns(chances, k)
    return np.where(places < 0, -1, model.labels[places]), scores


def rank_candidates(labels, log_scores, cosines, bonus, *, strength, weight, k):
    """Sort the candidates of one row."""
    items = [
        (-(log + strength * cosine + weight * bonus[label]), label, column)
        for column, (label, log, cosine) in enumerate(zip(labels, log_scores, cosines, strict=True))
        if label >= 0
    ]
    columns = [column for _, _, column in sorted(items)[:k]]
    return columns + [-1] * (k - len(columns))


def redirect(labels, scores, current, k):
    """Return what ``defrag.text._labels.redirect`` keeps of each row, as triples."""
    rows = []
    for row in zip(labels.tolist(), scores.tolist(), strict=True):
        kept = {}
        for label, score in zip(*row, strict=True):
            if label >= 0 and current[label] >= 0:
                kept.setdefault(int(current[label]), (score, label))
        rows.append([(now, *kept[now]) for now in kept][:k])
    return rows
