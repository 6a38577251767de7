"""Warm-up requests before the workers are forked."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp, Message

    from defrag.serving.models import ServedModel
    from defrag.serving.service import Service

__all__ = ["rehearse"]

_ROUNDS = 4
_AT_A_TIME = 8


def rehearse(config: uvicorn.Config, service: Service) -> None:
    """Send requests to every model, so that workers share what the first requests build.

    Python specialises functions while they run, starlette builds its middleware on the first
    request, and libraries are linked on first use.

    Parameters
    ----------
    config : uvicorn.Config
        The application, and the event loop of the workers.
    service : Service
        State shared by the routes. Nothing is counted or logged yet, and requests that small
        limits reject do not matter.
    """

    async def ask_all() -> None:
        for model in service.models.values():
            for _ in range(_ROUNDS):
                asked = (_ask(config.loaded_app, service, model) for _ in range(_AT_A_TIME))
                await asyncio.gather(*asked)

    loop = (config.get_loop_factory() or asyncio.new_event_loop)()
    try:
        loop.run_until_complete(ask_all())
    finally:
        loop.close()


async def _ask(app: ASGIApp, service: Service, model: ServedModel) -> None:
    kind = "text" if model.takes_texts else "row"
    body = json.dumps({"model": model.name, kind: model.sample()}).encode()
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": "/v1/suggest",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"authorization", service.authorization.encode())],
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        """Send nothing."""

    await app(scope, receive, send)
