"""Forests over points: FastXML, PfastreXML."""

from __future__ import annotations

from defrag.classifiers.forests.fastxml import FastXML
from defrag.classifiers.forests.pfastrexml import PfastreXML

__all__ = ["FastXML", "PfastreXML"]
