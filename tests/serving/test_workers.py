"""Workers that are replaced, and models that change, while a server answers."""

import contextlib
import http.client
import json
import os
import signal
import socket
import time

import pytest

from defrag.serving import supervisor
from defrag.serving.settings import Settings
from tests.helpers.serving import SECONDS, children, running, save_model, wait_until

pytestmark = pytest.mark.slow  # every test starts processes

FAST = ("--watch", "0.2")


@pytest.fixture
def path(tmp_path):
    return save_model(tmp_path / "model.safetensors")


def replace(path, labels):
    save_model(path.with_name("next"), labels).replace(path)


def load_again(server):
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.counter("loads_total") == 2)


def test_changed_file_is_loaded_and_old_connections_are_answered(path):
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


def test_file_counts_as_changed_once_it_stays_as_it_is(path, monkeypatch):
    monkeypatch.setattr(supervisor, "_raise_file_limit", lambda: 1000)
    server = supervisor.Supervisor(Settings({"model": str(path)}), announce=print)
    looks = [server._files_changed()]
    for content in (b"some", b"more", b"all of it"):
        path.write_bytes(content)
        looks.append(server._files_changed())
    assert looks == [False] * 4
    assert server._files_changed()
    path.unlink()
    assert [server._files_changed() for _ in range(2)] == [False, False]


def test_broken_file_is_reported_and_old_model_kept(path):
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


def test_sighup_reloads_models(path):
    with running(path, "--watch", "0") as server:
        replace(path, "aabb")
        load_again(server)
        wait_until(lambda: server.best("files") == "a")


def test_rehearsal_is_not_counted(path, tmp_path):
    (tmp_path / "token").write_text("secret")
    with running(path, "--log-json", "--watch", "0") as server:
        text = server.get("/metrics")
        assert "defrag_requests_total{" not in text
        assert 'defrag_inputs_total{model="model"} 0.0' in text
    small = ("--max-requests", 1, "--max-body", 10)  # what they refuse ends no server
    with running(path, "--token-file", tmp_path / "token", *small) as server:
        assert json.loads(server.get("/readyz"))["models"] == ["model"]


def test_killed_worker_is_replaced(path):
    with running(path, "--workers", 2) as server:
        first = server.workers()
        assert len(first) == 2
        os.kill(first[0], signal.SIGKILL)
        wait_until(lambda: len(set(server.workers()) - set(first)) == 1)
        assert server.best("files") == "f"
        assert server.counter("worker_restarts_total") == 1


def test_models_are_reloaded_if_their_process_is_killed(path):
    with running(path) as server:
        os.kill(children(server.process.pid)[0], signal.SIGKILL)
        assert server.best("files") == "f"
        wait_until(lambda: server.counter("loads_total") == 2)


def test_workers_end_with_supervisor(path):
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


def test_events_and_requests_are_logged_as_json(path):
    with running(path, "--log-json", "--watch", "0") as server:
        assert server.best("files") == "f"
        load_again(server)
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


def test_counters_are_summed_over_workers_and_loads(path):
    with running(path, "--workers", 2, "--watch", "0") as server:
        for _ in range(10):
            server.best("files")
        load_again(server)
        for _ in range(10):
            server.best("files")
        text = server.get("/metrics")
        assert 'defrag_requests_total{route="/v1/suggest",status="200"} 20.0' in text
        assert 'defrag_inputs_total{model="model"} 20.0' in text
        assert 'defrag_request_seconds_count{route="/v1/suggest"} 20.0' in text


def test_model_that_takes_other_inputs_replaces_none(path, rows):
    """What clients send would be refused, while /readyz says that all is well."""
    with running(path, *FAST) as server:
        other = path.with_name("rows")
        rows.save(other)
        other.replace(path)
        wait_until(lambda: server.counter("failed_loads_total") == 1)
        state = json.loads(server.get("/readyz"))
        assert "takes rows, but clients send texts: restart the server" in state["problem"]
        assert server.best("sorting") == "s"


def test_request_without_known_host_is_refused_by_name(path):
    with running(path, "--allow-host", "models.example") as server:
        for name, status in (("models.example", 200), ("localhost", 200), ("evil.example", 421)):
            client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
            with contextlib.closing(client):
                client.request("GET", "/v1/models", headers={"host": f"{name}:{server.port}"})
                assert client.getresponse().status == status


def pipe_without_reader():
    read, write = os.pipe()
    os.close(read)
    return write


def full_pipe():
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(write, b"x" * 4096):
            pass
    os.set_blocking(write, True)
    LEFT_OPEN.append(read)
    return write


def socket_without_reader():
    read, write = socket.socketpair()
    read.close()
    return write.detach()


LEFT_OPEN = []
LOGS = {
    "full disk": lambda: os.open("/dev/full", os.O_WRONLY),
    "pipe without reader": pipe_without_reader,
    "full pipe": full_pipe,
    "socket without reader": socket_without_reader,
}


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
def test_log_that_cannot_be_written_stops_nothing(path, log):
    stderr = log()
    try:
        with running(path, "--log-json", "--watch", 0, stderr=stderr) as server:
            for _ in range(20):
                assert server.best("files") == "f"
            load_again(server)
            os.kill(server.workers()[-1], signal.SIGKILL)  # of the new models
            wait_until(lambda: server.counter("worker_restarts_total") == 1)
            assert server.best("files") == "f"
            assert server.counter("log_dropped_total") > 20
    finally:
        os.close(stderr)


def test_pipe_of_log_keeps_its_mode(path):
    """Programs that share the pipe do not expect that it is non-blocking."""
    read, write = os.pipe()
    try:
        with running(path, "--log-json", stderr=write) as server:
            assert server.best("files") == "f"
            assert b'"status":200' in os.read(read, 1 << 16)
            assert os.get_blocking(write)
            assert server.counter("log_dropped_total") == 0
    finally:
        os.close(read)
        os.close(write)
