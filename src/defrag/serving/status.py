"""Routes for monitoring: health, readiness and counters."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse
from starlette.routing import Route

from defrag.serving.metrics import LOADED, LOADS
from defrag.serving.responses import HEADERS, json_response

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from defrag.serving.service import Service

__all__ = ["routes"]

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of health, readiness and counters."""

    async def health(request: Request) -> Response:  # noqa: ARG001 - a route's signature
        return json_response({"status": "ok"})

    async def ready(request: Request) -> Response:  # noqa: ARG001 - a route's signature
        top = service.board.row(0)
        loaded = datetime.fromtimestamp(top[LOADED], tz=timezone.utc) if top[LOADED] else None
        return json_response(
            {
                "status": "ready",
                "models": list(service.models),
                "loads": top[LOADS],
                "loaded": None if loaded is None else loaded.isoformat(),
                "problem": service.board.message or None,
            }
        )

    async def metrics(request: Request) -> Response:
        service.check_token(request)
        return PlainTextResponse(service.metrics.text(), headers=HEADERS, media_type=_PROMETHEUS)

    return [
        Route("/healthz", health, methods=["GET"]),
        Route("/readyz", ready, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
    ]
