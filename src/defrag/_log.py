"""The logger ``defrag``, which is silent unless a program configures logging.

``logging.basicConfig(level=logging.INFO)`` shows what is fitted and how long it took.
"""

from __future__ import annotations

import logging

__all__ = ["logger"]

logger = logging.getLogger("defrag")
logger.addHandler(logging.NullHandler())
