"""Published methods to compare with: evidence, not a menu.

In the table of all classifiers, the best value of every column belongs to
:class:`~defrag.LabelTree`, :class:`~defrag.DiSMEC`, :class:`PPDSparse` or :class:`ProXML`. The
others are complete and reach their published accuracy, so that a comparison with them means
something.
"""

from __future__ import annotations

from defrag.baselines.annexml import AnnexML
from defrag.baselines.clusterings import (
    BCLS,
    ITDC,
    LSC,
    SCBC,
    HashGroups,
    RandomGroups,
    TopFeatures,
)
from defrag.baselines.forests import CRAFTML, FastXML, PfastreXML
from defrag.baselines.label_trees import PLT, Bonsai, Parabel
from defrag.baselines.leml import LEML
from defrag.baselines.lpsr import LPSR
from defrag.baselines.one_vs_rest import PPDSparse, ProXML
from defrag.baselines.sleec import SLEEC

__all__ = [
    "BCLS",
    "CRAFTML",
    "ITDC",
    "LEML",
    "LPSR",
    "LSC",
    "PLT",
    "SCBC",
    "SLEEC",
    "AnnexML",
    "Bonsai",
    "FastXML",
    "HashGroups",
    "PPDSparse",
    "Parabel",
    "PfastreXML",
    "ProXML",
    "RandomGroups",
    "TopFeatures",
]
