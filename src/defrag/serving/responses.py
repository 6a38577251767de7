"""Answers: JSON with the headers of every answer, and errors in the same form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from defrag.serving.requests import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

__all__ = ["HEADERS", "client_left", "http_error", "json_response", "request_error", "server_error"]

HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}

_RAW_HEADERS = [
    (name.encode(), value.encode())
    for name, value in {"content-type": "application/json", **HEADERS}.items()
]

# One encoder for all answers: `json.dumps` makes a new one for settings other than its defaults.
_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode


def json_response(values: Any, status: int = 200) -> Response:
    """Return values as an answer in JSON."""
    return _JsonResponse(_encode(values).encode(), status)


class _JsonResponse(Response):
    """An answer whose headers are encoded once for all."""

    media_type = "application/json"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:  # noqa: ARG002 - of the base class
        """Set the headers of every answer, and the length of this one."""
        self.raw_headers = [*_RAW_HEADERS, (b"content-length", b"%d" % len(self.body))]


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


async def client_left(request: Request, error: Exception) -> Response:  # noqa: ARG001 - of a handler
    """Answer a client that closed the connection within its request, for the counters alone."""
    return Response(status_code=400)


async def server_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 - of a handler
    """Answer a request that met a defect, which the server logs."""
    return json_response({"error": "internal error"}, 500)
