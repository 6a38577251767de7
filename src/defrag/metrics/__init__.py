"""Metrics of rankings, of clusterings of features, and of robustness to missing features."""

from __future__ import annotations

from defrag._propensity import inverse_propensity
from defrag.metrics.alignment import Predictions, Truth, align, read_any_predictions
from defrag.metrics.clustering import (
    ClusteringError,
    balance,
    clustering_error,
    evaluate_clustering,
    loss_of_mutual_information,
    mutual_information,
    normalised_entropy,
)
from defrag.metrics.description import describe_groups, describe_points, describe_texts
from defrag.metrics.erasure import ErasureCurve, erase_features, erasure_curve
from defrag.metrics.ranking import (
    MacroPrecision,
    coverage,
    evaluate,
    macro_precision,
    ndcg,
    precision,
    psndcg,
    psp,
    recall,
)

__all__ = [
    "ClusteringError",
    "ErasureCurve",
    "MacroPrecision",
    "Predictions",
    "Truth",
    "align",
    "balance",
    "clustering_error",
    "coverage",
    "describe_groups",
    "describe_points",
    "describe_texts",
    "erase_features",
    "erasure_curve",
    "evaluate",
    "evaluate_clustering",
    "inverse_propensity",
    "loss_of_mutual_information",
    "macro_precision",
    "mutual_information",
    "ndcg",
    "normalised_entropy",
    "precision",
    "psndcg",
    "psp",
    "read_any_predictions",
    "recall",
]
