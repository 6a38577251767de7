"""Requests to the application, in this process."""

from __future__ import annotations

import asyncio
import json
import re

import numpy as np
import pytest

from defrag import LabelTree, TextClassifier
from tests.data import make_data

pytest.importorskip("starlette", reason="starlette is not installed (extra 'serve')")
httpx = pytest.importorskip("httpx", reason="httpx, the client of the tests, is not installed")
serving = pytest.importorskip("defrag.serving")

TEXTS = [
    "sparse matrix library", "dense matrix products", "a library for quick sorting",
    "merge sorting of large files", "copy large files",
]  # fmt: skip
LABELS = [["algebra"], ["algebra"], ["sorting"], ["sorting", "files"], ["files"]]
TEXT = "Sorting <b>large</b> files"
X, Y = make_data(n=80, d=25, n_labels=12, seed=1)
ROW = X[[np.argmax(np.diff(X.indptr))]]


class Client:
    """Requests to an application without a socket."""

    def __init__(self, app):
        self._app = app

    def request(self, method, path, **options):
        async def ask():
            transport = httpx.ASGITransport(app=self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                return await client.request(method, path, **options)

        return asyncio.run(ask())

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)


@pytest.fixture(scope="module")
def texts():
    return TextClassifier(LabelTree(), random_state=0).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def rows():
    model = LabelTree(random_state=0).fit(X, Y)
    model.vocabulary_ = [f"f{j}" for j in range(25)]
    return model


@pytest.fixture(scope="module")
def client(texts, rows):
    nameless = LabelTree(random_state=0).fit(X, np.arange(80) % 3 + 10)
    served = [
        serving.ServedModel("texts", texts),
        serving.ServedModel("rows", rows),
        serving.ServedModel("ids", nameless),
    ]
    return Client(
        serving.make_app(served, limits=serving.Limits(max_body=20_000, max_batch=4, max_k=50))
    )


def feature_map(row):
    return {f"f{j}": float(x) for j, x in zip(row.indices, row.data, strict=True)}


def ask(client, path, body, status=200):
    answer = client.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_text_gets_the_labels_of_predict_topk(client, texts):
    found = ask(client, "/v1/suggest", {"text": TEXT, "k": 2})["labels"]
    names, scores = texts.predict_topk([TEXT], k=2)
    assert [one["label"] for one in found] == names[0].tolist()
    assert [one["score"] for one in found] == pytest.approx(scores[0].tolist())
    above = {"text": TEXT, "threshold": float(scores[0, 0])}
    assert len(ask(client, "/v1/suggest", above)["labels"]) == 1


def test_several_texts_are_answered_in_order(client):
    found = ask(client, "/v1/suggest", {"texts": ["large files", "unheard", ""], "k": 1})
    assert [len(one["labels"]) for one in found["results"]] == [1, 0, 0]
    assert ask(client, "/v1/suggest", {"texts": []}) == {"results": []}


def test_rows_are_maps_of_features(client, rows):
    row = ROW
    found = ask(client, "/v1/suggest", {"row": feature_map(row), "k": 3, "model": "rows"})["labels"]
    labels, scores = rows.predict_topk(row, k=3)
    assert [one["label"] for one in found] == labels[0].tolist()
    assert [one["score"] for one in found] == pytest.approx(scores[0].tolist())
    unknown = {**feature_map(row), "unheard": 3.0}
    again = ask(client, "/v1/suggest", {"rows": [unknown, {}], "k": 3, "model": "rows"})
    assert again["results"] == [{"labels": found}, {"labels": []}]
    by_id = {str(j): float(x) for j, x in zip(row.indices, row.data, strict=True)}
    classes = ask(client, "/v1/suggest", {"row": {**by_id, "99": 1, "x": 1}, "model": "ids"})
    assert {one["label"] for one in classes["labels"]} == {10, 11, 12}


