"""Extreme multi-label classification that fits an ordinary CPU machine.

Public names are imported on first use, and scikit-learn only when something needs it: importing
it takes longer than loading a model and predicting with it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from defrag import baselines as baselines
    from defrag import metrics as metrics
    from defrag.agglomeration import Agglomerated as Agglomerated
    from defrag.agglomeration import Defrag as Defrag
    from defrag.classifiers import DiSMEC as DiSMEC
    from defrag.classifiers import LabelTree as LabelTree
    from defrag.focusing import Focus as Focus
    from defrag.focusing import Focused as Focused
    from defrag.imputation import Fiat as Fiat
    from defrag.imputation import Imputed as Imputed
    from defrag.io import load_dataset as load_dataset
    from defrag.persistence import load as load
    from defrag.reranking import Refrag as Refrag
    from defrag.text import TextClassifier as TextClassifier
    from defrag.text import TextVectorizer as TextVectorizer
    from defrag.thesaurus import Thesaurus as Thesaurus

# A dozen names; everything else is imported from its room, such as ``defrag.baselines``.
_MODULES = {
    "TextClassifier": "defrag.text",
    "TextVectorizer": "defrag.text",
    "Thesaurus": "defrag.thesaurus",
    "LabelTree": "defrag.classifiers",
    "DiSMEC": "defrag.classifiers",
    "Focus": "defrag.focusing",
    "Focused": "defrag.focusing",
    "Defrag": "defrag.agglomeration",
    "Agglomerated": "defrag.agglomeration",
    "Refrag": "defrag.reranking",
    "Fiat": "defrag.imputation",
    "Imputed": "defrag.imputation",
    "load": "defrag.persistence",
    "load_dataset": "defrag.io",
}
_SUBPACKAGES = ("baselines", "metrics")

__all__ = [*_MODULES, *_SUBPACKAGES]  # noqa: PLE0604 - all are strings


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"defrag.{name}")
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - rarely needed

        value: Any = version("defrag")
    elif name in _MODULES:
        value = getattr(importlib.import_module(_MODULES[name]), name)
    else:
        raise AttributeError(f"module 'defrag' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
