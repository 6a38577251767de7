"""Classifiers, each a setting of the shared tree, solver and search."""

from __future__ import annotations

from defrag.classifiers.agglomerated import Agglomerated
from defrag.classifiers.embeddings import LEML
from defrag.classifiers.label_trees import PLT, Bonsai, LabelTree, Parabel
from defrag.classifiers.one_vs_rest import DiSMEC, PPDSparse, ProXML
from defrag.classifiers.pipeline import TopKPipeline

__all__ = [
    "LEML",
    "PLT",
    "Agglomerated",
    "Bonsai",
    "DiSMEC",
    "LabelTree",
    "PPDSparse",
    "Parabel",
    "ProXML",
    "TopKPipeline",
]
