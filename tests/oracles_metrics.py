"""Slow twins of the metrics: dense arrays and double loops."""

from __future__ import annotations

import math

import numpy as np


def pool(X, labels, n_clusters):
    pooled = np.zeros((X.shape[0], n_clusters))
    for j, group in enumerate(labels):
        if group >= 0:
            pooled[:, group] += X[:, j]
    return pooled


def information(X, Y, marginals):
    joint = X.T @ Y
    total = joint.sum()
    if total == 0:
        return 0.0
    joint /= total
    if marginals == "joint":
        by_feature, by_label = joint.sum(axis=1), joint.sum(axis=0)
    else:
        by_feature, by_label = X.sum(axis=0) / X.sum(), Y.sum(axis=0) / Y.sum()
    value = 0.0
    for j in range(joint.shape[0]):
        for label in range(joint.shape[1]):
            if joint[j, label] > 0:
                ratio = joint[j, label] / (by_feature[j] * by_label[label])
                value += joint[j, label] * math.log(ratio)
    return value


def clustering_errors(X, labels, n_clusters):
    errors = []
    for k in range(n_clusters):
        inside = [j for j, group in enumerate(labels) if group == k]
        columns = X[:, inside]
        centre = columns.mean(axis=1, keepdims=True) if inside else 0.0
        errors.append(math.sqrt(((columns - centre) ** 2).sum()))
    return errors
