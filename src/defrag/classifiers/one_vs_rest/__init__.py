"""One linear classifier per label: DiSMEC, PPDSparse, ProXML."""

from __future__ import annotations

from defrag.classifiers.one_vs_rest.dismec import DiSMEC
from defrag.classifiers.one_vs_rest.ppd_sparse import PPDSparse
from defrag.classifiers.one_vs_rest.proxml import ProXML

__all__ = ["DiSMEC", "PPDSparse", "ProXML"]
