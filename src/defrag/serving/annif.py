"""Annif's REST interface, with each text classifier as a project.

For Annif's ``http`` backend and other clients of Annif, as specified in its ``annif.yaml``.
Errors are problem details (RFC 9457), as in Annif.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from msgspec import Struct, field
from starlette.responses import Response
from starlette.routing import Route

from defrag.serving import requests
from defrag.serving.models import ServedModel
from defrag.serving.requests import RequestError, json_response
from defrag.serving.subjects import UNDETERMINED, Subjects

if TYPE_CHECKING:
    from starlette.requests import Request

    from defrag.serving.app import Service

    Handler = Callable[[Request], Awaitable[Response]]

_FORM = "application/x-www-form-urlencoded"
_READ_FORM: dict[str, Any] = {
    "keep_blank_values": True, "max_num_fields": 1000, "errors": "strict",
}  # fmt: skip
_DIGITS_OF_LIMIT = 10
_TITLES = {403: "Learning not allowed", 404: "Project not found"}
_ONE = "/v1/projects/{project_id}"
_HANDLERS = {
    "/v1/": ("GET", "about"),
    "/v1/vocabs": ("GET", "vocabularies"),
    "/v1/projects": ("GET", "all"),
    _ONE: ("GET", "one"),
    f"{_ONE}/suggest": ("POST", "suggest"),
    f"{_ONE}/suggest-batch": ("POST", "suggest_batch"),
    f"{_ONE}/learn": ("POST", "learn"),
}

ROUTES = tuple(_HANDLERS)
"""The paths of the interface."""


class Document(Struct):
    """A text of a batch."""

    text: str
    document_id: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class Batch(Struct):
    """A request for the subjects of several texts."""

    documents: list[Document]


def routes(service: Service) -> list[Route]:
    """Return the routes of Annif's interface."""
    projects = _Projects(service)

    def guarded(handler: Handler) -> Handler:
        @wraps(handler)
        async def answer(request: Request) -> Response:
            try:
                service.check_token(request)
                return await handler(request)
            except RequestError as error:
                # Annif's interface has no status 422.
                return _problem(400 if error.status == 422 else error.status, error.message)

        return answer

    return [
        Route(path, guarded(getattr(projects, name)), methods=[method])
        for path, (method, name) in _HANDLERS.items()
    ]


