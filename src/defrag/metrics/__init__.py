"""Metrics of rankings, of clusterings of features, and of robustness to missing features."""

from __future__ import annotations

from defrag._propensity import inverse_propensity
from defrag.metrics.alignment import Predictions, Truth, align, read_any_predictions
from defrag.metrics.clustering import balance, evaluate_clustering, normalised_entropy
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
    "ErasureCurve",
    "MacroPrecision",
    "Predictions",
    "Truth",
    "align",
    "balance",
    "coverage",
    "describe_groups",
    "describe_points",
    "describe_texts",
    "erase_features",
    "erasure_curve",
    "evaluate",
    "evaluate_clustering",
    "inverse_propensity",
    "macro_precision",
    "ndcg",
    "normalised_entropy",
    "precision",
    "psndcg",
    "psp",
    "read_any_predictions",
    "recall",
]
