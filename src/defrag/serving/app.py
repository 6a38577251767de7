"""The HTTP application: the routes of all modules, and error handlers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.routing import Route

from defrag.serving import annif, api, documents, page, status
from defrag.serving.gate import Gate
from defrag.serving.requests import RequestError
from defrag.serving.responses import client_left, http_error, request_error, server_error
from defrag.serving.service import Service

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.serving.limits import Limits
    from defrag.serving.models import ServedModel
    from defrag.serving.vocabulary import Vocabulary

__all__ = ["app_of", "make_app"]

MODULES = (api, annif, status, documents, page)
"""Modules with a function ``routes(service)`` that returns a list of routes."""


def make_app(
    models: Sequence[ServedModel],
    *,
    limits: Limits | None = None,
    token: str | None = None,
    vocabulary: Vocabulary | None = None,
) -> Starlette:
    """Return the application that serves some models.

    Parameters
    ----------
    models : sequence of ServedModel
        The models; the first is the default.
    limits : Limits, optional
        Bounds on requests.
    token : str, optional
        Token that clients must send as ``Authorization: Bearer ...`` to routes below ``/v1``.
    vocabulary : Vocabulary, optional
        Names of labels, and the subjects that Annif's routes may suggest.
    """
    service = Service(models, limits=limits, token=token, vocabulary=vocabulary)
    service.metrics.count_in(1, os.getpid())
    return app_of(service)


def app_of(service: Service) -> Starlette:
    """Return the application whose routes share a service."""
    routes = [route for module in MODULES for route in module.routes(service)]
    paths: dict[object, str] = {
        route.endpoint: route.path for route in routes if isinstance(route, Route)
    }

    service.metrics.add_routes(list(paths.values()))
    return Starlette(
        routes=routes,
        middleware=[Middleware(Gate, service=service, paths=paths)],
        exception_handlers={
            RequestError: request_error,
            ClientDisconnect: client_left,
            HTTPException: http_error,
            Exception: server_error,
        },
    )
