"""Clusterings of features other than Defrag, and simple baselines.

All have the interface of :class:`defrag.Defrag`: ``fit``, ``transform``, ``labels_``,
``n_clusters_``, ``save``.
"""

from __future__ import annotations

from defrag.agglomeration.rivals.baselines import HashGroups, RandomGroups, TopFeatures
from defrag.agglomeration.rivals.bcls import BCLS
from defrag.agglomeration.rivals.itdc import ITDC
from defrag.agglomeration.rivals.lsc import LSC
from defrag.agglomeration.rivals.scbc import SCBC

__all__ = ["BCLS", "ITDC", "LSC", "SCBC", "HashGroups", "RandomGroups", "TopFeatures"]
