"""Classifiers, each a setting of the shared tree, solver and search."""

from __future__ import annotations

from defrag.classifiers.agglomerated import Agglomerated
from defrag.classifiers.label_tree import LabelTree, Parabel

__all__ = ["Agglomerated", "LabelTree", "Parabel"]
