"""The HTTP application: what its routes share, the routes of all but Annif, and their order."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hmac
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext, suppress
from datetime import datetime, timezone
from functools import cached_property, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET, UnsetType
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from defrag.serving import annif, labelstudio, mcp, requests
from defrag.serving.logs import Log
from defrag.serving.metrics import OTHER, Metrics
from defrag.serving.models import Batcher, ServedModel
from defrag.serving.openapi import PAGE_POLICY, Operation, openapi_document, openapi_page
from defrag.serving.requests import RequestError, json_response
from defrag.serving.settings import Limits, is_loopback
from defrag.serving.subjects import Subjects
from defrag.text import TextClassifier

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from defrag.serving.loop import Loop

_T = TypeVar("_T")
_CLOSE = (b"connection", b"close")
_HOST = re.compile(r"(?:\[([^]]*)\]|([^:]*))(?::\d*)?")
_LONG_BODY = 1 << 16
_LONGEST_PROBLEM = 1000
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_PAGE = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/common.js": ("common.js", "text/javascript"),
    "/annotate": ("annotate.html", "text/html"),
    "/annotate.js": ("annotate.js", "text/javascript"),
}
_PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
    "vary": "accept-encoding",
}


def make_app(
    models: Sequence[ServedModel],
    *,
    limits: Limits | None = None,
    token: str | None = None,
    subjects: Subjects | None = None,
    loop: Loop | None = None,
) -> Starlette:
    """Return the application that serves some models.

    Parameters
    ----------
    models : sequence of ServedModel
        The models; the first is the default.
    limits : Limits, optional
        Bounds on requests.
    token : str, optional
        Token that clients must send as ``Authorization: Bearer ...`` to routes below ``/v1``.
    subjects : Subjects, optional
        Names of labels, instead of those in the models, and the subjects that Annif's routes may
        suggest.
    loop : Loop, optional
        Corrections of people, from which the first model learns.
    """
    service = Service(models, limits=limits, token=token, subjects=subjects, loop=loop)
    service.metrics.count_in(1, os.getpid())
    return app_of(service)


class Service:
    """Models, limits and counters that the routes share.

    The parameters are those of ``make_app``, the counters of the workers, and the names under
    which clients may address the server, besides those of every machine for itself. When
    ``draining``, every answer is the last one of its connection.
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        *,
        limits: Limits | None = None,
        token: str | None = None,
        subjects: Subjects | None = None,
        language: str | None = None,
        metrics: Metrics | None = None,
        hosts: Collection[str] | None = None,
        loop: Loop | None = None,
    ) -> None:
        self.loop = loop
        self.models = {model.name: model for model in models}
        self.limits = limits or Limits()
        self.metrics = metrics or Metrics(list(self.models), ROUTES)
        self.log = Log()
        self.draining = False
        self.subjects = {model.name: subjects or _own_subjects(model, language) for model in models}
        self.token = token
        self._hosts = hosts
        self._active = 0
        self.turn = asyncio.Lock()
        self._batcher = Batcher(self.metrics.predicted)
        # An explanation takes up to 0.1 s of the processor, in which the loop answers others.
        self._explainer = ThreadPoolExecutor(1)

    def model(self, name: Any = None) -> ServedModel:
        """Return a model by its name, or the first."""
        if not isinstance(name, str):
            return next(iter(self.models.values()))
        if name not in self.models:
            known = ", ".join(list(self.models)[:10])
            raise RequestError(404, f"no model {name!r:.60}: there is {known}")
        return self.models[name]

    def check_host(self, scope: Scope) -> None:
        """Reject a request to another server, as a page of another site may send it."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 and (hosts or scope["http_version"] == "1.1"):
            raise RequestError(400, f"give one Host header, got {len(hosts)}")
        if self._hosts is None or not hosts:
            return
        host = hosts[0].decode("latin-1").lower()
        found = _HOST.fullmatch(host)
        name = (found[1] or found[2] or "") if found else host
        if name not in self._hosts and not is_loopback(name):
            raise RequestError(421, f"this server is not {name!r:.60}; see --allow-host")

    def check_token(self, request: Request) -> None:
        """Reject a request without the token, if the server has one."""
        if self.token is None:
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":  # as Label Studio does it, with any name
            with suppress(ValueError):
                given = base64.b64decode(given).decode("latin-1").partition(":")[2]
                scheme = "bearer"
        right = hmac.compare_digest(given.strip().encode("latin-1"), self.token.encode())
        if scheme.lower() != "bearer" or not right:
            raise RequestError(401, "give the token as 'Authorization: Bearer TOKEN'")

    def route(
        self, path: str, handler: Callable[..., Any], kind: Any = None, *, guarded: bool = True
    ) -> Route:
        """Return a route, which checks the token, and reads the body if there is one.

        - ``handler``: function of the body, or of nothing; it returns a response, or what is JSON.
        - ``kind``: the class of the body, None if there is none.
        """

        async def answer(request: Request) -> Response:
            if guarded:
                self.check_token(request)
            if kind is None:
                return _response(handler())
            body = await requests.read_json(request, self.limits)
            async with self.place(body):
                return _response(await handler(requests.decode(body, kind)))

        return Route(path, answer, methods=["GET" if kind is None else "POST"])

    @cached_property
    def document(self) -> dict[str, Any]:
        """The OpenAPI document."""
        return openapi_document(OPERATIONS, self.limits)

    @asynccontextmanager
    async def place(self, body: bytes) -> AsyncIterator[None]:
        """Bound the number of requests to models whose bodies have been read.

        Long ones are decoded and answered one at a time: decoded, they take ten times the memory,
        and between them the loop answers others.
        """
        if self._active >= self.limits.max_requests:
            raise RequestError(503, "too many concurrent requests")
        self._active += 1
        try:
            async with self.turn if len(body) > _LONG_BODY else nullcontext():
                yield
        finally:
            self._active -= 1

    async def suggest(
        self,
        model: ServedModel,
        inputs: Sequence[Any],
        k: int,
        threshold: float,
        language: str | None = None,
        *,
        answers: bool = False,
    ) -> list[requests.Result]:
        """Return the labels of each input whose score is at least the threshold, at most k."""
        if self.loop is not None:
            self.loop.refresh()
        checked = model.check(inputs)
        if answers and not model.takes_texts:
            raise RequestError(422, f"model {model.name!r} takes rows: answers are those of texts")
        n_asked = min(k, self.limits.max_k)
        found = await self._batcher.predict(model, checked, n_asked, answers=answers)
        kept = ([one for one in row if one[1] >= threshold] for row in found)
        results = [requests.Result([requests.Scored(*one) for one in row]) for row in kept]
        self.name(model, (one for result in results for one in result.labels), language)
        return results

    def name(
        self, model: ServedModel, labels: Iterable[requests.Scored], language: str | None
    ) -> None:
        """Set the names of labels that have names."""
        subjects = self.subjects[model.name]
        if subjects is not None:
            for one in labels:
                one.name = subjects.name_of(one.label, language) or UNSET

    async def aside(self, work: Callable[[], _T]) -> _T:
        """Return what a function returns that takes long, while the loop answers others."""
        return await asyncio.get_running_loop().run_in_executor(self._explainer, work)

    def looped(self) -> Loop:
        """Return the loop with people, or refuse."""
        if self.loop is None:
            raise RequestError(422, "this server takes no corrections: start it with --corrections")
        return self.loop

    async def shortlist(self, asked: requests.Shortlist) -> requests.Shortlisted:
        """Return as few labels as hold a share of the reachable ones."""
        model, language = self.model(asked.model), asked.language or None
        classifier = model.classifier
        if not isinstance(classifier, TextClassifier):
            raise RequestError(422, f"model {model.name!r} takes rows: shortlists are of texts")
        if asked.words and len(asked.text) > self.limits.max_explained_text:
            raise RequestError(422, f"words: at most {self.limits.max_explained_text} characters")
        try:
            promise = classifier.promise(asked.recall)
        except ValueError as error:
            raise RequestError(422, str(error)) from error
        listing = partial(classifier._listed, [asked.text], promise, asked.words, model.usable)
        (found,) = await self.aside(partial(listing, language))
        listed = [requests.Listed(*one) for one in found]
        return requests.Shortlisted(listed, promise._asdict())

    async def correct(self, asked: requests.Correct) -> requests.Corrected:
        """Keep the labels of a text."""
        loop = self.looped()
        await self.aside(partial(loop.correct, asked.text, asked.labels))
        return requests.Corrected(asked.text, asked.labels, loop.n_done)

    async def explain(self, asked: requests.Explain) -> bytes:
        """Return explanations of a label, or of the k best labels, as JSON."""
        given, k = asked.given(self.limits), asked.n_labels(self.limits)
        model = self.model(asked.model)
        subjects, language = self.subjects[model.name], asked.language or None

        def explained() -> bytes:
            shown = []
            label = None if isinstance(asked.label, UnsetType) else asked.label
            for one in model.explain(given, label, k):
                values = one.as_dict(asked.features)
                values.pop("name", None)
                name = None if subjects is None else subjects.name_of(values["label"], language)
                shown.append(values if name is None else {**values, "name": name})
            return requests.json_bytes(requests.Explanations(shown))

        return await self.aside(explained)

    async def find_labels(self, asked: requests.Search) -> requests.Labels:
        """Return labels by their names."""
        model, k = self.model(asked.model), min(asked.k, self.limits.max_k)
        subjects = self.subjects[model.name]
        if isinstance(model.classifier, TextClassifier) and not (subjects and subjects.given):
            find: Any = model.classifier.find_labels
        elif subjects is not None:
            find = subjects.thesaurus.search
        else:
            raise RequestError(422, f"the labels of model {model.name!r} have no names")
        language = asked.language or (subjects.language if subjects else None)
        # A search for names that are spelt alike takes some hundredths of a second.
        found = await self.aside(partial(find, asked.words, k, language=language))
        return requests.Labels([requests.Named(*one) for one in found])


def _own_subjects(model: ServedModel, language: str | None) -> Subjects | None:
    """Return the names in a model, None if it has none."""
    named = getattr(model.classifier, "thesaurus_", None)
    return None if named is None else Subjects(model.name, named, language)


def _response(found: Any) -> Response:
    return found if isinstance(found, Response) else json_response(found)


async def _suggest(service: Service, asked: requests.Suggest) -> Any:
    inputs, wanted = asked.inputs(service.limits), (asked.k, asked.threshold)
    model, language = service.model(asked.model), asked.language or None
    found = await service.suggest(model, inputs, *wanted, language, answers=asked.answers)
    return found[0] if asked.single else requests.Results(found)


async def _undo(service: Service, asked: requests.Undo) -> Any:
    loop = service.looped()
    found = await service.aside(partial(loop.undo, asked.text or None))
    return requests.Corrected(found.text, found.labels, loop.n_done)


async def _next(service: Service, asked: requests.Next) -> Any:
    loop, most = service.looped(), service.limits.max_batch
    loop.refresh()
    found = await service.aside(partial(loop.offer, min(asked.k, most), {*asked.skipped}))
    for one in found:
        service.name(loop.model, one.labels, asked.language or None)
    return requests.Offers(found, loop.n_done, loop.n_left)


def _models(service: Service) -> Any:
    return requests.Models([model.describe() for model in service.models.values()])


def _ready(service: Service) -> Any:
    metrics = service.metrics
    loaded = datetime.fromtimestamp(metrics.loaded_at, tz=timezone.utc).isoformat()
    when = loaded if metrics.loads else None
    return requests.Ready(list(service.models), metrics.loads, when, metrics.problem or None)


def _metrics(service: Service) -> Response:
    return Response(service.metrics.text(), headers=requests.HEADERS, media_type=_PROMETHEUS)


def _docs(service: Service) -> Response:
    headers = {**requests.HEADERS, "content-security-policy": PAGE_POLICY}
    return HTMLResponse(openapi_page(service.document), headers=headers)


OPERATIONS = (
    # First what is requested most.
    Operation("/v1/suggest", _suggest, "The best labels of texts or rows.",
              (requests.Result, requests.Results), requests.Suggest, guarded=True),
    Operation("/v1/explain", Service.explain, "Explanations of scores.",
              (requests.Explanations,), requests.Explain, guarded=True),
    Operation("/v1/labels", Service.find_labels, "Labels by their names.",
              (requests.Labels,), requests.Search, guarded=True),
    Operation("/v1/shortlist", Service.shortlist, "As few labels as hold a share.",
              (requests.Shortlisted,), requests.Shortlist, guarded=True),
    Operation("/v1/corrections", Service.correct, "Keep the labels of a text.",
              (requests.Corrected,), requests.Correct, guarded=True),
    Operation("/v1/undo", _undo, "Undo a correction.",
              (requests.Corrected,), requests.Undo, guarded=True),
    Operation("/v1/next", _next, "The texts to label next.",
              (requests.Offers,), requests.Next, guarded=True),
    Operation("/v1/models", _models, "The served models.", (requests.Models,), guarded=True),
    Operation("/healthz", lambda _: requests.Health(), "Whether the process is alive.",
              (requests.Health,)),
    Operation("/readyz", _ready, "Whether models are loaded.", (requests.Ready,)),
    Operation("/metrics", _metrics, "Counters, for Prometheus.", (), guarded=True,
              media_type="text/plain"),
    Operation("/openapi.json", lambda service: service.document, "This document.",
              (dict[str, Any],)),
    Operation("/docs", _docs, "This document as a page.", (), media_type="text/html"),
)  # fmt: skip

ROUTES = (*(one.path for one in OPERATIONS), *_PAGE, *annif.ROUTES, *labelstudio.ROUTES, mcp.ROUTE)
"""Paths whose answers are counted separately."""


def app_of(service: Service) -> Starlette:
    """Return the application whose routes share a service."""
    routes = [
        *(
            service.route(one.path, partial(one.handler, service), one.body, guarded=one.guarded)
            for one in OPERATIONS
        ),
        *(_page_route(path, name, media_type) for path, (name, media_type) in _PAGE.items()),
        *annif.routes(service),
        *labelstudio.routes(service),
        mcp.route(service),
    ]
    paths = {route.endpoint: route.path for route in routes}
    return Starlette(
        routes=routes,
        middleware=[Middleware(_Door, service=service, paths=paths)],
        exception_handlers={
            RequestError: _refused,
            ClientDisconnect: _left,
            HTTPException: _not_found,
            Exception: _failed,
        },
    )


def _page_route(path: str, name: str, media_type: str) -> Route:
    """Return a route of the page, which needs no token: its script sends the user's token."""
    content = files("defrag.serving").joinpath("static", name).read_bytes()
    packed = gzip.compress(content, mtime=0)

    async def answer(request: Request) -> Response:
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers = {**_PAGE_HEADERS, "content-encoding": "gzip"}
            return Response(packed, media_type=media_type, headers=headers)
        return Response(content, media_type=media_type, headers=_PAGE_HEADERS)

    return Route(path, answer, methods=["GET"])


