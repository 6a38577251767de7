"""Slow twin of the search through flat weights."""

import numpy as np


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
    labels = np.full((X.shape[0], k), -1, np.int32)
    scores = np.zeros((X.shape[0], k), np.float32)
    for row in range(X.shape[0]):
        margins = model.bias.copy()
        for p in range(X.indptr[row], X.indptr[row + 1]):
            margins += weights[X.indices[p]] * X.data[p]
        chances = (1 / (1 + np.exp(-margins.astype(np.float64)))).astype(np.float32)
        best = np.lexsort((model.labels, -chances))[:k]
        labels[row, : len(best)] = model.labels[best]
        scores[row, : len(best)] = chances[best]
    return labels, scores
