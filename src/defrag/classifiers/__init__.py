"""Classifiers."""

from __future__ import annotations

from defrag.classifiers.agglomerated import Agglomerated
from defrag.classifiers.embeddings import LEML, SLEEC, AnnexML
from defrag.classifiers.forests import CRAFTML, FastXML, PfastreXML
from defrag.classifiers.label_trees import PLT, Bonsai, LabelTree, Parabel
from defrag.classifiers.lpsr import LPSR
from defrag.classifiers.one_vs_rest import DiSMEC, PPDSparse, ProXML
from defrag.classifiers.pipeline import TopKPipeline

__all__ = [
    "CRAFTML",
    "LEML",
    "LPSR",
    "PLT",
    "SLEEC",
    "Agglomerated",
    "AnnexML",
    "Bonsai",
    "DiSMEC",
    "FastXML",
    "LabelTree",
    "PPDSparse",
    "Parabel",
    "PfastreXML",
    "ProXML",
    "TopKPipeline",
]
