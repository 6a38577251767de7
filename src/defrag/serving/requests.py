"""Requests and answers: one declaration of each, for validation, encoding and the OpenAPI document.

A body is checked by msgspec against its class. What depends on the limits of a server is checked by
the methods of the classes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

if TYPE_CHECKING:
    from defrag.serving.settings import Limits

HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}

_RAW_HEADERS = [
    (name.encode(), value.encode())
    for name, value in {"content-type": "application/json", **HEADERS}.items()
]
_BODY = TypeVar("_BODY", bound=Struct)
json_bytes = msgspec.json.Encoder().encode
_DECODERS: dict[type, msgspec.json.Decoder[Any]] = {}

_Count = Annotated[int, Meta(ge=1)]
_Language = Annotated[str, Meta(description="Language of the names of labels, such as de.")]
_Row = dict[str, float]


class RequestError(Exception):
    """Error that is sent as the answer to a request: an HTTP status, and one line."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class _OfModel(Struct, forbid_unknown_fields=True, kw_only=True):
    """A request to a model."""

    model: (
        Annotated[str, Meta(description="Name of the model; default: the first.")] | UnsetType
    ) = UNSET
    language: _Language | UnsetType = UNSET


class Suggest(_OfModel):
    """A request for the labels of texts or rows; a row maps features to values."""

    rules: ClassVar[dict[str, Any]] = {
        "oneOf": [{"required": [name]} for name in ("text", "texts", "row", "rows")]
    }

    text: str | UnsetType = UNSET
    texts: list[str] | UnsetType = UNSET
    row: _Row | UnsetType = UNSET
    rows: list[_Row] | UnsetType = UNSET
    k: _Count = 5
    threshold: float = 0.0
    answers: Annotated[bool, Meta(description="Only the labels that are answers.")] = False

    def __post_init__(self) -> None:
        if len(self._given()) != 1:
            raise ValueError("give one of text, texts, row and rows")

    @property
    def single(self) -> bool:
        """Whether the answer is one object instead of a list."""
        return self.text is not UNSET or self.row is not UNSET

    def inputs(self, limits: Limits) -> list[Any]:
        """Return the texts or rows."""
        (given,) = self._given()
        inputs: list[Any] = [given] if self.single else given
        if len(inputs) > limits.max_batch:
            raise RequestError(422, f"give at most {limits.max_batch} inputs, got {len(inputs)}")
        return inputs

    def _given(self) -> list[Any]:
        return [one for one in (self.text, self.texts, self.row, self.rows) if one is not UNSET]


