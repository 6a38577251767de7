"""HTTP server for models: suggestions and explanations as JSON."""

from __future__ import annotations

from defrag.serving.app import make_app
from defrag.serving.models import ServedModel
from defrag.serving.settings import Limits

__all__ = ["Limits", "ServedModel", "make_app"]
