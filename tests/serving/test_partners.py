"""Programs that ask the server: Label Studio, doccano, clients of the Model Context Protocol."""

import asyncio
import base64
import json

import pytest

from defrag.serving import ServedModel, make_app
from tests.serving.client import Client
from tests.text.test_answers import corpus

TEXT = corpus(1, seed=9)[0][0]
CONFIG = """<View><Text name="words" value="$body"/><{0} name="topic" toName="words"
 choice="multiple"><Choice value="topic 1"/></{0}></View>"""
STUDIO = "/label-studio"


@pytest.fixture
def client(loop):
    return Client(make_app([loop.model], loop=loop))


# --- Label Studio, in the form of the requests of version 1.23.2 (ml/api_connector.py).


def task(text, **more):
    return {"id": 7, "data": {"body": text}, "annotations": [], **more}


@pytest.mark.parametrize(("tag", "kind"), [("Choices", "choices"), ("Taxonomy", "taxonomy")])
def test_label_studio_gets_predictions_and_sends_annotations(client, loop, topics, tag, kind):
    config = CONFIG.format(tag)
    assert client.get(f"{STUDIO}/health").json()["status"] == "UP"
    setup = {"project": "1.17", "schema": config, "hostname": "http://localhost:8080",
             "access_token": "x", "extra_params": None}  # fmt: skip
    version = client.ask(f"{STUDIO}/setup", setup)["model_version"]
    asked = {"tasks": [task(TEXT), task("unheard")], "project": "1.17", "label_config": config,
             "params": {"login": None, "password": None, "context": None}}  # fmt: skip
    found = client.ask(f"{STUDIO}/predict", asked)
    answers = topics.predict([TEXT])[0]
    value = [[one] for one in answers] if kind == "taxonomy" else answers
    assert answers
    assert found["results"][0]["result"] == [
        {"from_name": "topic", "to_name": "words", "type": kind, "value": {kind: value}}
    ]
    assert 0 < found["results"][0]["score"] <= 1
    assert found["results"][1] == {"result": [], "score": 0.0, "model_version": version}
    chosen = [["more", "new"], ["topic 2"]] if kind == "taxonomy" else ["new", "topic 2"]
    result = [{"from_name": "topic", "to_name": "words", "type": kind, "value": {kind: chosen}},
              {"from_name": "other", "type": "rating", "value": {"rating": 3}}]  # fmt: skip
    told = {"action": "ANNOTATION_CREATED", "task": task(TEXT), "project": {"label_config": config},
            "annotation": {"id": 1, "result": result, "was_cancelled": False}}  # fmt: skip
    for _ in range(2):  # as if there were two webhooks
        assert client.ask(f"{STUDIO}/webhook", told) == {"status": "ok"}
    assert loop.corrections.labels == {TEXT: ["new", "topic 2"]}
    again = client.ask(f"{STUDIO}/predict", asked)["results"][0]["result"][0]["value"][kind]
    assert {"new", "topic 2"} == {one[-1] if kind == "taxonomy" else one for one in again}
    cancelled = {**told["annotation"], "was_cancelled": True}
    for ignored in ({**told, "action": "ANNOTATIONS_DELETED"}, {**told, "annotation": cancelled}):
        assert client.ask(f"{STUDIO}/webhook", ignored) == {"status": "ignored"}
    wrong = {**told["annotation"], "result": [{**result[0], "value": {kind: 3}}]}
    refused = client.ask(f"{STUDIO}/webhook", {**told, "annotation": wrong}, 422)["error"]
    assert refused.startswith("an annotation must have a list of labels: ")
    assert loop.corrections.n_lines == 1


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("<View>", "the labelling configuration is not XML: "),
        ("<View/>", "must have Choices or a Taxonomy of a text"),
        (CONFIG.format("Choices").replace("$body", "$other"), "must have a text in data.other"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><View/>', "must have no DTD"),
    ],
)
def test_label_studio_is_told_what_is_wrong(client, config, message):
    body = {"tasks": [task(TEXT)], "label_config": config}
    assert message in client.ask(f"{STUDIO}/predict", body, 422)["error"]


