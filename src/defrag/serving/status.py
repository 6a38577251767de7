"""Routes for supervisors and for those who write clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from defrag.serving.openapi import openapi_document
from defrag.serving.responses import json_response

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from defrag.serving.service import Service

__all__ = ["routes"]


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes that need no token."""

    async def health(request: Request) -> Response:  # noqa: ARG001 - of a route
        return json_response({"status": "ok"})

    async def ready(request: Request) -> Response:  # noqa: ARG001 - of a route
        return json_response({"status": "ready", "models": list(service.models)})

    async def openapi(request: Request) -> Response:  # noqa: ARG001 - of a route
        return json_response(openapi_document(service.limits))

    return [
        Route("/healthz", health, methods=["GET"]),
        Route("/readyz", ready, methods=["GET"]),
        Route("/openapi.json", openapi, methods=["GET"]),
    ]
