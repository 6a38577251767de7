"""Load on an HTTP server: connections that ask again as soon as they are answered."""

from __future__ import annotations

import itertools
import json
import selectors
import socket
import time
from dataclasses import dataclass, field
from typing import Any

K = 10


@dataclass
class Outcome:
    """What a run found."""

    seconds: list[float] = field(default_factory=list)  # to each answer
    errors: list[str] = field(default_factory=list)  # answers that are not 200
    wrong: int = 0  # answers that are none of those expected
    cut: int = 0  # connections that ended without an answer; the request was sent again

    def note(self, client: _Client, head: bytes, body: bytes, right: list[Any] | None) -> None:
        """Add an answer; ``right`` are those that it may be, decoded."""
        self.seconds.append(time.perf_counter() - client.sent)
        if not head.startswith(b"HTTP/1.1 200"):
            self.errors.append(f"{head[:40]!r} {body[:200]!r}")
        elif right is not None and json.loads(body) not in right:
            self.wrong += 1

    def percentile(self, share: float) -> float:
        """Return a percentile of the times, in milliseconds."""
        ordered = sorted(self.seconds)
        return 1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class _Client:
    def __init__(self, port: int) -> None:
        self.port = port
        self.connect()

    def connect(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, number: int, request: bytes) -> None:
        self.number, self.received, self.sent = number, b"", time.perf_counter()
        self.socket.sendall(request)

    def answer(self) -> tuple[bytes, bytes] | None:
        """Return head and body when they are there; None before that."""
        self.received += (piece := self.socket.recv(1 << 18))
        if not piece:
            raise ConnectionResetError
        head, found, body = self.received.partition(b"\r\n\r\n")
        if not found:
            return None
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return (head, body) if len(body) >= length else None


def requests_for(texts: list[str], path: str = "/v1/suggest") -> list[bytes]:
    """Return the bytes of one request per text."""
    bodies = [json.dumps({"text": text, "k": K}).encode() for text in texts]
    head = b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return [
        head % path.encode() + b"content-length: %d\r\n\r\n" % len(body) + body for body in bodies
    ]


def load(
    port: int,
    requests: list[bytes],
    *,
    connections: int,
    seconds: float,
    expected: list[list[Any]] | None = None,
) -> Outcome:
    """Send requests in turn over some connections, each of which has one request at a time.

    ``expected`` has the answers that are right for each request, decoded.
    """
    outcome = Outcome()
    selector = selectors.DefaultSelector()
    clients = [_Client(port) for _ in range(connections)]
    turn = itertools.cycle(range(len(requests)))

    def ask(client: _Client, number: int, *, anew: bool = False) -> None:
        if anew:
            client.socket.close()
            client.connect()
        client.send(number, requests[number])
        selector.register(client.socket, selectors.EVENT_READ, client)

    for client in clients:
        ask(client, next(turn))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for key, _ in selector.select(0.1):
            client = key.data
            try:
                found = client.answer()
            except ConnectionError:
                outcome.cut += 1
                selector.unregister(client.socket)
                ask(client, client.number, anew=True)
                continue
            if found is None:
                continue
            outcome.note(client, *found, None if expected is None else expected[client.number])
            selector.unregister(client.socket)
            ask(client, next(turn), anew=b"connection: close" in found[0].lower())
    for client in clients:
        client.socket.close()
    return outcome
