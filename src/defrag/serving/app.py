"""The HTTP application: routes, errors, access."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Route

from defrag.serving.limits import Limits
from defrag.serving.openapi import openapi_document
from defrag.serving.requests import ExplainRequest, RequestError, SuggestRequest, read_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from defrag.serving.models import ServedModel

__all__ = ["make_app"]

_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


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
    api = _Api(models, limits or Limits(), token)
    return Starlette(
        routes=[
            Route("/v1/models", api.models, methods=["GET"]),
            Route("/v1/suggest", api.suggest, methods=["POST"]),
            Route("/v1/explain", api.explain, methods=["POST"]),
            Route("/healthz", api.health, methods=["GET"]),
            Route("/readyz", api.ready, methods=["GET"]),
            Route("/openapi.json", api.openapi, methods=["GET"]),
        ],
        exception_handlers={RequestError: _refused, HTTPException: _http_error},
    )


class _Api:
    def __init__(self, models: Sequence[ServedModel], limits: Limits, token: str | None) -> None:
        self._models = {model.name: model for model in models}
        self._first = models[0]
        self._limits = limits
        self._token = token

    async def suggest(self, request: Request) -> Response:
        self._check_token(request)
        asked = SuggestRequest.of(await read_json(request, self._limits), self._limits)
        model = self._model(asked.model)
        found = model.suggest(asked.inputs, asked.k, asked.threshold)
        results = [{"labels": labels} for labels in found]
        return _json(results[0] if asked.single else {"results": results})

    async def explain(self, request: Request) -> Response:
        self._check_token(request)
        asked = ExplainRequest.of(await read_json(request, self._limits), self._limits)
        found = self._model(asked.model).explain(asked.given, asked.label, asked.k)
        return _json({"explanations": [one.as_dict(asked.n_features) for one in found]})

    async def models(self, request: Request) -> Response:
        self._check_token(request)
        return _json({"models": [model.describe() for model in self._models.values()]})

    async def health(self, request: Request) -> Response:  # noqa: ARG002 - of a route
        return _json({"status": "ok"})

    async def ready(self, request: Request) -> Response:  # noqa: ARG002 - of a route
        return _json({"status": "ready", "models": list(self._models)})

    async def openapi(self, request: Request) -> Response:  # noqa: ARG002 - of a route
        return _json(openapi_document(self._limits))

    def _model(self, name: str | None) -> ServedModel:
        if name is None:
            return self._first
        if name not in self._models:
            raise RequestError(404, f"no model {name!r:.60}")
        return self._models[name]

    def _check_token(self, request: Request) -> None:
        if self._token is None:
            return
        given = request.headers.get("authorization", "")
        wanted = f"Bearer {self._token}"
        if not hmac.compare_digest(given.encode("latin-1"), wanted.encode()):
            raise RequestError(401, "give the token as 'Authorization: Bearer TOKEN'")


def _json(values: dict[str, Any], status: int = 200) -> Response:
    return JSONResponse(values, status_code=status, headers=_HEADERS)


async def _refused(request: Request, error: Exception) -> Response:  # noqa: ARG001 - of a handler
    if not isinstance(error, RequestError):
        raise error
    return _json({"error": error.message}, error.status)


async def _http_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 - of a handler
    if not isinstance(error, HTTPException):
        raise error
    response = _json({"error": error.detail}, error.status_code)
    response.headers.update(error.headers or {})
    return response
