"""Parsing of request bodies: validated JSON, or a one-line error."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect

if TYPE_CHECKING:
    from starlette.requests import Request

    from defrag.serving.limits import Limits

__all__ = ["ExplainRequest", "RequestError", "SuggestRequest", "read_body", "read_json"]


class RequestError(Exception):
    """Error that is sent as the answer to a request.

    Parameters
    ----------
    status : int
        The HTTP status.
    message : str
        One line.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


# One decoder for all bodies: with other than default settings, `json.loads` makes a new one.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


async def read_body(request: Request, limits: Limits) -> bytes:
    """Read the body of a request, up to the allowed size.

    Raises
    ------
    RequestError
        If it is too long, or does not arrive in time.
    """
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > limits.max_body:
        raise _too_long(limits)
    task = asyncio.current_task()
    late = False

    def end() -> None:
        nonlocal late
        late = True
        if task is not None:
            task.cancel()

    timer = asyncio.get_running_loop().call_later(limits.timeout, end)
    content = bytearray()
    try:
        while True:
            message = await request.receive()
            if message["type"] != "http.request":
                raise ClientDisconnect
            content += message.get("body", b"")
            if len(content) > limits.max_body:
                raise _too_long(limits)
            if not message.get("more_body", False):
                return bytes(content)
    except asyncio.CancelledError:
        if not late:
            raise
        raise RequestError(408, f"the body must arrive within {limits.timeout:g} s") from None
    finally:
        timer.cancel()


def _too_long(limits: Limits) -> RequestError:
    return RequestError(413, f"the body must have at most {limits.max_body} bytes")


async def read_json(request: Request, limits: Limits) -> dict[str, Any]:
    """Return the JSON object of a body."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip()
    if kind.lower() != "application/json":
        raise RequestError(415, f"the body must be application/json, got {kind:.60}")
    content = await read_body(request, limits)
    try:
        found = _DECODER.decode(content.decode())
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise RequestError(422, "the body must be a JSON object")
    return found


@dataclass(frozen=True)
class SuggestRequest:
    """A request for the labels of texts or rows.

    Attributes
    ----------
    inputs : list
        Texts, or rows as dictionaries from features to values.
    single : bool
        Whether the answer is one object instead of a list.
    k : int
        The number of labels.
    threshold : float
        Minimum score of a label.
    model : str or None
        The name of the model; None: the first.
    """

    inputs: list[Any]
    single: bool
    k: int
    threshold: float
    model: str | None

    @classmethod
    def of(cls, body: dict[str, Any], limits: Limits) -> SuggestRequest:
        """Check the body of a request."""
        _only(body, {"text", "texts", "row", "rows", "k", "threshold", "model"})
        given = [name for name in ("text", "texts", "row", "rows") if name in body]
        if len(given) != 1:
            raise RequestError(422, "give one of text, texts, row and rows")
        single = given[0] in {"text", "row"}
        inputs = [body[given[0]]] if single else body[given[0]]
        if not isinstance(inputs, list) or len(inputs) > limits.max_batch:
            raise RequestError(
                422, f"{given[0]} must be a list of at most {limits.max_batch} inputs"
            )
        for one in inputs:
            _check_input(one, text=given[0].startswith("text"))
        threshold = body.get("threshold", 0.0)
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float)):
            raise RequestError(422, f"threshold must be a number, got {threshold!r:.60}")
        k = min(_count(body, "k", 5), limits.max_k)
        return cls(inputs, single, k, float(threshold), _model(body))


@dataclass(frozen=True)
class ExplainRequest:
    """A request to explain labels of a text or a row.

    Attributes
    ----------
    given : str or dict
        The text, or the row as a dictionary from features to values.
    label : str, int or None
        The label; None: the k best labels.
    k : int
        The number of labels.
    n_features : int
        The number of features in the answer.
    model : str or None
        The name of the model; None: the first.
    """

    given: Any
    label: Any
    k: int
    n_features: int
    model: str | None

    @classmethod
    def of(cls, body: dict[str, Any], limits: Limits) -> ExplainRequest:
        """Check the body of a request."""
        _only(body, {"text", "row", "label", "k", "features", "model"})
        if ("text" in body) == ("row" in body):
            raise RequestError(422, "give one of text and row")
        given = body["text"] if "text" in body else body["row"]
        _check_input(given, text="text" in body)
        if len(given) > limits.max_explained_text:
            raise RequestError(
                422,
                f"the input must have at most {limits.max_explained_text} characters or features",
            )
        label = body.get("label")
        if isinstance(label, bool) or not isinstance(label, (str, int, type(None))):
            raise RequestError(422, f"label must be a name or an id, got {label!r:.60}")
        if label is not None and "k" in body:
            raise RequestError(422, "give label or k, not both")
        n_features = _count(body, "features", 10)
        k = min(_count(body, "k", 1), limits.max_explained)
        return cls(given, label, k, n_features, _model(body))


def _only(body: dict[str, Any], known: set[str]) -> None:
    for name in body:
        if name not in known:
            raise RequestError(422, f"unknown field {name!r:.60}")


def _check_input(given: Any, *, text: bool) -> None:
    if text and not isinstance(given, str):
        raise RequestError(422, f"a text must be a string, got {given!r:.60}")
    if text:
        return
    if not isinstance(given, dict):
        raise RequestError(422, f"a row must be an object of features, got {given!r:.60}")
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise RequestError(422, f"feature {name!r:.60} must be a number, got {value!r:.60}")


def _count(body: dict[str, Any], name: str, default: int) -> int:
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise RequestError(422, f"{name} must be an integer >= 1, got {value!r:.60}")
    return value


def _model(body: dict[str, Any]) -> str | None:
    model = body.get("model")
    if not isinstance(model, (str, type(None))):
        raise RequestError(422, f"model must be a name, got {model!r:.60}")
    return model
