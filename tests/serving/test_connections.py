"""Clients that are slow, silent, greedy or gone."""

from __future__ import annotations

import contextlib
import json
import re
import resource
import socket
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.helpers.serving import exchange, request_bytes, running, save_model, wait_until

pytest.importorskip("uvicorn", reason="uvicorn is not installed (extra 'serve')")
pytest.importorskip("httptools", reason="httptools is not installed (extra 'serve')")

pytestmark = pytest.mark.slow  # most of these tests wait for the server's time to be over
GOOD = request_bytes({"text": "large files", "k": 1})


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    path = save_model(tmp_path_factory.mktemp("serving") / "model.safetensors")
    with running(path, "--timeout", 1, "--max-connections", 20, "--max-body", 5000) as found:
        yield found


@pytest.fixture(autouse=True)
def _still_answers(server):
    yield
    assert server.best("large files") == "f"


def test_the_head_and_the_body_of_an_answer_are_written_together(server):
    with server.connect() as client:
        for _ in range(3):
            client.sendall(GOOD)
            head, _, body = client.recv(1 << 16).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert json.loads(body)["labels"][0]["label"] == "f"


def test_answers_without_a_body_are_written(server):
    with server.connect() as client:
        ask = b"HEAD /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
        client.sendall(ask)
        assert re.fullmatch(rb"HTTP/1\.1 200 OK\r\n.*\r\n\r\n", client.recv(1 << 16), re.DOTALL)
        client.sendall(ask + GOOD)  # two requests at once are answered in turn
        received = b""
        while b"labels" not in received:
            received += client.recv(1 << 16)
        assert received.count(b"HTTP/1.1 200") == 2


def test_a_body_is_asked_for(server):
    head, _, body = request_bytes(
        {"text": "large files"}, headers=b"expect: 100-continue\r\nconnection: close\r\n"
    ).partition(b"\r\n\r\n")
    with server.connect() as client:
        client.sendall(head + b"\r\n\r\n")
        assert client.recv(1 << 16) == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert exchange(client, body).startswith(b"HTTP/1.1 200")


def test_a_client_that_has_closed_its_side_is_answered(server):
    with server.connect() as client:
        client.sendall(GOOD)
        client.shutdown(socket.SHUT_WR)
        assert exchange(client).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9], ids=["nothing", "half a head", "half a body"])
def test_a_client_that_closes_its_side_too_early_is_left(server, share):
    with server.connect() as client:
        client.sendall(GOOD[: int(share * len(GOOD))])
        client.shutdown(socket.SHUT_WR)
        assert exchange(client) == b""


@pytest.mark.parametrize("share", [0.2, 0.9], ids=["head", "body"])
def test_a_request_that_does_not_come_in_time_is_refused(server, share):
    with server.connect() as client:
        start = time.monotonic()
        answer = exchange(client, GOOD[: int(share * len(GOOD))])
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"connection: close" in answer
        assert 0.9 < time.monotonic() - start < 20


def test_a_head_without_end_is_refused(server):
    with server.connect() as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nx: " + b"a" * 60_000)
        time.sleep(0.1)
        assert exchange(client, b"a" * 10_000).startswith(b"HTTP/1.1 431")


def test_a_client_that_says_nothing_is_closed(server):
    with server.connect() as client:
        assert exchange(client) == b""


def test_a_body_that_is_announced_too_long_is_refused_at_once(server):
    with server.connect() as client:
        client.sendall(GOOD.replace(b"content-length: ", b"content-length: 99999"))
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(
    "content",
    [b"\0\1\2\3\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02"],
    ids=["bytes", "no path", "version", "tls"],
)
def test_what_is_not_http_is_refused_and_closed(server, content):
    with server.connect() as client:
        answer = exchange(client, content)
        assert answer == b"" or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5"))


def test_requests_sent_together_are_answered_in_order(server):
    other = request_bytes({"text": "quick sorting", "k": 1}, headers=b"connection: close\r\n")
    with server.connect() as client:
        answer = exchange(client, GOOD + GOOD + other)
    bodies = [
        json.loads(piece.split(b"\r\n\r\n")[1]) for piece in answer.split(b"HTTP/1.1 200")[1:]
    ]
    assert [body["labels"][0]["label"] for body in bodies] == ["f", "f", "s"]


def test_a_client_that_does_not_read_its_answers_is_closed(server):
    with server.connect() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(1)
        batch = request_bytes({"texts": ["large files quick sorting"] * 32, "k": 5})
        with contextlib.suppress(ConnectionError, TimeoutError):  # the server reads no more
            for _ in range(10_000):
                client.sendall(batch)
        time.sleep(4)  # longer than the server waits
        client.settimeout(30)
        received = 0
        with contextlib.suppress(ConnectionError):  # or a clean end
            while piece := client.recv(1 << 20):
                received += len(piece)
        assert received < 50_000_000


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nx: "], ids=["nothing", "half a head"])
def test_the_longest_idle_connection_makes_room(server, sent):
    clients = []
    try:
        for _ in range(60):
            clients.append(server.connect())
            clients[-1].sendall(sent)
        assert server.best("large files") == "f"
        with contextlib.suppress(ConnectionResetError):
            assert clients[0].recv(1) == b""
    finally:
        for client in clients:
            client.close()


def test_of_clients_accepted_at_once_the_first_makes_room():
    from defrag.serving.connections import _close_longest_idle  # noqa: PLC0415 - needs uvicorn

    closed = []

    def client(number):
        transport = SimpleNamespace(is_closing=lambda: False, close=lambda: closed.append(number))
        return SimpleNamespace(waiting=True, since=1.0, number=number, transport=transport)

    _close_longest_idle([client(number) for number in (5, 3, 4)])
    assert closed == [3]


@pytest.mark.slow
def test_ten_thousand_idle_connections_cost_little(tmp_path):
    path = save_model(tmp_path / "model.safetensors")
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    number = min(10_000, soft - 500)
    # On a busy machine the last client connects more than a minute after the first.
    with running(path, "--max-connections", 10_000, "--timeout", 600) as server:
        worker = server.workers()[0]
        before = resident(worker)
        clients = []
        try:
            # Fewer at a time than wait to be accepted: the system would drop others silently.
            for count in range(1000, number + 1000, 1000):
                more = min(count, number) - len(clients)
                clients.extend(server.connect() for _ in range(more))
                wait_until(lambda: connections(server) >= len(clients))
            assert server.best("large files") == "f"
            assert (resident(worker) - before) / number < 30_000
        finally:
            for client in clients:
                client.close()


def connections(server):
    found = re.findall(r'connections{worker="1"} (\d+)', server.get("/metrics"))
    return int(found[0])


def resident(process):
    """Return the memory of a process in bytes."""
    pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()
