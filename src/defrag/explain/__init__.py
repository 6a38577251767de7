"""Explanations of scores: as data, on a terminal and in notebooks."""

from __future__ import annotations

from defrag.explain.explanation import (
    Contribution,
    Explanation,
    Explanations,
    LabelFeatures,
    Segment,
)
from defrag.explain.parts import Step

__all__ = ["Contribution", "Explanation", "Explanations", "LabelFeatures", "Segment", "Step"]
