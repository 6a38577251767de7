"""Save, load and describe models; only this package knows the model file."""

from __future__ import annotations

from defrag.persistence._model import describe, load, pack, save, unpack

__all__ = ["describe", "load", "pack", "save", "unpack"]
