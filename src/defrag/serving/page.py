"""The page at ``/``: one document, one style sheet and one script, without external resources."""

from __future__ import annotations

import gzip
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from defrag.serving.service import Service

__all__ = ["routes"]

_FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
    "vary": "accept-encoding",
}


def routes(service: Service) -> list[BaseRoute]:  # noqa: ARG001 - the signature of all modules of routes
    """Return the routes of the page, which need no token: its script sends the user's token."""
    return [_route(path, name, media_type) for path, (name, media_type) in _FILES.items()]


def _route(path: str, name: str, media_type: str) -> Route:
    content = files("defrag.serving").joinpath("static", name).read_bytes()
    packed = gzip.compress(content, mtime=0)

    async def answer(request: Request) -> Response:
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers = {**_HEADERS, "content-encoding": "gzip"}
            return Response(packed, media_type=media_type, headers=headers)
        return Response(content, media_type=media_type, headers=_HEADERS)

    return Route(path, answer, methods=["GET"])