def test_explanations_are_those_of_the_model(client, texts, rows):
    found = ask(client, "/v1/explain", {"text": TEXT, "label": "files", "features": 1})
    assert found == {
        "explanations": [json.loads(json.dumps(texts.explain(TEXT, "files").as_dict(1)))]
    }
    pieces = found["explanations"][0]["segments"]
    assert "".join(piece["text"] for piece in pieces) == TEXT
    several = ask(client, "/v1/explain", {"row": feature_map(ROW), "k": 2, "model": "rows"})
    assert [one["label"] for one in several["explanations"]] == (
        rows.predict_topk(ROW, k=2)[0][0].tolist()
    )
    assert ask(client, "/v1/explain", {"text": "unheard"}) == {"explanations": []}


REFUSED = {
    "no text": ("suggest", {}, 422, "give one of text, texts, row and rows"),
    "two texts": ("suggest", {"text": "a", "texts": ["a"]}, 422, "give one of"),
    "number as text": ("suggest", {"text": 3}, 422, "a text must be a string, got 3"),
    "null as text": ("suggest", {"texts": [None]}, 422, "a text must be a string, got None"),
    "text as list": ("suggest", {"texts": "a"}, 422, "texts must be a list of at most 4 inputs"),
    "too many": ("suggest", {"texts": ["a"] * 5}, 422, "at most 4 inputs"),
    "no number": ("suggest", {"text": "a", "k": "3"}, 422, "k must be an integer >= 1, got '3'"),
    "k of zero": ("suggest", {"text": "a", "k": 0}, 422, "k must be an integer >= 1, got 0"),
    "k of true": ("explain", {"text": "a", "k": True}, 422, "k must be an integer >= 1"),
    "bad threshold": ("suggest", {"text": "a", "threshold": "x"}, 422, "threshold must be"),
    "unknown field": ("suggest", {"text": "a", "limit": 3}, 422, "unknown field 'limit'"),
    "no such model": ("suggest", {"text": "a", "model": "x"}, 404, "no model 'x'"),
    "model as number": ("suggest", {"text": "a", "model": 1}, 422, "model must be a name"),
    "row for texts": ("suggest", {"row": {}}, 422, "model 'texts' takes texts, not rows"),
    "text for rows": ("suggest", {"text": "a", "model": "rows"}, 422, "takes rows, not texts"),
    "list as row": ("suggest", {"row": [1]}, 422, "a row must be an object of features"),
    "text as value": ("suggest", {"row": {"a": "1"}}, 422, "feature 'a' must be a number"),
    "huge value": ("suggest", {"row": {"f1": 1e300}, "model": "rows"}, 422, "fit into 32 bits"),
    "huge integer": ("suggest", {"row": {"f1": 10**400}, "model": "rows"}, 422, "fit into 32 bits"),
    "no such label": ("explain", {"text": "files", "label": "x"}, 404, "label must be a label"),
    "label and k": ("explain", {"text": "a", "label": "files", "k": 2}, 422, "give label or k"),
    "label as list": ("explain", {"text": "a", "label": []}, 422, "label must be a name or an id"),
    "text and row": ("explain", {"text": "a", "row": {}}, 422, "give one of text and row"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "body", "status", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_refused_in_one_line(client, path, body, status, message):
    error = ask(client, f"/v1/{path}", body, status)["error"]
    assert message in error
    assert "\n" not in error


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"{", 400, "the body is not JSON"),
        (b"", 400, "the body is not JSON"),
        (b"\xff\xfe\xfa", 400, "the body is not JSON"),
        (b"[" * 10_000, 400, "the body is not JSON"),
        (b'{"text": "a", "threshold": NaN}', 400, "NaN is not a JSON number"),
        (b"[]", 422, "the body must be a JSON object"),
        (b'{"text": "\\ud800"}', 422, "a text has a lone surrogate"),
        (b'{"text": "' + b"a" * 20_000 + b'"}', 413, "at most 20000 bytes"),
    ],
    ids=["cut", "empty", "bytes", "deep", "nan", "list", "surrogate", "long"],
)
def test_bodies_that_are_no_requests_are_refused(client, content, status, message):
    answer = client.post("/v1/suggest", content=content)
    assert answer.status_code == status
    assert message in answer.json()["error"]


