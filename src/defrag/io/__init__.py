"""Files in and out: data sets, groups, predictions, models."""

from __future__ import annotations
