"""Rare labels: the labels of a classifier ranked again."""

from __future__ import annotations

from defrag.reranking.refrag import Refrag

__all__ = ["Refrag"]
