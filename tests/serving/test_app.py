"""The application: its answers, what it refuses, and that its OpenAPI document says so."""

import asyncio
import json
import re
import threading

import numpy as np
import pytest

from defrag import LabelTree, TextClassifier
from defrag.serving import Limits, ServedModel, make_app
from defrag.serving.app import Service, app_of
from defrag.serving.settings import Settings
from tests.serving.client import Client, connected, together
from tests.serving.conftest import ROW, TEXTS, X

LABELS = [["algebra"], ["algebra"], ["sorting"], ["sorting", "files"], ["files"]]
TEXT = "Sorting <b>large</b> files"
JSON = {"content-type": "application/json"}
SECRET = {"token": "secret"}


@pytest.fixture(scope="module")
def texts():
    return TextClassifier(LabelTree(), random_state=0).fit(TEXTS, LABELS)


@pytest.fixture
def served(texts):
    return ServedModel("texts", texts)


@pytest.fixture(scope="module")
def client(texts, rows):
    nameless = LabelTree(random_state=0).fit(X, np.arange(80) % 3 + 10)
    models = {"texts": texts, "rows": rows, "ids": nameless}
    served = [ServedModel(name, model) for name, model in models.items()]
    return Client(make_app(served, limits=Limits(max_body=20_000, max_batch=4, max_k=50)))


def feature_map(row):
    return {f"f{j}": float(x) for j, x in zip(row.indices, row.data, strict=True)}


def test_suggest_text_is_predict_topk(client, texts):
    found = client.ask("/v1/suggest", {"text": TEXT, "k": 2})["labels"]
    names, scores = texts.predict_topk([TEXT], k=2)
    assert [one["label"] for one in found] == names[0].tolist()
    assert [one["score"] for one in found] == pytest.approx(scores[0].tolist())
    above = {"text": TEXT, "threshold": float(scores[0, 0])}
    assert len(client.ask("/v1/suggest", above)["labels"]) == 1
    answers = client.ask("/v1/suggest", {"text": TEXT, "k": 50, "answers": True})["labels"]
    assert [one["label"] for one in answers] == texts.predict([TEXT])[0]
    wrong = {"row": {"f1": 1.0}, "model": "rows", "answers": True}
    refused = client.ask("/v1/suggest", wrong, 422)
    assert refused["error"] == "model 'rows' takes rows: answers are those of texts"


def test_suggest_texts_keeps_order(client):
    found = client.ask("/v1/suggest", {"texts": ["large files", "unheard", ""], "k": 1})
    assert [len(one["labels"]) for one in found["results"]] == [1, 0, 0]
    assert client.ask("/v1/suggest", {"texts": []}) == {"results": []}


def test_suggest_row_maps_features_to_values(client, rows):
    row = ROW
    found = client.ask("/v1/suggest", {"row": feature_map(row), "k": 3, "model": "rows"})["labels"]
    labels, scores = rows.predict_topk(row, k=3)
    assert [one["label"] for one in found] == labels[0].tolist()
    assert [one["score"] for one in found] == pytest.approx(scores[0].tolist())
    unknown = {**feature_map(row), "unheard": 3.0}
    again = client.ask("/v1/suggest", {"rows": [unknown, {}], "k": 3, "model": "rows"})
    assert again["results"] == [{"labels": found}, {"labels": []}]
    by_id = {str(j): float(x) for j, x in zip(row.indices, row.data, strict=True)}
    classes = client.ask("/v1/suggest", {"row": {**by_id, "99": 1, "x": 1}, "model": "ids"})
    assert {one["label"] for one in classes["labels"]} == {10, 11, 12}


def test_explain_is_that_of_model(client, texts, rows):
    found = client.ask("/v1/explain", {"text": TEXT, "label": "files", "features": 1})
    assert found == {
        "explanations": [json.loads(json.dumps(texts.explain(TEXT, "files").as_dict(1)))]
    }
    pieces = found["explanations"][0]["segments"]
    assert "".join(piece["text"] for piece in pieces) == TEXT
    several = client.ask("/v1/explain", {"row": feature_map(ROW), "k": 2, "model": "rows"})
    assert [one["label"] for one in several["explanations"]] == (
        rows.predict_topk(ROW, k=2)[0][0].tolist()
    )
    assert client.ask("/v1/explain", {"text": "unheard"}) == {"explanations": []}


