"""The two classifiers that we recommend, and the contract that all classifiers keep."""

from __future__ import annotations

from defrag.classifiers.label_tree import LabelTree
from defrag.classifiers.one_vs_rest import DiSMEC

__all__ = ["DiSMEC", "LabelTree"]
