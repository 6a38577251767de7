"""Forests over points: FastXML."""

from __future__ import annotations

from defrag.classifiers.forests.fastxml import FastXML

__all__ = ["FastXML"]