class _Door:
    """Middleware around all routes: the name of the server, counters and the log."""

    def __init__(self, app: ASGIApp, service: Service, paths: Mapping[Any, str]) -> None:
        self._app = app
        self._service = service
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        service = self._service
        status = 500
        counted = False
        start = time.perf_counter()

        def count() -> None:
            nonlocal counted
            counted = True
            seconds = time.perf_counter() - start
            route = self._paths.get(scope.get("endpoint"), OTHER)
            service.metrics.answered(route, status, seconds)
            if service.log.json_lines:
                service.log.request(scope["method"], scope["path"], status, seconds)

        async def sender(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if service.draining:
                    message["headers"] = [*message["headers"], _CLOSE]
            elif not message.get("more_body", False):
                count()  # before sending, so that a client that has its answer finds it counted
            await send(message)

        try:
            service.check_host(scope)
            await self._app(scope, receive, sender)
        except RequestError as error:
            await _problem(error.status, error.message)(scope, receive, sender)
        finally:
            if not counted:
                count()


def _problem(status: int, message: str) -> Response:
    response = json_response(requests.Problem(message[:_LONGEST_PROBLEM]), status)
    if status == 503:
        response.headers["retry-after"] = "1"
    return response


async def _refused(request: Request, error: Any) -> Response:  # noqa: ARG001 - a handler's signature
    return _problem(error.status, error.message)


async def _not_found(request: Request, error: Any) -> Response:
    headers = error.headers or {}
    detail = error.detail
    if "Allow" in headers:
        detail = f"{request.method} is not allowed: use {headers['Allow']}"
    response = _problem(error.status_code, detail)
    response.headers.update(headers)
    return response


async def _left(request: Request, error: Any) -> Response:  # noqa: ARG001 - a handler's signature
    """Answer a client that ended the connection within its request, for the counters only."""
    return Response(status_code=408)


async def _failed(request: Request, error: Any) -> Response:  # noqa: ARG001 - a handler's signature
    """Answer a request that caused an error of the server, which is logged by whoever runs it."""
    return _problem(500, "internal error")
