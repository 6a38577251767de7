"""Workers that are replaced, and models that change, while a server answers."""

from __future__ import annotations

import functools
import http.client
import json
import os
import signal
import time

import pytest

from tests.helpers import serving
from tests.helpers.serving import SECONDS, children, save_model, wait_until

pytest.importorskip("uvicorn", reason="uvicorn is not installed (extra 'serve')")
pytest.importorskip("httptools", reason="httptools is not installed (extra 'serve')")

pytestmark = pytest.mark.slow  # every test starts processes

FAST = ("--watch", "0.2")


@pytest.fixture(scope="module")
def running(warm_python):
    return functools.partial(serving.running, python=warm_python)


@pytest.fixture
def path(tmp_path):
    return save_model(tmp_path / "model.safetensors")


def replace(path, labels):
    save_model(path.with_name("next"), labels).replace(path)


def test_a_changed_file_is_loaded_and_old_connections_get_their_answer(path, running):
    with running(path, *FAST, "--workers", 2) as server:
        old = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
        assert server.best("files") == "f"
        replace(path, "aabb")
        for _ in range(1000):
            old.request("GET", "/readyz")
            answer = old.getresponse()
            assert answer.status == 200
            answer.read()
            if answer.getheader("connection") == "close":
                break
            time.sleep(0.05)
        else:
            pytest.fail("no answer was the last one of its connection")
        wait_until(lambda: server.best("files") == "a")  # the other worker may listen a bit longer
        assert server.counter("loads_total") == 2
        wait_until(lambda: server.counter("workers") == 2)


def test_a_broken_file_is_reported_and_the_old_model_kept(path, running):
    with running(path, *FAST) as server:
        content = path.read_bytes()
        with path.open("r+b") as file:  # in place, under the feet of the server
            file.truncate(len(content) // 2)
        wait_until(lambda: server.counter("failed_loads_total") == 1)
        assert server.best("sorting") == "s"
        state = json.loads(server.get("/readyz"))
        assert state["status"] == "ready"
        assert str(path) in state["problem"]
        replace(path, "aabb")
        wait_until(lambda: server.best("files") == "a")
        wait_until(lambda: json.loads(server.get("/readyz"))["problem"] is None)
        server.process.terminate()
        _, errors = server.process.communicate(timeout=60)
        assert "models could not be loaded; the old ones stay in use" in errors
        assert "models loaded" in errors
        assert server.process.returncode == 0


def test_sighup_loads_the_models_again(path, running):
    with running(path, "--watch", "0") as server:
        replace(path, "aabb")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: server.counter("loads_total") == 2)
        wait_until(lambda: server.best("files") == "a")


def test_what_is_asked_before_the_first_request_is_not_counted(path, tmp_path, running):
    (tmp_path / "token").write_text("secret")
    with running(path, "--log-json", "--watch", "0") as server:
        text = server.get("/metrics")
        assert "defrag_requests_total{" not in text
        assert 'defrag_inputs_total{model="model"} 0' in text
    small = ("--max-requests", 1, "--max-body", 10)  # what they refuse ends no server
    with running(path, "--token-file", tmp_path / "token", *small) as server:
        assert json.loads(server.get("/readyz"))["models"] == ["model"]


def test_a_killed_worker_is_replaced(path, running):
    with running(path, "--workers", 2) as server:
        first = server.workers()
        assert len(first) == 2
        os.kill(first[0], signal.SIGKILL)
        wait_until(lambda: len(set(server.workers()) - set(first)) == 1)
        assert server.best("files") == "f"
        assert server.counter("worker_restarts_total") == 1


def test_models_are_loaded_again_when_their_process_is_killed(path, running):
    with running(path) as server:
        os.kill(children(server.supervisor)[0], signal.SIGKILL)
        assert server.best("files") == "f"
        wait_until(lambda: server.counter("loads_total") == 2)


def test_no_process_outlives_the_first_one(path, running):
    with running(path, "--workers", 2) as server:
        workers = server.workers()
        server.process.kill()
        server.process.wait()
        wait_until(lambda: not any(map(_runs, workers)))


def _runs(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_events_and_requests_are_logged_as_json_lines_on_request(path, running):
    with running(path, "--log-json", "--watch", "0") as server:
        assert server.best("files") == "f"
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: server.counter("loads_total") == 2)
        server.process.terminate()
        _, errors = server.process.communicate(timeout=60)
    lines = [json.loads(line) for line in errors.splitlines()]
    first = lines[0]
    assert {name: first[name] for name in ("event", "method", "path", "status")} == {
        "event": "request", "method": "POST", "path": "/v1/suggest", "status": 200,
    }  # fmt: skip
    assert first["ms"] > 0
    assert "files" not in errors
    assert any(line["event"] == "models loaded" for line in lines)


def test_counters_are_summed_over_workers_and_loads(path, running):
    with running(path, "--workers", 2, "--watch", "0") as server:
        for _ in range(10):
            server.best("files")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: server.counter("loads_total") == 2)
        for _ in range(10):
            server.best("files")
        text = server.get("/metrics")
        assert 'defrag_requests_total{route="/v1/suggest",status="200"} 20' in text
        assert 'defrag_inputs_total{model="model"} 20' in text
        assert 'defrag_request_seconds_count{route="/v1/suggest"} 20' in text
