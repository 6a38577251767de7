"""Other clusterings of features, and baselines: the public name of the room."""

from __future__ import annotations

from defrag.agglomeration.rivals import *  # noqa: F403 - its __all__ is ours
from defrag.agglomeration.rivals import __all__ as __all__  # noqa: PLC0414
