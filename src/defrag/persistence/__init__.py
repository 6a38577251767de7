"""Models in files: everything that knows the model file."""

from __future__ import annotations

from defrag.persistence._model import KINDS, describe, load, save

__all__ = ["KINDS", "describe", "load", "save"]
