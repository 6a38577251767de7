"""Limits of a connection: clients that are slow, silent, greedy or gone."""

import contextlib
import json
import re
import resource
import socket
import time
from pathlib import Path

import pytest

from tests.helpers.serving import exchange, request_bytes, running, save_model, wait_until

GOOD = request_bytes({"text": "large files", "k": 1})
HEAD, _, BODY = GOOD.partition(b"\r\n\r\n")
CHUNKED = re.sub(rb"content-length: \d+", b"transfer-encoding: chunked", HEAD) + b"\r\n\r\n"
TOKENLESS = b"POST /v1/suggest HTTP/1.1\r\nhost: localhost\r\n"
LONG = 100_000  # bytes, more than a request may have besides its body


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("serving") / "model.safetensors")


@pytest.fixture(scope="module")
def server(model):
    """Return a server that waits for clients longer than any test, and has no error to log."""
    limits = ("--timeout", 600, "--max-connections", 400, "--max-body", 5000, "--max-requests", 8)
    with running(model, *limits) as found:
        yield found
        found.process.terminate()
        _, errors = found.process.communicate(timeout=60)
        assert errors == ""


@pytest.fixture(scope="module")
def hasty(model):
    """Return a server that waits a second for clients."""
    with running(model, "--timeout", 1, "--max-connections", 20) as found:
        yield found


@pytest.fixture(autouse=True)
def _still_answers(request):
    yield
    for name in {"server", "hasty"} & {*request.fixturenames}:
        assert request.getfixturevalue(name).best("large files") == "f"


def last_answer(connection, content):
    """Send bytes, and return what comes until the server closes, which it may do abruptly."""
    received = b""
    with contextlib.suppress(ConnectionError):
        connection.sendall(content)
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(1 << 16):
            received += piece
    return received