WRONG = [
    ("suggest", {}, "give one of text, texts, row and rows"),
    ("suggest", {"text": "a", "texts": ["a"]}, "give one of"),
    ("suggest", {"text": 3}, "text: Expected `str`, got `int`: 3"),
    ("suggest", {"texts": [None]}, "texts[0]: Expected `str`, got `null`: None"),
    ("suggest", {"texts": "a"}, "texts: Expected `array`, got `str`: 'a'"),
    ("suggest", {"texts": ["a"] * 5}, "at most 4 inputs"),
    ("suggest", {"text": "a", "k": "3"}, "k: Expected `int`, got `str`: '3'"),
    ("suggest", {"text": "a", "k": 0}, "k: Expected `int` >= 1: 0"),
    ("suggest", {"text": "a", "threshold": "x"}, "threshold: Expected `float`, got `str`: 'x'"),
    ("suggest", {"text": "a", "threshold": 10**400}, "threshold: Number out"),
    ("suggest", {"text": "a", "limit": 3}, "unknown field `limit`"),
    ("suggest", {"text": "a", "model": 1}, "model: Expected `str`, got `int`: 1"),
    ("suggest", {"text": "a", "model": "rows"}, "takes rows, not texts"),
    ("suggest", {"row": {}}, "model 'texts' takes texts, not rows"),
    ("suggest", {"row": [1]}, "row: Expected `object`, got `array`: [1]"),
    ("suggest", {"row": {"a": "1"}}, "row[...]: Expected `float`, got `str`"),
    ("suggest", {"row": {"f1": 1e300}, "model": "rows"}, "fit into 32 bits"),
    ("suggest", {"row": {"f1": -1e300}, "model": "rows"}, "fit into 32 bits"),
    ("suggest", {"row": {"f1": 10**400}, "model": "rows"}, "row[...]: Number out"),
    ("explain", {"text": "a", "k": True}, "k: Expected `int`, got `bool`: True"),
    ("explain", {"text": "a", "label": "files", "k": 2}, "give label or k"),
    ("explain", {"text": "a", "label": []}, "label: Expected `int | str`, got `array`: []"),
    ("explain", {"text": "a", "row": {}}, "give one of text and row"),
]
UNKNOWN = [
    ("suggest", {"text": "a", "model": "x"}, "no model 'x': there is texts,"),
    ("explain", {"text": "files", "label": "x"}, "label must be a label"),
    ("explain", {"text": "files", "label": "x" * 15_000}, "label must be"),
]


@pytest.mark.parametrize(
    ("status", "path", "body", "message"),
    [*((422, *one) for one in WRONG), *((404, *one) for one in UNKNOWN)],
)
def test_wrong_field_is_refused_in_one_line(client, status, path, body, message):
    error = client.ask(f"/v1/{path}", body, status)["error"]
    assert message in error
    assert "\n" not in error
    assert len(error) <= 1000


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"{", 400, "the body is not JSON"),
        (b"", 400, "the body is not JSON"),
        (b"\xff\xfe\xfa", 400, "the body is not JSON"),
        (b"[" * 10_000, 422, "Expected `object`, got `array`"),
        (b'{"text": ' + b"[" * 10_000, 422, "text: Expected `str`, got `array`"),
        (b'{"text": "a", "threshold": NaN}', 400, "the body is not JSON"),
        (b"[]", 422, "Expected `object`, got `array`"),
        (b'{"text": "\\ud800"}', 400, "the body is not JSON"),
        (b'{"text": "' + b"a" * 20_000 + b'"}', 413, "at most 20000 bytes"),
    ],
    ids=["cut", "empty", "bytes", "deep", "deep text", "nan", "list", "surrogate", "long"],
)
def test_wrong_body_is_refused(client, content, status, message):
    answer = client.post("/v1/suggest", content=content, headers=JSON)
    assert answer.status_code == status
    assert message in answer.json()["error"]


def test_body_is_not_read_beyond_limit(client):
    read = []

    async def endless():
        for number in range(1000):
            read.append(number)
            yield b"a" * 1000

    answer = client.post("/v1/suggest", content=endless(), headers=JSON)
    assert answer.status_code == 413
    assert len(read) < 30


