"""Middleware for all requests: a bound on concurrency, counters and the log."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from defrag.serving.metrics import OTHER
from defrag.serving.responses import json_response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from defrag.serving.service import Service

__all__ = ["Gate"]

_CLOSE = (b"connection", b"close")


class Gate:
    """Middleware that counts answers and rejects too many concurrent requests.

    Parameters
    ----------
    app : ASGI application
        The application behind the gate.
    service : Service
        Limits, counters and the log.
    paths : mapping
        The path of the route of each endpoint.
    """

    def __init__(self, app: ASGIApp, service: Service, paths: Mapping[object, str]) -> None:
        self._app = app
        self._service = service
        self._paths = paths
        self._active = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        service = self._service
        status = 500
        counted = False
        start = time.perf_counter()

        def count() -> None:
            nonlocal counted
            counted = True
            seconds = time.perf_counter() - start
            route = self._paths.get(scope.get("endpoint"), OTHER)
            service.metrics.answered(route, status, seconds)
            if service.log.json_lines:
                service.log.request(scope["method"], scope["path"], status, seconds)

        async def sender(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if service.draining or status == 408:
                    message["headers"] = [*message["headers"], _CLOSE]
            elif not message.get("more_body", False):
                count()  # before sending, so that a client that has its answer finds it counted
            await send(message)

        self._active += 1
        try:
            if self._active > service.limits.max_requests:
                busy = json_response({"error": "too many concurrent requests"}, 503)
                busy.headers["retry-after"] = "1"
                await busy(scope, receive, sender)
            else:
                await self._app(scope, receive, sender)
        finally:
            self._active -= 1
            if not counted:
                count()
