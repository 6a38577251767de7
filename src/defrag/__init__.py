"""Extreme multi-label classification that fits an ordinary CPU machine."""

from __future__ import annotations

from importlib.metadata import version

from defrag.agglomeration import Defrag, Hybrid

__all__ = ["Defrag", "Hybrid"]
__version__ = version("defrag")