def test_other_paths_methods_and_types_are_refused(client):
    assert client.get("/nothing").status_code == 404
    assert client.get("/nothing").json() == {"error": "Not Found"}
    answer = client.get("/v1/suggest")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert answer.json() == {"error": "GET is not allowed: use POST"}
    form = client.post("/v1/suggest", data={"text": "a"})
    assert form.status_code == 415
    assert "application/json" in form.json()["error"]
    typeless = client.post("/v1/suggest", content=b'{"text": "a"}')
    assert typeless.status_code == 415
    charset = {"content-type": "Application/JSON; charset=utf-8"}
    assert client.post("/v1/suggest", content=b'{"text": "a"}', headers=charset).is_success


def test_huge_k_is_all_labels(client):
    for k in (50, 2**31, 10**30):
        assert len(client.ask("/v1/suggest", {"text": TEXT, "k": k})["labels"]) == 3
        assert len(client.ask("/v1/explain", {"text": TEXT, "k": k})["explanations"]) == 3


def test_status_models_and_document(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {
        "models": ["texts", "rows", "ids"], "loads": 0, "loaded": None, "problem": None,
        "status": "ready",
    }  # fmt: skip
    assert client.get("/v1/models").json()["models"][0] == {
        "name": "texts", "takes": "texts", "labels": 3, "scores": "score",
    }  # fmt: skip
    document = client.get("/openapi.json").json()
    assert set(document["paths"]) == {
        "/v1/models", "/v1/suggest", "/v1/explain", "/v1/labels", "/v1/shortlist",
        "/v1/corrections", "/v1/undo", "/v1/next", "/healthz", "/readyz", "/metrics",
        "/openapi.json", "/docs",
    }  # fmt: skip
    body = document["paths"]["/v1/suggest"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"] == {"$ref": "#/components/schemas/Suggest"}
    schema = document["components"]["schemas"]["Suggest"]
    assert schema["properties"]["texts"]["maxItems"] == 4
    assert schema["properties"]["k"]["minimum"] == 1
    assert schema["additionalProperties"] is False
    assert schema["oneOf"] == [{"required": [name]} for name in ("text", "texts", "row", "rows")]


def test_token_is_required_below_v1(served):
    client = Client(make_app([served], **SECRET))
    body = {"text": TEXT}
    for header in ({}, {"authorization": "Bearer other"}, {"authorization": "Bearer s\xe9cret"}):
        raw = {name: value.encode("latin-1") for name, value in header.items()}
        assert client.post("/v1/suggest", json=body, headers=raw).status_code == 401
        assert client.get("/v1/models", headers=raw).status_code == 401
    for header in ("Bearer secret", "bearer secret", "BEARER  secret"):
        good = client.post("/v1/suggest", json=body, headers={"authorization": header})
        assert good.status_code == 200
    assert client.get("/v1/models", headers={"authorization": "Basic secret"}).status_code == 401
    assert client.get("/healthz").status_code == 200


def test_requests_beyond_limit_are_refused(served):
    app = make_app([served], limits=Limits(max_requests=2))
    found = together(app, *[{"text": TEXT}] * 4)
    assert sorted(answer.status_code for answer in found) == [200, 200, 503, 503]
    busy = next(answer for answer in found if answer.status_code == 503)
    assert busy.json() == {"error": "too many concurrent requests"}
    assert busy.headers["retry-after"] == "1"
    assert Client(app).ask("/v1/suggest", {"text": TEXT})


def test_long_bodies_are_decoded_one_at_a_time(served, monkeypatch):
    events = []

    def note(name, work):
        def noted(*given, **more):
            events.append(name)
            return work(*given, **more)

        monkeypatch.setattr(served, name, noted)

    note("check", served.check)
    note("predict", served.predict)
    together(make_app([served]), *[{"text": TEXT * 4000}] * 3)
    assert events == ["check", "predict"] * 3
    together(make_app([served]), *[{"text": TEXT}] * 3)
    assert events[6:] == ["check"] * 3 + ["predict"]


def test_files_of_the_page_are_guarded_and_small(client):
    sizes = []
    for path in ("/", "/page.css", "/page.js"):
        plain = client.get(path, headers={"accept-encoding": "identity"})
        assert plain.status_code == 200
        assert plain.headers["x-content-type-options"] == "nosniff"
        policy = plain.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        packed = client.get(path, headers={"accept-encoding": "gzip"})
        assert packed.text == plain.text
        assert packed.headers["content-encoding"] == "gzip"
        sizes.append(int(packed.headers["content-length"]))
    assert sum(sizes) < 10_000
    assert client.post("/").status_code == 405


def test_docs_page_loads_nothing_else(client):
    page = client.get("/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "POST /v1/suggest" in page.text
    assert not re.search(r"(src|href)=[\"'](?!openapi\.json)", page.text)
    assert "<script" not in page.text


def test_metrics_require_token(served):
    client = Client(make_app([served], **SECRET))
    assert client.get("/metrics").status_code == 401
    answer = client.get("/metrics", headers={"authorization": "Bearer secret"})
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'defrag_requests_total{route="/metrics",status="401"} 1.0' in answer.text


def test_explained_labels_times_characters_are_bounded(served):
    client = Client(make_app([served], limits=Limits(max_explained_text=30)))
    for text, number in (("files", 3), ("sorting large files", 3), ("sorting files " * 2, 2)):
        found = client.ask("/v1/explain", {"text": text, "k": 20})["explanations"]
        assert len(found) == number
    refused = client.ask("/v1/explain", {"text": "files" + " " * 26}, 422)["error"]
    assert "at most 30 characters" in refused


def test_suggest_is_answered_while_explain_runs(served, monkeypatch):
    release, explain = threading.Event(), served.explain

    def held(*arguments):
        assert release.wait(60)
        return explain(*arguments)

    monkeypatch.setattr(served, "explain", held)

    async def both():
        async with connected(make_app([served])) as client:
            explained = asyncio.ensure_future(client.post("/v1/explain", json={"text": TEXT}))
            await asyncio.sleep(0)
            suggested = await client.post("/v1/suggest", json={"text": TEXT})
            early = explained.done()
            release.set()
            return suggested.status_code, early, (await explained).status_code

    assert asyncio.run(both()) == (200, False, 200)


@pytest.mark.parametrize(
    ("version", "hosts", "status"),
    [
        ("1.1", [], 400), ("1.1", ["localhost", "localhost"], 400), ("1.0", [], 200),
        ("1.1", ["evil.example"], 421), ("1.1", ["127.0.0.1.evil.example:80"], 421),
        ("1.1", [""], 421), ("1.1", ["localhost:80@evil"], 421), ("1.1", ["[::1]evil"], 421),
        ("1.1", ["localhost"], 200), ("1.1", ["LocalHost:8765"], 200),
        ("1.1", ["127.0.0.1:1"], 200),
        ("1.1", ["127.8.9.1"], 200), ("1.1", ["[::1]:8765"], 200), ("1.1", ["[::2]"], 421),
        ("1.1", ["models.example:80"], 200), ("1.0", ["evil.example"], 421),
    ],
)  # fmt: skip
def test_host_is_one_and_known(served, version, hosts, status):
    settings = Settings({}, allow_hosts=("Models.example",))
    app = app_of(Service([served], hosts=settings.names()))
    for path in ("/healthz", "/v1/models", "/nothing"):
        scope = {
            "type": "http", "http_version": version, "method": "GET", "path": path,
            "root_path": "", "query_string": b"",
            "headers": [(b"host", host.encode()) for host in hosts],
        }  # fmt: skip
        sent = []

        async def send(message, sent=sent):
            sent.append(message)

        asyncio.run(app(scope, None, send))
        assert sent[0]["status"] == (404 if status == 200 and path == "/nothing" else status)


def test_hosts_are_checked_on_loopback_without_token():
    assert Settings({}).names() == {"127.0.0.1"}
    assert Settings({}, host="0.0.0.0").names() is None  # noqa: S104 - not bound
    assert Settings({}, **SECRET).names() is None
    both = Settings({}, **SECRET, allow_hosts=("a.example",))
    assert both.names() == {"127.0.0.1", "a.example"}
