"""Missing features: rows imputed before they are classified."""

from __future__ import annotations

from defrag.imputation.fiat import Fiat
from defrag.imputation.imputed import Imputed

__all__ = ["Fiat", "Imputed"]
