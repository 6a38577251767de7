"""The field's metrics: of rankings, of rare labels, of clusterings."""

from __future__ import annotations

from defrag.metrics.clustering import (
    ClusteringError,
    balance,
    clustering_error,
    evaluate_clustering,
    loss_of_mutual_information,
    mutual_information,
    normalised_entropy,
)

__all__ = [
    "ClusteringError",
    "balance",
    "clustering_error",
    "evaluate_clustering",
    "loss_of_mutual_information",
    "mutual_information",
    "normalised_entropy",
]
