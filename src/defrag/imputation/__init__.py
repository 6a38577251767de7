"""Imputation of missing features before classification."""

from __future__ import annotations

from defrag.imputation.fiat import Fiat
from defrag.imputation.imputed import Imputed

__all__ = ["Fiat", "Imputed"]
