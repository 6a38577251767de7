"""Labels and points as short dense vectors: LEML, SLEEC, AnnexML."""

from __future__ import annotations

from defrag.classifiers.embeddings.leml import LEML

__all__ = ["LEML"]
