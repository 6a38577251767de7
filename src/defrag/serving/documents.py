"""Routes that describe the interface: as an OpenAPI document and as a page."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse
from starlette.routing import Route

from defrag.serving.openapi import openapi_document
from defrag.serving.responses import HEADERS, json_response

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from defrag.serving.service import Service

__all__ = ["routes"]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem;
  color-scheme: light dark; }
h2 { font-size: 1.1rem; margin-top: 2rem; border-top: 1px solid; padding-top: 1rem; }
pre { overflow-x: auto; font-size: 0.85rem; }
td, th { text-align: left; vertical-align: top; padding-right: 1.5rem; }
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of the OpenAPI document and of its HTML page."""
    document = openapi_document(service.limits)
    page = _page(document)

    async def openapi(request: Request) -> Response:  # noqa: ARG001 - a route's signature
        return json_response(document)

    async def docs(request: Request) -> Response:  # noqa: ARG001 - a route's signature
        return HTMLResponse(page, headers={**HEADERS, "content-security-policy": _POLICY})

    return [
        Route("/openapi.json", openapi, methods=["GET"]),
        Route("/docs", docs, methods=["GET"]),
    ]


def _page(document: dict[str, Any]) -> str:
    title = f"{document['info']['title']} {document['info']['version']}: HTTP interface"
    parts = [
        f"<h2>{method.upper()} {escape(path)}</h2>" + _operation(operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>"
        '<p>For machines: <a href="openapi.json">openapi.json</a>.</p>'
        f"{''.join(parts)}</main></body></html>"
    )


def _operation(operation: dict[str, Any]) -> str:
    parts = [f"<p>{escape(operation['summary'])}</p>"]
    if "requestBody" in operation:
        parts += ["<h3>Body</h3>", _schema(operation["requestBody"]["content"])]
    rows = "".join(
        f"<tr><th>{status}</th><td>{escape(answer['description'])}</td></tr>"
        for status, answer in operation["responses"].items()
    )
    parts += ["<h3>Answers</h3>", f"<table>{rows}</table>"]
    parts.append(_schema(operation["responses"]["200"].get("content", {})))
    return "".join(parts)


def _schema(content: dict[str, Any]) -> str:
    return "".join(
        f"<details><summary>{escape(kind)}</summary>"
        f"<pre>{escape(json.dumps(form['schema'], indent=2))}</pre></details>"
        for kind, form in content.items()
    )
