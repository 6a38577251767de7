"""Answers: JSON with the headers of every answer, and errors in the same form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from defrag.serving.requests import RequestError

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["HEADERS", "http_error", "json_response", "request_error", "server_error"]

HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}

# One encoder for all answers: `json.dumps` makes a new one for settings other than its defaults.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def json_response(values: Any, status: int = 200) -> Response:
    """Return values as an answer in JSON."""
    content = _encode(values).encode()
    return Response(content, status, HEADERS, "application/json")


async def request_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 - of a handler
    """Answer a request that was refused."""
    if not isinstance(error, RequestError):
        raise error
    return json_response({"error": error.message}, error.status)


async def http_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 - of a handler
    """Answer a path or a method that does not exist."""
    if not isinstance(error, HTTPException):
        raise error
    response = json_response({"error": error.detail}, error.status_code)
    response.headers.update(error.headers or {})
    return response


async def server_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 - of a handler
    """Answer a request that met a defect, which the server logs."""
    return json_response({"error": "internal error"}, 500)
