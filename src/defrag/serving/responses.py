"""JSON responses with the common headers, and error responses in the same form."""

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

# One encoder for all answers: with other than default settings, `json.dumps` makes a new one.
_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode


def json_response(values: Any, status: int = 200) -> Response:
    """Return a JSON response."""
    return _JsonResponse(_encode(values).encode(), status)


class _JsonResponse(Response):
    """A response whose common headers are encoded only once."""

    media_type = "application/json"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:  # noqa: ARG002 - the base's signature
        """Set the common headers, and the length of this response."""
        self.raw_headers = [*_RAW_HEADERS, (b"content-length", b"%d" % len(self.body))]


async def request_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 - a handler's signature
    """Answer a rejected request."""
    if not isinstance(error, RequestError):
        raise error
    return json_response({"error": error.message}, error.status)


async def http_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 - a handler's signature
    """Answer a path or a method that does not exist."""
    if not isinstance(error, HTTPException):
        raise error
    response = json_response({"error": error.detail}, error.status_code)
    response.headers.update(error.headers or {})
    return response


async def client_left(request: Request, error: Exception) -> Response:  # noqa: ARG001 - a handler's signature
    """Answer a client that closed the connection during its request, for the counters only."""
    return Response(status_code=400)


async def server_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 - a handler's signature
    """Answer a request that caused an internal error, which the server logs."""
    return json_response({"error": "internal error"}, 500)
