"""Models in folders and on the Hub, whose place a server on this machine takes."""

import base64
import hashlib
import http.server
import json
import re
import threading
from importlib.util import find_spec

import numpy as np
import pytest

from defrag import LabelTree, TextClassifier, Thesaurus
from defrag.hub import from_pretrained, save_pretrained
from tests.helpers.processes import run_python

TEXTS = ["quick sort", "merge sort", "hash map", "hash table"] * 300
LABELS = [["sorts"], ["sorts", "merge"], ["maps"], ["maps"]] * 300


@pytest.fixture(scope="module")
def model():
    names = Thesaurus.of([{"id": "sorts", "name": {"en": "Sorting", "fi": "Lajittelu"}},
                          {"id": "trees", "name": {"en": "Trees"}}])  # fmt: skip
    return TextClassifier(random_state=0).fit(TEXTS, LABELS, thesaurus=names)


def test_card_says_what_the_model_is(model, tmp_path):
    licences = {"model": "cc-by-4.0", "labels": "cc0-1.0"}
    test = (["quick sort", "a hash"], [["sorts"], ["maps", "trees"]])
    folder = save_pretrained(model, tmp_path / "of" / "sorts", data="Notes on algorithms.",
                             licences=licences, test=test)  # fmt: skip
    _, head, card = (folder / "README.md").read_text("utf-8").split("---\n", 2)
    found = {key: json.loads(value) for key, value in re.findall(r"(\w+): (.*)", head)}
    assert found.pop("tags") == ["multi-label", "safetensors"]
    assert found == {"library_name": "defrag", "pipeline_tag": "text-classification",
                     "language": ["en", "fi"], "license": "cc-by-4.0"}  # fmt: skip
    checksum = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    for words in (
        "# sorts\n", "out of 4,", 'from_pretrained("sorts")', "Notes on algorithms.",
        "3 labels have training texts, 1,500 assignments; 1 more",
        "Names: Thesaurus of 2 concepts with 3 names: en, fi. ",
        "most frequent: maps (600), Sorting (600), merge (300).",
        "On 2 texts that the model was not trained on, in percent: P@1 100.0,",
        "| none | 1 | 0.0% |\n| 101 or more | 2 | 100.0% |",
        "- model: cc-by-4.0\n- data: not stated\n- labels: cc0-1.0", checksum,
    ):  # fmt: skip
        assert words in card, words


def test_folder_gives_the_model_back(model, tmp_path):
    folder = save_pretrained(model, tmp_path / "m", weights="int8")
    names, _ = from_pretrained(folder).predict_topk(TEXTS[:4], k=2)
    np.testing.assert_array_equal(names, model.predict_topk(TEXTS[:4], k=2)[0])
    card = (folder / "README.md").read_text("utf-8")
    assert all(words in card for words in ("weights int8", "Not measured.", "are not described"))


def test_wrong_arguments_are_refused(model, tmp_path):
    rows = LabelTree().fit(np.eye(3), [[0], [1], [2]])
    with pytest.raises(TypeError, match="model must be a TextClassifier, got a LabelTree"):
        save_pretrained(rows, tmp_path)
    with pytest.raises(ValueError, match=r"of model, data, labels, got \['texts'\]"):
        save_pretrained(model, tmp_path, licences={"texts": "mit"})
    with pytest.raises(FileNotFoundError, match="does not exist, and is no repository who/what"):
        from_pretrained(tmp_path)
    rows.save(tmp_path / "model.safetensors")
    with pytest.raises(TypeError, match="must be of a TextClassifier, got a LabelTree"):
        from_pretrained(tmp_path)
    if find_spec("huggingface_hub") is None:
        with pytest.raises(ImportError, match=r"pip install 'defrag\[hub\]'"):
            from_pretrained("who/what")


class StandIn(http.server.BaseHTTPRequestHandler):
    """The routes of the Hub by which its client makes a repository, uploads and downloads."""

    def log_message(self, *_):
        pass

    def answer(self, body, **headers):
        given = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(404 if body is None else 200)
        for name, value in {"Content-Length": str(len(given)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(given)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        assert self.headers["Authorization"] == "Bearer hf_secret"
        kind = self.path.rstrip("/").split("/")[-2 if "/main" in self.path else -1]
        if kind == "create":
            self.server.made = json.loads(body)
        elif kind == "preupload":
            files = [{**one, "uploadMode": "regular", "shouldIgnore": False}
                     for one in json.loads(body)["files"]]  # fmt: skip
            self.answer({"files": files})
            return
        elif kind == "commit":
            lines = [json.loads(line) for line in body.splitlines()]
            for one in (line["value"] for line in lines if line["key"] == "file"):
                self.server.files[one["path"]] = base64.b64decode(one["content"])
        url = f"http://127.0.0.1:{self.server.server_port}/who/what"
        self.answer({"url": url, "errors": [], "warnings": [], "success": True,
                     "commitOid": "c" * 40, "commitUrl": f"{url}/commit/1"})  # fmt: skip

    def do_GET(self):
        if self.path.startswith("/api/models/who/what/revision/main"):
            self.answer({"id": "who/what", "xetEnabled": False})
        else:
            found = self.server.files.get(self.path.removeprefix("/who/what/resolve/v1/"))
            self.answer(found, **{"ETag": '"0"', "X-Repo-Commit": "c" * 40})

    do_HEAD = do_GET  # noqa: N815 - of the base


PROGRAM = """
import sys
from defrag.hub import from_pretrained, push_to_hub

model = from_pretrained(sys.argv[1])
print(push_to_hub(model, "who/what", private=True, token="hf_secret", data="Notes."))
found = from_pretrained("who/what", revision="v1", token="hf_secret")
print(found.predict_topk(["a hash"], k=1)[0].tolist())
"""


@pytest.mark.skipif(not find_spec("huggingface_hub"), reason="huggingface_hub is not installed")
def test_model_goes_to_the_hub_and_comes_back(model, tmp_path):
    folder = save_pretrained(model, tmp_path / "local")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), StandIn) as server:
        server.files = {}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_port}"
        printed = run_python(
            "-c", PROGRAM, folder, HF_ENDPOINT=here, HF_HOME=str(tmp_path), HF_HUB_DISABLE_XET="1"
        )
        server.shutdown()
    assert printed == f"{here}/who/what/commit/1\n[['maps']]\n"
    assert server.made["name"] == "what"
    assert server.made.get("visibility") == "private" or server.made["private"] is True
    assert server.files["model.safetensors"] == (folder / "model.safetensors").read_bytes()
    card = server.files["README.md"].decode()
    assert 'from_pretrained("who/what")' in card
    assert "Notes." in card
