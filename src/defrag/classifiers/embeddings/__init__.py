"""Labels and points as short dense vectors: LEML, SLEEC, AnnexML."""

from __future__ import annotations

from defrag.classifiers.embeddings.annexml import AnnexML
from defrag.classifiers.embeddings.leml import LEML
from defrag.classifiers.embeddings.sleec import SLEEC

__all__ = ["LEML", "SLEEC", "AnnexML"]
