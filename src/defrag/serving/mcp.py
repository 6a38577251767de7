"""Tools for language models, by the Model Context Protocol (streamable HTTP, answers as JSON).

A server needs little of the protocol: it keeps no session, sends nothing on its own, and every
message is one JSON-RPC request whose answer is one JSON object. Clients may ask for any version of
the protocol from 2025-03-26 on; what changed between them is not used here.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from defrag.serving import requests
from defrag.serving.requests import RequestError, json_bytes

if TYPE_CHECKING:
    from starlette.routing import Route

    from defrag.serving.app import Service

ROUTE = "/mcp"
"""The path of the endpoint."""

_VERSIONS = ("2025-06-18", "2025-03-26", "2025-11-25")
"""Versions of the protocol; the first is offered to clients that ask for another one."""

_NO_METHOD, _BAD_PARAMETERS = -32601, -32602
_TOOLS: dict[str, tuple[str, type[msgspec.Struct]]] = {
    "shortlist": (
        (
            "Return as few candidate labels for a text as hold the asked share of the right ones, "
            "with names, descriptions and the words that speak for each. Choose among them; labels "
            "that are not in the list are unlikely."
        ),
        requests.Shortlist,
    ),
    "find_labels": ("Search the vocabulary for labels by words of their names.", requests.Search),
}


class _Message(msgspec.Struct):
    method: str = ""
    params: dict[str, Any] = {}
    id: int | str | None = None


def route(service: Service) -> Route:
    """Return the route of the endpoint."""

    async def answer(message: _Message) -> Any:
        if message.id is None or not message.method:  # a notification, or an answer
            return Response(status_code=202, headers=requests.HEADERS)
        told = {"jsonrpc": "2.0", "id": message.id}
        try:
            return {**told, "result": await _result(service, message)}
        except _ProtocolError as error:
            code, text = error.args
            return {**told, "error": {"code": code, "message": text}}

    # GET, for a stream of messages, is refused.
    return service.route(ROUTE, answer, _Message)


class _ProtocolError(Exception):
    """A code of JSON-RPC and a message."""


async def _result(service: Service, message: _Message) -> dict[str, Any]:
    if message.method == "initialize":
        asked = message.params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in _VERSIONS else _VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "defrag", "version": version("defrag")},
        }
    if message.method == "ping":
        return {}
    if message.method == "tools/list":
        return {"tools": [_described(name) for name in _TOOLS]}
    if message.method == "tools/call":
        return await _called(service, message.params)
    raise _ProtocolError(_NO_METHOD, f"no method {message.method!r:.60}")


def _described(name: str) -> dict[str, Any]:
    text, kind = _TOOLS[name]
    schema = msgspec.json.schema(kind)["$defs"][kind.__name__]
    hints = {"readOnlyHint": True, "idempotentHint": True}
    return {"name": name, "description": text, "inputSchema": schema, "annotations": hints}


async def _called(service: Service, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a tool; an error in its arguments is one that a model can read."""
    name = params.get("name")
    if name not in _TOOLS:
        raise _ProtocolError(_BAD_PARAMETERS, f"no tool {name!r:.60}: there is {', '.join(_TOOLS)}")
    try:
        asked: Any = requests.decode(json_bytes(params.get("arguments") or {}), _TOOLS[name][1])
        run: Any = service.shortlist if name == "shortlist" else service.find_labels
        found = msgspec.to_builtins(await run(asked))
    except RequestError as error:
        return {"content": [{"type": "text", "text": error.message}], "isError": True}
    text = json_bytes(found).decode()
    return {"content": [{"type": "text", "text": text}], "structuredContent": found}
