"""``defrag serve`` as a process: it listens on this machine, answers, and ends in order."""

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.helpers.cli_running import check_refusal
from tests.helpers.processes import environment
from tests.helpers.serving import SECONDS, running, save_model

pytestmark = pytest.mark.slow  # every test starts processes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    save_model(tmp_path / "model.safetensors")
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "empty").write_text("\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def server(folder):
    with running(folder / "model.safetensors") as found:
        yield found.process, f"http://127.0.0.1:{found.port}"


def ask(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(),  # noqa: S310 - on loopback
                                     {"content-type": "application/json"})  # fmt: skip
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - on loopback
        return json.load(answer)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_server_answers_and_stops_on_signal(server, number):
    process, url = server
    assert ask(f"{url}/v1/suggest", {"text": "large files", "k": 1})["labels"][0]["label"] == "f"
    why = ask(f"{url}/v1/explain", {"text": "quick sorting"})["explanations"][0]
    assert why["features"][0]["name"] == "sorting"
    with pytest.raises(urllib.error.HTTPError, match="422"):
        ask(f"{url}/v1/suggest", {"texts": 3})
    process.send_signal(number)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, errors
    assert errors == ""


REFUSED = {
    "--host 0.0.0.0": "--host 0.0.0.0 is not this machine",
    "--host example.org": "give --token-file or --no-auth",
    "--token-file nothing": "nothing: No such file",
    "--token-file empty": "one printable ASCII word",
    "./model.safetensors": "two models have the name model",
    "nothing": "nothing: No such file",
    "--documents docs.jsonl": "--documents changes nothing without --corrections",
    "--corrections said.jsonl": "model 'model' must have lists of names to be corrected",
    "--port 70000": "'--port'",
}


@pytest.mark.parametrize(("more", "expected"), REFUSED.items())
def test_wrong_arguments_are_refused_in_one_line(folder, more, expected):
    check_refusal(folder, f"serve model.safetensors {more}", expected)


def test_missing_extra_is_named(folder, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("defrag.serving")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    check_refusal(folder, "serve model.safetensors", r"pip install 'defrag\[serve\]'")


APPLICATION = """
from defrag import load
from defrag.serving import ServedModel, make_app


def make():
    return make_app([ServedModel("subjects", load("model.safetensors"))])
"""


def test_application_runs_in_other_server(folder):
    (folder / "application.py").write_text(APPLICATION)
    command = [sys.executable, "-m", "uvicorn", "application:make", "--factory", "--port", "0"]
    process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    try:
        lines = iter(process.stderr.readline, "")
        found = next(filter(None, (re.search(r"http://127\.0\.0\.1:\d+", one) for one in lines)))
        url = found.group()
        asked = {"text": "large files", "k": 1}
        assert ask(f"{url}/v1/suggest", asked)["labels"][0]["label"] == "f"
        with urllib.request.urlopen(f"{url}/metrics", timeout=SECONDS) as answer:  # noqa: S310 - on loopback
            assert b'defrag_inputs_total{model="subjects"} 1.0\n' in answer.read()
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)
