"""Routes of defrag's own interface: models, suggestions, explanations."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.routing import Route

from defrag.serving.requests import ExplainRequest, SuggestRequest, read_json
from defrag.serving.responses import json_response

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from defrag.serving.service import Service

__all__ = ["routes"]


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes below ``/v1``."""

    async def models(request: Request) -> Response:
        service.check_token(request)
        return json_response({"models": [model.describe() for model in service.models.values()]})

    async def suggest(request: Request) -> Response:
        service.check_token(request)
        asked = SuggestRequest.of(await read_json(request, service.limits), service.limits)
        model = service.model(asked.model)
        found = await service.suggest(model, asked.inputs, asked.k, asked.threshold)
        results = [{"labels": labels} for labels in found]
        return json_response(results[0] if asked.single else {"results": results})

    async def explain(request: Request) -> Response:
        service.check_token(request)
        asked = ExplainRequest.of(await read_json(request, service.limits), service.limits)
        model = service.model(asked.model)
        found = await service.explain(model, asked.given, asked.label, asked.k)
        shown = []
        for one in found:
            shown.append(one.as_dict(asked.n_features))
            service.add_name(shown[-1])
            await asyncio.sleep(0)  # a long text takes a while: lets other requests run
        return json_response({"explanations": shown})

    return [
        Route("/v1/suggest", suggest, methods=["POST"]),  # first, because it is requested most
        Route("/v1/explain", explain, methods=["POST"]),
        Route("/v1/models", models, methods=["GET"]),
    ]
