"""The HTTP application: the routes of all modules, and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException

from defrag.serving import api, page, status
from defrag.serving.requests import RequestError
from defrag.serving.responses import http_error, request_error
from defrag.serving.service import Service

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.serving.limits import Limits
    from defrag.serving.models import ServedModel

__all__ = ["make_app"]

MODULES = (api, status, page)
"""Each has ``routes(service)``, which returns a list of routes."""


def make_app(
    models: Sequence[ServedModel], *, limits: Limits | None = None, token: str | None = None
) -> Starlette:
    """Return the application that serves some models.

    Parameters
    ----------
    models : sequence of ServedModel
        The models; the first answers requests that name none.
    limits : Limits, optional
        Bounds on requests.
    token : str, optional
        What clients must send as ``Authorization: Bearer ...`` to routes below ``/v1``.
    """
    service = Service(models, limits=limits, token=token)
    return Starlette(
        routes=[route for module in MODULES for route in module.routes(service)],
        exception_handlers={RequestError: request_error, HTTPException: http_error},
    )
