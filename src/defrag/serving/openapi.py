"""The description of the interface, as OpenAPI 3.1."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from defrag.serving.limits import Limits

__all__ = ["openapi_document"]

_TEXT = {"type": "string"}
_ROW = {"type": "object", "additionalProperties": {"type": "number"}}
_MODEL = {"type": "string", "description": "Name of the model; default: the first."}
_LABEL = {"type": ["string", "integer"]}
_SCORED = {
    "type": "object",
    "required": ["label", "score"],
    "properties": {
        "label": _LABEL,
        "score": {"type": "number"},
        "name": {"type": "string", "description": "Name of a label that is in the vocabulary."},
    },
}
_RESULT = {
    "type": "object",
    "required": ["labels"],
    "properties": {"labels": {"type": "array", "items": _SCORED}},
}
_ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
_REFUSALS = {
    400: "The body is not JSON.",
    401: "The token is missing or wrong.",
    404: "There is no such model or label.",
    408: "The body did not arrive in time.",
    413: "The body is too long.",
    415: "The body is not application/json.",
    422: "A field is missing, unknown or wrong.",
    503: "The server is answering too many requests; try again.",
}


def openapi_document(limits: Limits) -> dict[str, Any]:
    """Return the OpenAPI document of a server with some limits."""
    count = {"type": "integer", "minimum": 1}
    k = {
        **count,
        "default": 5,
        "description": f"At most {limits.max_k}; larger values are reduced to it.",
    }
    few = {
        **count,
        "default": 1,
        "description": f"At most {limits.max_explained}; larger values are reduced to it.",
    }
    batch = {"type": "array", "maxItems": limits.max_batch}
    suggest = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "text": _TEXT,
            "texts": {**batch, "items": _TEXT},
            "row": _ROW,
            "rows": {**batch, "items": _ROW},
            "k": k,
            "threshold": {"type": "number", "default": 0},
            "model": _MODEL,
        },
        "oneOf": [{"required": [name]} for name in ("text", "texts", "row", "rows")],
    }
    explain = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "text": {**_TEXT, "maxLength": limits.max_explained_text},
            "row": _ROW,
            "label": _LABEL,
            "k": few,
            "features": {**count, "default": 10},
            "model": _MODEL,
        },
        "oneOf": [{"required": ["text"]}, {"required": ["row"]}],
        "not": {"required": ["label", "k"]},
    }
    several = {
        "type": "object",
        "required": ["results"],
        "properties": {"results": {"type": "array", "items": _RESULT}},
    }
    explained = {
        "type": "object",
        "required": ["explanations"],
        "properties": {"explanations": {"type": "array", "items": {"type": "object"}}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "defrag", "version": version("defrag")},
        "paths": {
            "/v1/models": {"get": _operation("The served models.", {"type": "object"})},
            "/v1/suggest": {
                "post": _operation("The best labels of texts or rows.",
                                   {"anyOf": [_RESULT, several]}, suggest),
            },
            "/v1/explain": {
                "post": _operation("Explanations of scores.", explained, explain),
            },
            "/healthz": {"get": _operation("Whether the process is alive.", {"type": "object"})},
            "/readyz": {"get": _operation("Whether models are loaded.", {"type": "object"})},
            "/metrics": {"get": _text_operation("Counters, for Prometheus.", "text/plain")},
            "/docs": {"get": _text_operation("This document as a page.", "text/html")},
            "/openapi.json": {"get": _operation("This document.", {"type": "object"})},
        },
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }  # fmt: skip


def _operation(
    summary: str, answer: dict[str, Any], body: dict[str, Any] | None = None
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {
            "200": {"description": "The answer.", "content": _content(answer)},
        },
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _content(body)}
        for status, description in _REFUSALS.items():
            refused = {"description": description, "content": _content(_ERROR)}
            operation["responses"][str(status)] = refused
    return operation


def _text_operation(summary: str, kind: str) -> dict[str, Any]:
    answer = {"description": "The answer.", "content": {kind: {"schema": {"type": "string"}}}}
    return {"summary": summary, "responses": {"200": answer}}


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
