"""The contract of a machine learning backend of Label Studio, below ``/label-studio``.

Label Studio asks for the labels of tasks, and sends the annotations that people make. Both name the
project's configuration, which says what is chosen for which text. The score of a prediction is that
of its least likely label, by which Label Studio can order its tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from xml.parsers import expat

import msgspec

from defrag.serving import requests
from defrag.serving.requests import RequestError

if TYPE_CHECKING:
    from starlette.routing import Route

    from defrag.serving.app import Service

_PREFIX = "/label-studio"
ROUTES = tuple(f"{_PREFIX}/{name}" for name in ("health", "setup", "predict", "webhook"))
"""The paths of the contract."""

_CONTROLS = {"Choices": "choices", "Taxonomy": "taxonomy"}
_KEPT = {"ANNOTATION_CREATED", "ANNOTATION_UPDATED"}


class _Field(NamedTuple):
    """What is chosen (``control``) for which part of a task (``target``, its key in the data)."""

    control: str
    kind: str
    target: str
    key: str


class _Setup(msgspec.Struct):
    schema: str


class _Predict(msgspec.Struct):
    tasks: list[dict[str, Any]]
    label_config: str


class _Result(msgspec.Struct):
    from_name: str = ""
    value: dict[str, Any] = {}


class _Annotation(msgspec.Struct):
    result: list[_Result] = []
    was_cancelled: bool = False


class _Webhook(msgspec.Struct):
    action: str
    annotation: _Annotation = msgspec.field(default_factory=_Annotation)
    task: dict[str, Any] = {}
    project: dict[str, Any] = {}


def routes(service: Service) -> list[Route]:
    """Return the routes of the contract."""
    backend = _Backend(service)
    handlers: Any = backend.health, backend.setup, backend.predict, backend.webhook
    return list(map(service.route, ROUTES, handlers, (None, _Setup, _Predict, _Webhook)))


class _Backend:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._model = service.model() if service.loop is None else service.loop.model
        modified = self._model.modified
        self._version = f"{self._model.name} {modified:%Y-%m-%dT%H:%M:%S}" if modified else "defrag"

    def health(self) -> Any:
        return {"status": "UP", "model_class": "TextClassifier"}

    async def setup(self, asked: _Setup) -> Any:
        _field_of(asked.schema)
        return {"model_version": self._version}

    async def predict(self, asked: _Predict) -> Any:
        field, limits = _field_of(asked.label_config), self._service.limits
        texts = [_text_of(task, field) for task in asked.tasks]
        results = []
        for start in range(0, len(texts), limits.max_batch):
            part = texts[start : start + limits.max_batch]
            found = await self._service.suggest(self._model, part, limits.max_k, 0.0, answers=True)
            for one in found:
                chosen = [label.label for label in one.labels]
                value = [[label] for label in chosen] if field.kind == "taxonomy" else chosen
                result = {
                    "from_name": field.control, "to_name": field.target, "type": field.kind,
                    "value": {field.kind: value},
                }  # fmt: skip
                score = min((label.score for label in one.labels), default=0.0)
                results.append({"result": [result] if chosen else [], "score": score,
                                "model_version": self._version})  # fmt: skip
        return {"results": results, "model_version": self._version}

    async def webhook(self, told: _Webhook) -> Any:
        if told.action not in _KEPT or told.annotation.was_cancelled:
            return {"status": "ignored"}
        field = _field_of(str(told.project.get("label_config", "")))
        labels: list[str] = []
        for one in told.annotation.result:
            if one.from_name == field.control:
                labels += _chosen(one.value.get(field.kind, []))
        await self._service.correct(requests.Correct(_text_of(told.task, field), labels))
        return {"status": "ok"}


def _chosen(value: Any) -> list[str]:
    try:
        paths = msgspec.convert(value, list[str | list[str]])
    except msgspec.ValidationError as error:
        raise RequestError(422, f"an annotation must have a list of labels: {error}") from error
    return [path if isinstance(path, str) else path[-1] for path in paths if path]


def _text_of(task: dict[str, Any], field: _Field) -> str:
    data = task.get("data")
    text = data.get(field.key) if isinstance(data, dict) else None
    if not isinstance(text, str):
        raise RequestError(422, f"a task must have a text in data.{field.key}")
    return text


def _field_of(config: str) -> _Field:
    """Return the first choice that a configuration has for a text."""
    controls: list[tuple[str, str, str]] = []
    keys: dict[str, str] = {}

    def start(tag: str, given: dict[str, str]) -> None:
        if tag in _CONTROLS:
            controls.append((given.get("name", ""), _CONTROLS[tag], given.get("toName", "")))
        elif given.get("value", "").startswith("$"):
            keys[given.get("name", "")] = given["value"][1:]

    def refuse(*_: object) -> None:
        raise RequestError(422, "the labelling configuration must have no DTD")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.StartDoctypeDeclHandler = start, refuse
    try:
        parser.Parse(config, True)
    except (expat.ExpatError, ValueError) as error:
        raise RequestError(422, f"the labelling configuration is not XML: {error}") from error
    for name, kind, target in controls:
        if target in keys:
            return _Field(name, kind, target, keys[target])
    raise RequestError(422, "the labelling configuration must have Choices or a Taxonomy of a text")
