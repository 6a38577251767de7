"""Classifiers, each a setting of the shared tree, solver and search."""

from __future__ import annotations

from defrag.classifiers.agglomerated import Agglomerated
from defrag.classifiers.bonsai import Bonsai
from defrag.classifiers.dismec import DiSMEC
from defrag.classifiers.label_tree import LabelTree, Parabel
from defrag.classifiers.plt import PLT
from defrag.classifiers.ppd_sparse import PPDSparse
from defrag.classifiers.proxml import ProXML

__all__ = ["PLT", "Agglomerated", "Bonsai", "DiSMEC", "LabelTree", "PPDSparse", "Parabel", "ProXML"]