def test_a_body_of_unknown_length_is_not_read_to_its_end(client):
    read = []

    async def endless():
        for number in range(1000):
            read.append(number)
            yield b"a" * 1000

    answer = client.post("/v1/suggest", content=endless())
    assert answer.status_code == 413
    assert len(read) < 30


def test_other_paths_methods_and_forms_are_refused(client):
    assert client.get("/nothing").status_code == 404
    assert client.get("/nothing").json() == {"error": "Not Found"}
    answer = client.get("/v1/suggest")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    form = client.post("/v1/suggest", data={"text": "a"})
    assert form.status_code == 415
    assert "application/json" in form.json()["error"]


def test_a_huge_k_is_all_labels(client):
    for k in (50, 2**31, 10**30):
        assert len(ask(client, "/v1/suggest", {"text": TEXT, "k": k})["labels"]) == 3
        assert len(ask(client, "/v1/explain", {"text": TEXT, "k": k})["explanations"]) == 3


def test_supervisors_and_clients_can_look(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json()["models"] == ["texts", "rows", "ids"]
    assert client.get("/v1/models").json()["models"][0] == {
        "name": "texts", "takes": "texts", "labels": 3,
    }  # fmt: skip
    document = client.get("/openapi.json").json()
    assert set(document["paths"]) == {
        "/v1/models", "/v1/suggest", "/v1/explain", "/healthz", "/readyz", "/openapi.json",
        "/metrics", "/docs",
    }  # fmt: skip
    body = document["paths"]["/v1/suggest"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"]["properties"]["texts"]["maxItems"] == 4


def test_the_token_opens_what_is_asked_of_models(texts):
    client = Client(serving.make_app([serving.ServedModel("texts", texts)], token="secret"))  # noqa: S106 - of this test
    body = {"text": TEXT}
    for header in ({}, {"authorization": "Bearer other"}, {"authorization": "Bearer s\xe9cret"}):
        raw = {name: value.encode("latin-1") for name, value in header.items()}
        assert client.post("/v1/suggest", json=body, headers=raw).status_code == 401
        assert client.get("/v1/models", headers=raw).status_code == 401
    good = client.post("/v1/suggest", json=body, headers={"authorization": "Bearer secret"})
    assert good.status_code == 200
    assert client.get("/healthz").status_code == 200


def test_more_requests_at_a_time_than_allowed_are_sent_away(texts):
    served = [serving.ServedModel("texts", texts)]
    app = serving.make_app(served, limits=serving.Limits(max_requests=2))

    async def together():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            asked = [client.post("/v1/suggest", json={"text": TEXT}) for _ in range(4)]
            return await asyncio.gather(*asked)

    found = asyncio.run(together())
    assert sorted(answer.status_code for answer in found) == [200, 200, 503, 503]
    busy = next(answer for answer in found if answer.status_code == 503)
    assert busy.json() == {"error": "too many concurrent requests"}
    assert busy.headers["retry-after"] == "1"
    assert Client(app).post("/v1/suggest", json={"text": TEXT}).status_code == 200


def test_the_page_of_the_interface_asks_nobody_else(client):
    page = client.get("/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "POST /v1/suggest" in page.text
    assert not re.search(r"(src|href)=[\"'](?!openapi\.json)", page.text)
    assert "<script" not in page.text


def test_a_text_that_would_take_long_to_explain_is_refused(texts):
    limits = serving.Limits(max_explained_text=5)
    client = Client(serving.make_app([serving.ServedModel("texts", texts)], limits=limits))
    assert ask(client, "/v1/explain", {"text": "files"})["explanations"]
    assert "at most 5 characters" in ask(client, "/v1/explain", {"text": "files "}, 422)["error"]


def test_counters_need_the_token(texts):
    served = [serving.ServedModel("texts", texts)]
    client = Client(serving.make_app(served, token="secret"))  # noqa: S106 - of this test
    assert client.get("/metrics").status_code == 401
    answer = client.get("/metrics", headers={"authorization": "Bearer secret"})
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'defrag_requests_total{route="/metrics",status="401"} 1' in answer.text
