"""Public alias of :mod:`defrag.agglomeration.rivals`."""

from __future__ import annotations

from defrag.agglomeration.rivals import *  # noqa: F403 - everything in its __all__
from defrag.agglomeration.rivals import __all__ as __all__  # noqa: PLC0414
