"""Published methods to compare with: evidence, not a menu.

In the table of all classifiers, the best value of every column belongs to
:class:`~defrag.LabelTree`, :class:`~defrag.DiSMEC`, :class:`PPDSparse` or :class:`ProXML`. The
others are complete and reach their published accuracy, so that a comparison with them means
something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from defrag import registry

if TYPE_CHECKING:
    from defrag.baselines.annexml import AnnexML
    from defrag.baselines.clusterings.bcls import BCLS
    from defrag.baselines.clusterings.itdc import ITDC
    from defrag.baselines.clusterings.lsc import LSC
    from defrag.baselines.clusterings.scbc import SCBC
    from defrag.baselines.clusterings.simple import HashGroups, RandomGroups, TopFeatures
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


def __getattr__(name: str) -> Any:
    # Imported on first use: a model file of one method needs no others.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return next(entry.estimator() for entry in registry.entries() if entry.name == name)


def __dir__() -> list[str]:
    return sorted(__all__)
