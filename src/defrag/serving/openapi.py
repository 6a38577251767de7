"""The description of the interface, as OpenAPI 3.1 and as a page, from the declared operations."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from typing import Any

import msgspec

from defrag.serving.requests import Explain, Problem, Suggest
from defrag.serving.settings import Limits

_REFUSALS = {
    400: "The request is not HTTP with one Host header.",
    421: "The server has not this name.",
    431: "The head of the request is too long.",
    500: "An error of the server, which its log describes.",
}
_TOKEN_REFUSALS = {401: "The token is missing or wrong."}
_BODY_REFUSALS = {
    400: "The body is not JSON, or the request is not HTTP with one Host header.",
    404: "There is no such model or label.",
    408: "The body did not arrive in time.",
    413: "The body is too long.",
    415: "The body is not declared as application/json.",
    422: "A field is missing, unknown or wrong, or the model takes rows instead of texts.",
    503: "The server is answering too many requests; try again.",
}
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem;
  color-scheme: light dark; }
h2 { font-size: 1.1rem; margin-top: 2rem; border-top: 1px solid; padding-top: 1rem; }
pre { overflow-x: auto; font-size: 0.85rem; }
td, th { text-align: left; vertical-align: top; padding-right: 1.5rem; }
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

PAGE_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"
"""The content security policy of the page."""


@dataclass(frozen=True)
class Operation:
    """A route, and what it takes and returns.

    The handler takes the service of the application and the body, if there is one, which it awaits;
    it returns a response, or what is encoded as JSON. Bodies and answers have classes, answers that
    are other text than JSON have none; a guarded route needs the token.
    """

    path: str
    handler: Callable[..., Any]
    summary: str
    answers: tuple[Any, ...]
    body: Any = None
    guarded: bool = False
    media_type: str = "application/json"

    @property
    def method(self) -> str:
        """The only method, besides HEAD and OPTIONS."""
        return "GET" if self.body is None else "POST"


def openapi_document(operations: Sequence[Operation], limits: Limits) -> dict[str, Any]:
    """Return the OpenAPI document of a server with some limits."""
    types = [kind for one in operations for kind in (*one.answers, one.body, Problem) if kind]
    schemas, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    schema_of = dict(zip(types, schemas, strict=True))
    for kind in (Suggest, Explain):
        components[kind.__name__].update(kind.rules)
    suggest, explain = (components[kind.__name__]["properties"] for kind in (Suggest, Explain))
    for name in ("texts", "rows"):
        suggest[name]["maxItems"] = limits.max_batch
    explain["text"]["maxLength"] = explain["row"]["maxProperties"] = limits.max_explained_text
    for field, largest in ((suggest["k"], limits.max_k), (explain["k"], limits.max_explained)):
        field["description"] = f"At most {largest}; larger values are reduced to it."
    paths = {one.path: {one.method.lower(): _described(one, schema_of)} for one in operations}
    return {
        "openapi": "3.1.0",
        "info": {"title": "defrag", "version": version("defrag")},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _described(one: Operation, schema_of: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    forms = [schema_of[kind] for kind in one.answers] or [{"type": "string"}]
    schema = forms[0] if len(forms) == 1 else {"anyOf": forms}
    problem = {"application/json": {"schema": schema_of[Problem]}}
    of_token = _TOKEN_REFUSALS if one.guarded else {}
    refusals = _REFUSALS | of_token | (_BODY_REFUSALS if one.body else {})
    responses = {
        "200": {"description": "The answer.", "content": {one.media_type: {"schema": schema}}}
    }
    for status, text in sorted(refusals.items()):
        responses[str(status)] = {"description": text, "content": problem}
    described: dict[str, Any] = {"summary": one.summary, "responses": responses}
    if one.body is not None:
        content = {"application/json": {"schema": schema_of[one.body]}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def openapi_page(document: dict[str, Any]) -> str:
    """Return the document as a page."""
    title = f"{document['info']['title']} {document['info']['version']}: HTTP interface"
    parts = [
        f"<h2>{method.upper()} {escape(path)}</h2>" + _operation(operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = "".join(
        f'<details id="{name}"><summary>{name}</summary>'
        f"<pre>{escape(json.dumps(schema, indent=2))}</pre></details>"
        for name, schema in document["components"]["schemas"].items()
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>"
        '<p>For machines: <a href="openapi.json">openapi.json</a>.</p>'
        f"{''.join(parts)}<h2>Forms of bodies and answers</h2>{schemas}</main></body></html>"
    )


def _operation(operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><th>{status}</th><td>{escape(answer['description'])}"
        f"{_forms(answer['content']) if status == '200' else ''}</td></tr>"
        for status, answer in operation["responses"].items()
    )
    body = operation.get("requestBody")
    takes = "" if body is None else f"<p>Body:{_forms(body['content'])}</p>"
    return f"<p>{escape(operation['summary'])}</p>{takes}<table>{rows}</table>"


def _forms(content: dict[str, Any]) -> str:
    """Return the media types of a body, and the names of its schemas."""
    found = []
    for kind, form in content.items():
        schemas = form["schema"].get("anyOf", [form["schema"]])
        names = [one["$ref"].rpartition("/")[2] for one in schemas if "$ref" in one]
        found.append(f" {escape(kind)} {' or '.join(names)}")
    return "; ".join(found)
