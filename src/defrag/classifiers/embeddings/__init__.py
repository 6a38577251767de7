"""Classifiers that embed labels or points in few dimensions: LEML, SLEEC, AnnexML."""

from __future__ import annotations

from defrag.classifiers.embeddings.annexml import AnnexML
from defrag.classifiers.embeddings.leml import LEML
from defrag.classifiers.embeddings.sleec import SLEEC

__all__ = ["LEML", "SLEEC", "AnnexML"]
