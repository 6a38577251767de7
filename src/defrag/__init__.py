"""Extreme multi-label classification that fits an ordinary CPU machine.

Names are loaded when they are first used: scikit-learn alone takes a second to import,
which ``defrag --help`` and programs that only read files should not pay for.
"""

from __future__ import annotations

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from defrag import metrics
    from defrag.agglomeration import Defrag, Hybrid
    from defrag.classifiers import (
        PLT,
        Agglomerated,
        Bonsai,
        DiSMEC,
        LabelTree,
        Parabel,
        PPDSparse,
        ProXML,
    )
    from defrag.imputation import Fiat, Imputed
    from defrag.io import load_dataset, read_xmc, write_xmc
    from defrag.persistence import load
    from defrag.reranking import Refrag

__all__ = [
    "PLT",
    "Agglomerated",
    "Bonsai",
    "Defrag",
    "DiSMEC",
    "Fiat",
    "Hybrid",
    "Imputed",
    "LabelTree",
    "PPDSparse",
    "Parabel",
    "ProXML",
    "Refrag",
    "load",
    "load_dataset",
    "metrics",
    "read_xmc",
    "write_xmc",
]
__version__ = version("defrag")

_HOMES = {
    "PLT": "defrag.classifiers",
    "Agglomerated": "defrag.classifiers",
    "Bonsai": "defrag.classifiers",
    "Defrag": "defrag.agglomeration",
    "DiSMEC": "defrag.classifiers",
    "Fiat": "defrag.imputation",
    "Hybrid": "defrag.agglomeration",
    "Imputed": "defrag.imputation",
    "LabelTree": "defrag.classifiers",
    "PPDSparse": "defrag.classifiers",
    "Parabel": "defrag.classifiers",
    "Refrag": "defrag.reranking",
    "ProXML": "defrag.classifiers",
    "load": "defrag.persistence",
    "load_dataset": "defrag.io",
    "read_xmc": "defrag.io",
    "write_xmc": "defrag.io",
}


def __getattr__(name: str) -> Any:
    if name == "metrics":
        return importlib.import_module("defrag.metrics")
    if name not in _HOMES:
        raise AttributeError(f"module 'defrag' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
