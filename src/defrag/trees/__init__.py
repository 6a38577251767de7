"""Trees over features, labels or points, and the vectors they are built from."""

from __future__ import annotations
