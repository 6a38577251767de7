"""Codecs between estimators and model files, one module per package of estimators."""

from __future__ import annotations