class _Projects:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._models = {model.name: model for model in service.models.values() if model.takes_texts}
        self._subjects = service.subjects

    async def about(self, request: Request) -> Response:  # noqa: ARG002 - a route's signature
        return json_response({"title": "Annif REST API of defrag", "version": version("defrag")})

    async def vocabularies(self, request: Request) -> Response:  # noqa: ARG002 - a route's signature
        found = [self._vocabulary(name) for name in self._models]
        by_name = {one["vocab_id"]: one for one in found if one is not None}
        return json_response({"vocabs": list(by_name.values())})

    async def all(self, request: Request) -> Response:  # noqa: ARG002 - a route's signature
        return json_response({"projects": [self._describe(one) for one in self._models.values()]})

    async def one(self, request: Request) -> Response:
        return json_response(self._describe(self._model(request)))

    async def learn(self, request: Request) -> Response:
        name = self._model(request).name
        raise RequestError(403, f"{name!r} does not learn: train the model again")

    async def suggest(self, request: Request) -> Response:
        model = self._model(request)
        body = await self._read_form(request)
        async with self._service.place(body):
            form = _form(body)
            if "text" not in form:
                raise RequestError(400, "the form must have a text")
            found = await self._found(model, [form["text"]], form)
            return json_response(found[0])

    async def suggest_batch(self, request: Request) -> Response:
        model = self._model(request)
        body = await requests.read_json(request, self._service.limits)
        async with self._service.place(body):
            documents = requests.decode(body, Batch).documents
            largest = self._service.limits.max_batch
            if len(documents) > largest:
                raise RequestError(400, f"documents must be a list of at most {largest} documents")
            texts = [document.text for document in documents]
            found = await self._found(model, texts, request.query_params)
            for result, document in zip(found, documents, strict=True):
                result["document_id"] = document.document_id
            return json_response(found)

    async def _found(
        self, model: ServedModel, texts: list[str], settings: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        """Return the subjects of texts that are in the vocabulary."""
        limit = _limit(settings)
        threshold = _threshold(settings)
        subjects = self._subjects[model.name]
        language = settings.get("language")
        languages = [UNDETERMINED] if subjects is None else subjects.languages
        if language is not None and language not in languages and languages != [UNDETERMINED]:
            raise RequestError(400, f"language {language!r:.60} not supported by vocabulary")
        if limit == 0:
            return [{"results": []} for _ in texts]
        most = min(self._service.limits.max_k, model.n_labels)
        limit = k = min(limit, most)
        while True:
            found = await self._service.suggest(model, texts, k, threshold)
            results = [_known(one.labels, subjects, language)[:limit] for one in found]
            # Unknown labels took places in the ranking: known ones may follow them.
            full = all(
                len(known) == limit or len(one.labels) < k
                for known, one in zip(results, found, strict=True)
            )
            if full or k == most:
                return [{"results": known} for known in results]
            k = min(2 * k + limit, most)

    def _describe(self, model: ServedModel) -> dict[str, Any]:
        subjects = self._subjects[model.name]
        return {
            "project_id": model.name,
            "name": model.name,
            "language": UNDETERMINED if subjects is None else subjects.main_language,
            "backend": {"backend_id": "defrag"},
            "vocab": self._vocabulary(model.name),
            "vocab_language": None if subjects is None else subjects.main_language,
            "is_trained": True,
            "modification_time": None if model.modified is None else model.modified.isoformat(),
        }

    def _vocabulary(self, name: str) -> dict[str, Any] | None:
        found = self._subjects[name]
        if found is None:
            return None
        size = len(found.thesaurus)
        return {"vocab_id": found.name, "languages": found.languages, "size": size, "loaded": True}

    def _model(self, request: Request) -> ServedModel:
        name = request.path_params["project_id"]
        if name not in self._models:
            raise RequestError(404, f"Project {name!r:.60} not found")
        return self._models[name]

    async def _read_form(self, request: Request) -> bytes:
        kind = request.headers.get("content-type", _FORM).partition(";")[0].strip()
        if kind.lower() != _FORM:
            raise RequestError(415, f"the body must be {_FORM}, got {kind:.60}")
        return await requests.read_body(request, self._service.limits)


def _form(body: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(body.decode("ascii"), **_READ_FORM))
    except ValueError as error:
        raise RequestError(400, "the body is not a UTF-8 form") from error


def _known(
    labels: list[requests.Scored], subjects: Subjects | None, language: str | None
) -> list[dict[str, Any]]:
    """Return the labels that are subjects."""
    results = []
    for one in labels:
        uri = str(one.label)
        found = (uri, None) if subjects is None else subjects.subject(uri, language)
        if found is not None:
            known = {"uri": uri, "label": found[0], "notation": found[1]}
            results.append({**known, "score": one.score})
    return results


def _limit(settings: Mapping[str, str]) -> int:
    given = settings.get("limit", "10")
    if not (given.isascii() and given.isdecimal() and len(given) <= _DIGITS_OF_LIMIT):
        raise RequestError(400, f"limit must be an integer >= 0, got {given!r:.60}")
    return int(given)


def _threshold(settings: Mapping[str, str]) -> float:
    given = settings.get("threshold", "0")
    try:
        threshold = float(given)
    except ValueError:
        threshold = -1.0
    if not 0.0 <= threshold <= 1.0:
        raise RequestError(400, f"threshold must be between 0 and 1, got {given!r:.60}")
    return threshold


def _problem(status: int, detail: str) -> Response:
    title = _TITLES.get(status, HTTPStatus(status).phrase)
    values = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return Response(
        requests.json_bytes(values), status, requests.HEADERS, "application/problem+json"
    )
