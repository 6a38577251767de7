"""Explanations of scores: as data, on a terminal and in notebooks."""

from __future__ import annotations

from defrag.explain.explanation import (
    Contribution,
    Explanation,
    Explanations,
    LabelFeatures,
    Segment,
)
from defrag.explain.parts import Attribution, Step

__all__ = [
    "Attribution",
    "Contribution",
    "Explanation",
    "Explanations",
    "LabelFeatures",
    "Segment",
    "Step",
]
