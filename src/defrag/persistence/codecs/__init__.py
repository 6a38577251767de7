"""How each kind of estimator is written to a model file and read back, one module per room."""

from __future__ import annotations
