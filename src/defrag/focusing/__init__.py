"""Selection of the entries of points that a small supervised pilot finds important."""

from __future__ import annotations

from defrag.focusing.focus import Focus
from defrag.focusing.focused import Focused

__all__ = ["Focus", "Focused"]