def test_label_studio_may_give_the_token_as_a_password(loop):
    client = Client(make_app([loop.model], loop=loop, token="secret"))  # noqa: S106
    for word, status in (("secret", 200), ("wrong", 401)):
        given = base64.b64encode(f"somebody:{word}".encode()).decode()
        headers = {"authorization": f"Basic {given}"}
        assert client.get(f"{STUDIO}/health", headers=headers).status_code == status
    assert client.get(f"{STUDIO}/health", headers={"authorization": "Basic x"}).status_code == 401


# --- doccano sends what it is told to, and reads labels by a template (docs/loop.md).

DOCCANO = (
    "[{% for one in input.labels %}"
    '{"label": {{ one.label | tojson }}}{% if not loop.last %},{% endif %}'
    "{% endfor %}]"
)


def test_doccano_reads_suggestions(topics):
    jinja = pytest.importorskip("jinja2", reason="jinja2, which doccano uses, is not installed")
    client = Client(make_app([ServedModel("m", topics)]))
    found = client.ask("/v1/suggest", {"text": TEXT, "answers": True})
    labels = json.loads(jinja.Template(DOCCANO).render(input=found))
    assert labels == [{"label": one} for one in topics.predict([TEXT])[0]]


# --- The Model Context Protocol.


def rpc(client, method, number=1, **params):
    body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return client.ask("/mcp", body)


def test_tools_by_hand(client):
    told = rpc(client, "initialize", protocolVersion="2025-11-25", capabilities={})["result"]
    assert (told["protocolVersion"], told["serverInfo"]["name"]) == ("2025-11-25", "defrag")
    older = rpc(client, "initialize", protocolVersion="1")["result"]
    assert older["protocolVersion"] == "2025-06-18"
    silent = client.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (silent.status_code, silent.content) == (202, b"")
    assert client.get("/mcp").status_code == 405
    assert rpc(client, "ping", "x") == {"jsonrpc": "2.0", "id": "x", "result": {}}
    tools = {one["name"]: one for one in rpc(client, "tools/list")["result"]["tools"]}
    assert set(tools) == {"shortlist", "find_labels"}
    assert tools["shortlist"]["inputSchema"]["required"] == ["text"]
    found = rpc(client, "tools/call", name="find_labels", arguments={"words": "Name 3", "k": 1})
    assert found["result"]["structuredContent"]["labels"][0]["label"] == "topic 3"
    asked = {"text": TEXT, "recall": 2}
    bad = rpc(client, "tools/call", name="shortlist", arguments=asked)["result"]
    assert bad["isError"]
    assert bad["content"][0]["text"].startswith("recall: ")
    assert rpc(client, "tools/call", name="x")["error"]["code"] == -32602
    assert rpc(client, "resources/list")["error"] == {
        "code": -32601, "message": "no method 'resources/list'",
    }  # fmt: skip


@pytest.mark.slow
def test_the_stock_client_calls_a_tool(serve, topics):
    pytest.importorskip("mcp", reason="mcp, the client of the protocol, is not installed")
    from mcp import ClientSession  # noqa: PLC0415 - a package for tests
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - as above

    async def talk(address):
        async with (
            streamable_http_client(address + "mcp") as streams,
            ClientSession(*streams[:2]) as session,
        ):
            await session.initialize()
            tools = await session.list_tools()
            asked = {"text": TEXT, "recall": 0.8, "words": 1}
            return tools, await session.call_tool("shortlist", asked)

    tools, called = asyncio.run(talk(serve({"m": topics})))
    assert {one.name for one in tools.tools} == {"shortlist", "find_labels"}
    told = called.model_dump(by_alias=True)
    assert not told["isError"]
    best = topics.shortlist([TEXT], 0.8, words=1)[0][0]
    first = told["structuredContent"]["labels"][0]
    assert (first["label"], first["name"]) == (best.label, best.name)
    assert (first["description"], first["words"]) == (best.description, list(best.words))
