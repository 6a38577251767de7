"""Clusterings of features that the paper compares DEFRAG with, and three trivial ones."""

from __future__ import annotations

from defrag.baselines.clusterings.bcls import BCLS
from defrag.baselines.clusterings.itdc import ITDC
from defrag.baselines.clusterings.lsc import LSC
from defrag.baselines.clusterings.scbc import SCBC
from defrag.baselines.clusterings.simple import HashGroups, RandomGroups, TopFeatures

__all__ = ["BCLS", "ITDC", "LSC", "SCBC", "HashGroups", "RandomGroups", "TopFeatures"]
