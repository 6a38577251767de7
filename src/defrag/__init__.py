"""Extreme multi-label classification that fits an ordinary CPU machine."""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("defrag")
