"""Other clusterings of features, and the baselines that a sceptic asks for.

All have the interface of :class:`defrag.Defrag`: ``fit``, ``transform``, ``labels_``,
``n_clusters_``, ``save``.
"""

from __future__ import annotations

from defrag.rivals.baselines import HashGroups, RandomGroups, TopFeatures
from defrag.rivals.bcls import BCLS
from defrag.rivals.itdc import ITDC
from defrag.rivals.lsc import LSC
from defrag.rivals.scbc import SCBC

__all__ = ["BCLS", "ITDC", "LSC", "SCBC", "HashGroups", "RandomGroups", "TopFeatures"]
