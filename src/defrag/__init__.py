"""Extreme multi-label classification that fits an ordinary CPU machine."""

from __future__ import annotations

from importlib.metadata import version

from defrag import metrics
from defrag.agglomeration import Defrag, Hybrid
from defrag.io import load_dataset, read_xmc, write_xmc

__all__ = ["Defrag", "Hybrid", "load_dataset", "metrics", "read_xmc", "write_xmc"]
__version__ = version("defrag")
