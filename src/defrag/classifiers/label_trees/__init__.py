"""Label trees: LabelTree, Parabel, Bonsai, PLT."""

from __future__ import annotations

from defrag.classifiers.label_trees.bonsai import Bonsai
from defrag.classifiers.label_trees.label_tree import LabelTree
from defrag.classifiers.label_trees.parabel import Parabel
from defrag.classifiers.label_trees.plt import PLT

__all__ = ["PLT", "Bonsai", "LabelTree", "Parabel"]