def send_often(connection, content):
    """Send bytes until the other side ends the connection, or reads no more."""
    for _ in range(100_000_000 // len(content)):
        connection.sendall(content)


def test_head_and_body_of_answer_are_written_together(server):
    with server.connect() as client:
        for _ in range(3):
            client.sendall(GOOD)
            head, _, body = client.recv(1 << 16).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert json.loads(body)["labels"][0]["label"] == "f"


def test_answer_without_body_is_written(server):
    with server.connect() as client:
        ask = b"HEAD /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
        client.sendall(ask)
        assert re.fullmatch(rb"HTTP/1\.1 200 OK\r\n.*\r\n\r\n", client.recv(1 << 16), re.DOTALL)
        client.sendall(ask + GOOD)  # two requests at once are answered in turn
        received = b""
        while b"labels" not in received:
            received += client.recv(1 << 16)
        assert received.count(b"HTTP/1.1 200") == 2


def test_body_is_asked_for_with_100_continue(server):
    with server.connect() as client:
        client.sendall(HEAD + b"\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n")
        assert client.recv(1 << 16) == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert exchange(client, BODY).startswith(b"HTTP/1.1 200")


def test_chunks_and_trailers_are_read(server):
    with server.connect() as client:
        for _ in range(2):
            size = b"%x" % len(BODY)
            client.sendall(CHUNKED + size + b";a=b\r\n" + BODY + b"\r\n0\r\nx: y\r\n\r\n")
            assert b"labels" in client.recv(1 << 16)


@pytest.mark.parametrize("complete", [GOOD, b""], ids=["one request", "none"])
@pytest.mark.parametrize(
    "more", [b"", GOOD[:20], GOOD[:-5]], ids=["", "half a head", "half a body"]
)
def test_half_closed_client_is_answered_if_its_request_is_complete(server, complete, more):
    with server.connect() as client:
        client.sendall(complete + more)
        client.shutdown(socket.SHUT_WR)
        assert exchange(client)[:12] == (b"HTTP/1.1 200" if complete else b"")


ENDLESS = {
    "head": b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * LONG,
    "target": b"GET /" + b"a" * LONG,
    "empty lines": b"\r\n" * LONG,
    "short headers": TOKENLESS + b"x:y\r\n" * 1000,
    "many headers": TOKENLESS + b"x: y\r\n" * (LONG // 5),
    "complete head": TOKENLESS + b"x: " + b"a" * LONG + b"\r\n\r\n",
    "trailer": CHUNKED + b"0\r\nx: " + b"a" * LONG,
    "many trailers": CHUNKED + b"0\r\n" + b"x: y\r\n" * (LONG // 5),
    "chunk extension": CHUNKED + b"1;" + b"a" * LONG,
    # More between the chunks than in them, so that the limit of bodies is not reached first.
    "tiny chunks": CHUNKED + (b"1;" + b"a" * 20 + b"\r\na\r\n") * (LONG // 25),
}


@pytest.mark.parametrize("content", ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize("piece", [5_000, 1_000_000])
def test_what_is_not_body_is_bounded(server, content, piece):
    with server.connect() as client:
        with contextlib.suppress(ConnectionError):
            for start in range(0, len(content), piece):
                client.sendall(content[start : start + piece])
        answer = last_answer(client, b"")
        assert answer.startswith(b"HTTP/1.1 431")
        assert answer.count(b"HTTP/1.1 ") == 1
        assert b"connection: close" in answer


@pytest.mark.parametrize("route", [b"GET /healthz", b"POST /nothing"])
def test_trailers_after_early_answer_end_connection(server, route):
    head = route + b" HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"
    with server.connect() as client:
        client.sendall(head)
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 ")
        with pytest.raises(ConnectionError, match=r"reset|pipe"):
            send_often(client, b"x: y\r\n" * 10_000)


def test_refused_client_that_sends_on_is_closed(server):
    with server.connect() as client, pytest.raises(ConnectionError, match=r"reset|pipe"):
        send_often(client, TOKENLESS + b"x: " + b"a" * LONG)


def test_requests_sent_together_have_limits_of_their_own(server):
    request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * 30_000 + b"\r\n\r\n"
    last = request.replace(b"x: ", b"connection: close\r\nx: ")
    with server.connect() as client:
        assert exchange(client, request * 7 + last).count(b"HTTP/1.1 200") == 8


def test_body_announced_too_long_is_refused_at_once(server):
    with server.connect() as client:
        client.sendall(GOOD.replace(b"content-length: ", b"content-length: 99999"))
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(
    "content",
    [b"\0\1\2\3\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02"],
    ids=["bytes", "no path", "version", "tls"],
)
def test_other_protocol_is_refused(server, content):
    with server.connect() as client:
        answer = exchange(client, content)
        assert answer == b"" or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5"))


@pytest.mark.parametrize("first", [GOOD, b"HEAD / HTTP/1.1\r\nhost: localhost\r\n\r\n"])
def test_what_follows_request_may_end_connection(server, first):
    with server.connect() as client:
        assert exchange(client, first + b"\0\r\n\r\n").startswith(
            (b"HTTP/1.1 200", b"HTTP/1.1 400")
        )


def test_requests_sent_together_are_answered_in_order(server):
    other = request_bytes({"text": "quick sorting", "k": 1}, headers=b"connection: close\r\n")
    with server.connect() as client:
        answer = exchange(client, GOOD * 100 + other)
    bodies = [
        json.loads(piece.split(b"\r\n\r\n")[1]) for piece in answer.split(b"HTTP/1.1 200")[1:]
    ]
    assert [body["labels"][0]["label"] for body in bodies] == ["f"] * 100 + ["s"]


def test_unfinished_bodies_take_no_places(server):
    """There are 8 places for requests."""
    with contextlib.ExitStack() as clients:
        for _ in range(100):
            clients.enter_context(server.connect()).sendall(GOOD[:-20])
        assert server.best("large files") == "f"
        assert json.loads(server.get("/healthz")) == {"status": "ok"}
        assert "defrag_connections" in server.get("/metrics")


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HTTP/1.1\r\nx: ", GOOD[:-5]],
    ids=["nothing", "half a head", "half a body"],
)
def test_longest_waiting_connection_makes_room(hasty, sent):
    clients = []
    try:
        for _ in range(60):
            clients.append(hasty.connect())
            clients[-1].sendall(sent)
        assert hasty.best("large files") == "f"
        with contextlib.suppress(ConnectionResetError):
            assert clients[0].recv(1) == b""
    finally:
        for client in clients:
            client.close()


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.2, 0.9], ids=["head", "body"])
def test_late_request_is_refused(hasty, share):
    with hasty.connect() as client:
        start = time.monotonic()
        answer = exchange(client, GOOD[: int(share * len(GOOD))])
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"connection: close" in answer
        assert time.monotonic() - start > 0.9


@pytest.mark.slow
def test_refused_client_that_stays_is_closed(hasty):
    with hasty.connect() as client:
        assert last_answer(client, ENDLESS["head"]).startswith(b"HTTP/1.1 431")
        with pytest.raises(ConnectionError, match=r"reset|pipe"):
            wait_until(lambda: client.send(b"a") == 0)


@pytest.mark.slow
def test_silent_client_is_closed(hasty):
    with hasty.connect() as client:
        assert exchange(client) == b""


@pytest.mark.slow
def test_client_that_does_not_read_is_closed(hasty):
    with hasty.connect() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(1)
        batch = request_bytes({"texts": ["large files quick sorting"] * 32, "k": 5})
        # The server does not keep requests without bound while answers wait to be read.
        with pytest.raises((ConnectionError, TimeoutError), match=r"reset|pipe|timed out"):
            send_often(client, batch)
        time.sleep(4)  # longer than the server waits
        client.settimeout(30)
        received = 0
        with contextlib.suppress(ConnectionError):  # or a clean end
            while piece := client.recv(1 << 20):
                received += len(piece)
        assert received < 50_000_000


@pytest.mark.slow
def test_memory_of_unfinished_bodies_is_bounded(model):
    body = b"a" * 1_000_000
    with running(model, "--timeout", 600) as server:
        worker = server.workers()[0]
        before = resident(worker)
        with contextlib.ExitStack() as clients:
            for _ in range(200):
                client = clients.enter_context(server.connect())
                with contextlib.suppress(ConnectionError):
                    client.sendall(HEAD.replace(b"content-length: ", b"content-length: 10"))
                    client.sendall(b"\r\n\r\n" + body)
            assert server.best("large files") == "f"
            assert resident(worker) - before < 150_000_000


@pytest.mark.slow
def test_memory_of_unread_answers_is_bounded(tmp_path):
    long = [letter * 500_000 for letter in "ffss"]
    model = save_model(tmp_path / "model.safetensors", long)
    texts = {"texts": ["large files quick sorting"] * 32, "k": 2}  # answers of 32 MB
    ask = request_bytes(texts, headers=b"connection: close\r\n")
    with running(model, "--timeout", 600) as server:
        before = resident(server.workers()[0])
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(server.connect()) for _ in range(20)]
            for number, client in enumerate(clients, 1):
                client.sendall(ask)
                wait_until(lambda number=number: answered(server) >= number)
            assert server.best("large files") == long[0]
            assert resident(server.workers()[0]) - before < 450_000_000
            sizes = [len(last_answer(client, b"")) for client in (clients[0], clients[-1])]
            assert sizes[0] < 30_000_000 < sizes[1]  # who has been reading longest is cut off


@pytest.mark.slow
def test_ten_thousand_idle_connections_cost_little(model):
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    number = min(10_000, soft - 500)
    # On a busy machine the last client connects more than a minute after the first.
    with running(model, "--max-connections", 10_000, "--timeout", 600) as server:
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


@pytest.mark.slow
def test_connections_are_fewer_than_open_files(model):
    limits = ("--max-connections", 1000, "--timeout", 600)
    with running(model, *limits, n_files=256) as server, contextlib.ExitStack() as clients:
        for _ in range(400):
            clients.enter_context(server.connect())
        assert server.best("large files") == "f"
        assert connections(server) < 256


def connections(server):
    found = re.findall(r'connections{worker="1"} (\d+)', server.get("/metrics"))
    return int(found[0])


def answered(server):
    found = re.search(
        r'requests_total{route="/v1/suggest",status="200"} (\d+)', server.get("/metrics")
    )
    return int(found[1]) if found else 0


def resident(process):
    """Return the memory of a process in bytes."""
    pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()
