"""Forests over points: FastXML, PfastreXML, CRAFTML."""

from __future__ import annotations

from defrag.classifiers.forests.craftml import CRAFTML
from defrag.classifiers.forests.fastxml import FastXML
from defrag.classifiers.forests.pfastrexml import PfastreXML

__all__ = ["CRAFTML", "FastXML", "PfastreXML"]
