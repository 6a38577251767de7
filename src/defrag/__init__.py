"""Extreme multi-label classification that fits an ordinary CPU machine.

Public names are imported on first use: importing scikit-learn takes a second, which
``defrag --help`` and programs that only read files do not need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from defrag import registry

if TYPE_CHECKING:
    from defrag import metrics as metrics
    from defrag import rivals as rivals
    from defrag.agglomeration import *  # noqa: F403 - typed in that package
    from defrag.classifiers import *  # noqa: F403
    from defrag.focusing import *  # noqa: F403
    from defrag.imputation import *  # noqa: F403
    from defrag.io import load_dataset as load_dataset
    from defrag.io import read_xmc as read_xmc
    from defrag.io import write_xmc as write_xmc
    from defrag.persistence import load as load
    from defrag.reranking import *  # noqa: F403
    from defrag.text import *  # noqa: F403

_MODULES = {
    **{entry.name: entry.room for entry in registry.entries() if entry.public},
    "TopKPipeline": "defrag.classifiers",
    "load": "defrag.persistence",
    "load_dataset": "defrag.io",
    "read_xmc": "defrag.io",
    "write_xmc": "defrag.io",
}
_SUBPACKAGES = ("metrics", "rivals")

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
