"""Feature agglomeration: features replaced by fewer groups of features."""

from __future__ import annotations

from defrag.agglomeration._clustering import FeatureClustering
from defrag.agglomeration.defrag import Defrag
from defrag.agglomeration.hybrid import Hybrid

__all__ = ["Defrag", "FeatureClustering", "Hybrid"]
