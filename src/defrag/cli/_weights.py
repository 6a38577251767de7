"""Types of weights in model files."""

from __future__ import annotations

from enum import Enum

__all__ = ["Weights"]


class Weights(str, Enum):
    """Types of stored weights."""

    float32 = "float32"
    float16 = "float16"
    int8 = "int8"
