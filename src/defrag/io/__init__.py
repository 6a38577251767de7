"""Files in and out: data sets, groups, predictions, models."""

from __future__ import annotations

from defrag.io.xmc_text import read_xmc

__all__ = ["read_xmc"]
