"""Re-ranking of the labels of a classifier in favour of rare labels."""

from __future__ import annotations

from defrag.reranking.refrag import Refrag

__all__ = ["Refrag"]