class Explain(_OfModel):
    """A request to explain a label of a text or a row, or the k best labels."""

    rules: ClassVar[dict[str, Any]] = {
        "oneOf": [{"required": ["text"]}, {"required": ["row"]}],
        "not": {"required": ["label", "k"]},
    }

    text: str | UnsetType = UNSET
    row: _Row | UnsetType = UNSET
    label: str | int | UnsetType = UNSET
    k: _Count | UnsetType = UNSET
    features: _Count = 10

    def __post_init__(self) -> None:
        if (self.text is UNSET) == (self.row is UNSET):
            raise ValueError("give one of text and row")
        if self.label is not UNSET and self.k is not UNSET:
            raise ValueError("give label or k, not both")

    def given(self, limits: Limits) -> Any:
        """Return the text or the row."""
        given = self.row if isinstance(self.text, UnsetType) else self.text
        if isinstance(given, UnsetType) or len(given) <= limits.max_explained_text:
            return given
        raise RequestError(
            422, f"the input must have at most {limits.max_explained_text} characters or features"
        )

    def n_labels(self, limits: Limits) -> int:
        """Return the number of labels to explain: fewer for a long input."""
        length = max(1, len(self.given(limits)))
        k = 1 if isinstance(self.k, UnsetType) else self.k
        return min(k, limits.max_explained, max(1, 2 * limits.max_explained_text // length))


class Scored(Struct, omit_defaults=True):
    """A label and its score; labels in the thesaurus have a name."""

    label: str | int
    score: float
    name: str | UnsetType = UNSET


class Search(_OfModel):
    """A request for the labels whose names have some words."""

    words: Annotated[str, Meta(max_length=200)]
    k: _Count = 10


class Named(Struct):
    """A label, its name, the name that was found, and whether that has the words."""

    label: str
    name: str
    matched: str
    exact: bool


class Labels(Struct):
    """Labels by their names, best first; not exact ones if no name has the words."""

    labels: list[Named]


class Result(Struct):
    """The labels of an input, by decreasing score."""

    labels: list[Scored]


class Results(Struct):
    """The labels of several inputs, in their order."""

    results: list[Result]


class Shortlist(_OfModel):
    """A request for as few labels of a text as hold a share of the reachable ones."""

    text: str
    recall: Annotated[float, Meta(gt=0, le=0.99)] = 0.95
    words: Annotated[int, Meta(ge=0, le=20, description="Words that speak for each label.")] = 0


class Listed(Struct, omit_defaults=True):
    """A label of a shortlist."""

    label: str | int
    score: float
    name: str | None = None
    description: str | None = None
    words: tuple[str, ...] = ()


class Shortlisted(Struct):
    """A shortlist, and what it holds of the labels of texts."""

    labels: list[Listed]
    promise: dict[str, float]


class Correct(Struct, forbid_unknown_fields=True):
    """All labels of a text, as a person sees them."""

    text: str
    labels: list[Annotated[str, Meta(min_length=1)]]


class Undo(Struct, forbid_unknown_fields=True):
    """A request to undo the last correction of a text, or of all texts."""

    text: str | UnsetType = UNSET


class Corrected(Struct):
    """The labels that a text has now, null if none are known, and how many texts are done."""

    text: str
    labels: list[str] | None
    done: int


class Next(Struct, forbid_unknown_fields=True):
    """A request for the texts to label next."""

    k: _Count = 1
    skipped: Annotated[list[str], Meta(description="The ids of texts to leave out.")] = []
    language: _Language | UnsetType = UNSET


class Offered(Struct):
    """A text to be labelled, its labels, those that are proposed, and why it is worth a look."""

    id: str
    text: str
    labels: list[Scored]
    gain: float
    reason: str
    proposed: list[str]


class Offers(Struct):
    """Texts to be labelled, best first, and how many are done and left."""

    documents: list[Offered]
    done: int
    left: int


class Explanations(Struct):
    """Explanations of labels, best first."""

    explanations: list[dict[str, Any]]


class Model(Struct):
    """A served model; ``takes`` is "texts" or "rows", ``scores`` "score" or "probability"."""

    name: str
    takes: str
    labels: int
    scores: str = "score"


class Models(Struct):
    """The served models; the first is the default."""

    models: list[Model]


class Health(Struct):
    """That the process answers."""

    status: str = "ok"


class Ready(Struct):
    """That models are loaded; ``problem`` is why newer files could not be loaded."""

    models: list[str]
    loads: int
    loaded: str | None
    problem: str | None
    status: str = "ready"


class Problem(Struct):
    """Why a request was refused."""

    error: str


def json_response(values: Any, status: int = 200) -> Response:
    """Return a JSON response; bytes are JSON already."""
    return _JsonResponse(values if isinstance(values, bytes) else json_bytes(values), status)


class _JsonResponse(Response):
    """A response whose common headers are encoded only once."""

    media_type = "application/json"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:  # noqa: ARG002 - the base's signature
        """Set the common headers, and the length of this response."""
        self.raw_headers = [*_RAW_HEADERS, (b"content-length", b"%d" % len(self.body))]


async def read_body(request: Request, limits: Limits) -> bytes:
    """Read the body of a request, up to the allowed size."""
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > limits.max_body:
        raise _too_long(limits)
    content = bytearray()
    while True:
        message = await request.receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        content += message.get("body", b"")
        if len(content) > limits.max_body:
            raise _too_long(limits)
        if not message.get("more_body", False):
            return bytes(content)


def _too_long(limits: Limits) -> RequestError:
    return RequestError(413, f"the body must have at most {limits.max_body} bytes")


async def read_json(request: Request, limits: Limits) -> bytes:
    """Read the body of a request that must be JSON.

    Without the type, a page of any site could send it: browsers ask the server for permission
    before they send JSON as such elsewhere.
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip()
    if given.lower() != "application/json":
        raise RequestError(415, f"the content-type must be application/json, got {given!r:.60}")
    return await read_body(request, limits)


def decode(content: bytes, kind: type[_BODY]) -> _BODY:
    """Return JSON as an object of a class, or raise a RequestError."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    try:
        found: _BODY = decoder.decode(content)
    except msgspec.ValidationError as error:
        raise RequestError(422, _with_value(str(error), content)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(400, f"the body is not JSON: {error}") from error
    return found


def _with_value(problem: str, content: bytes) -> str:
    """Return a message of msgspec with the name of the field and its value, if they are known."""
    rule, _, path = problem.partition(" - at `$")
    place = path.strip("`.")
    try:
        value = msgspec.json.decode(content)
        for name, number in re.findall(r"\.(\w+)|\[(\d+)\]", path):
            value = value[name] if name else value[int(number)]
    except (ValueError, LookupError, TypeError, RecursionError):  # such as a number out of range
        return f"{place}: {rule}" if place else rule
    if not place:
        return rule
    return f"{place}: {rule}" if "..." in place else f"{place}: {rule}: {value!r:.60}"
