"""Feature agglomeration: features replaced by fewer groups of features."""

from __future__ import annotations

from defrag.agglomeration._clustering import FeatureClustering
from defrag.agglomeration.agglomerated import Agglomerated
from defrag.agglomeration.defrag import Defrag, Hybrid
from defrag.agglomeration.given import GivenGroups
from defrag.agglomeration.tight import Tight

__all__ = ["Agglomerated", "Defrag", "FeatureClustering", "GivenGroups", "Hybrid", "Tight"]
