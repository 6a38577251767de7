"""Connections with deadlines, against slow, idle and half-closed clients."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    from defrag.serving.limits import Limits

__all__ = ["Connection", "connection_class", "expire"]

_MAX_HEAD = 1 << 16
_GRACE = 2.0
"""Seconds of grace before an overdue connection is aborted."""

_numbers = itertools.count()


class Connection(HttpToolsProtocol):
    """A connection that is closed at its deadline.

    uvicorn itself closes connections that are idle after an answer. This class also closes those
    that never send a request, send one too slowly, do not read the answer, or send an endless
    head, and it answers clients that have closed their side after the request.
    """

    limits: Limits

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn
        """Start the deadline of the first request."""
        super().connection_made(transport)
        self.since = self.loop.time()
        self.number = next(_numbers)
        self.busy = False
        self._in_head = False
        self._head_bytes = 0
        if len(self.connections) > self.limits.max_connections:
            _close_longest_idle(self.connections)

    def data_received(self, data: bytes) -> None:
        """Read bytes of a request."""
        super().data_received(data)
        if not self._in_head:
            self._head_bytes = 0
            return
        self._head_bytes += len(data)
        if self._head_bytes > _MAX_HEAD:
            self._refuse(b"431 Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        """Start the deadline for the rest of a request."""
        super().on_message_begin()
        self.since = self.loop.time()
        self.busy = self._in_head = True

    def on_headers_complete(self) -> None:
        """Hand the request to the application."""
        self._in_head = False
        super().on_headers_complete()
        # Answers without a body, and "100 Continue", are written directly.
        if not self.expect_100_continue and self.scope["method"] != "HEAD":
            self.cycle.transport = _WholeAnswer(self.transport)  # type: ignore[assignment] # all it uses

    def on_response_complete(self) -> None:
        """Start the deadline of the next request."""
        super().on_response_complete()
        self.since = self.loop.time()
        self.busy = False

    def eof_received(self) -> bool:  # type: ignore[override] # as asyncio allows
        """Keep the connection of a half-closed client open until its request is answered."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body:
            return False
        cycle.keep_alive = False
        return True

    def expire(self, now: float) -> None:
        """Close the connection if its deadline has passed."""
        late = now - self.since - self.limits.timeout
        if late <= 0:
            return
        if self.transport.is_closing() or self.transport.get_write_buffer_size():
            if late > _GRACE:  # the client does not read the answer
                self.transport.abort()
        elif self.waiting and self.busy:
            self._refuse(b"408 Request Timeout")
        elif self.waiting:
            self.transport.close()
        elif late > _GRACE:
            self.transport.abort()

    @property
    def waiting(self) -> bool:
        """Whether no complete request head has arrived since the last answer."""
        return not self.busy or self._in_head

    def _refuse(self, status: bytes) -> None:
        self.transport.write(
            b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        )
        self.transport.close()


class _WholeAnswer:
    """A transport for one answer that sends the head with the first piece of the body.

    uvicorn writes them separately; each write is a system call and wakes the client.

    Parameters
    ----------
    transport : asyncio.Transport
        The transport of the connection.
    """

    __slots__ = ("_head", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = None  # b"" once it is written

    def write(self, piece: bytes) -> None:
        """Buffer the head, or write a piece of the body."""
        if self._head is None:
            self._head = piece
            return
        if self._head:
            piece, self._head = self._head + piece, b""
        self._transport.write(piece)

    def close(self) -> None:
        """Write the buffered head, and close."""
        if self._head:
            self.write(b"")
        self._transport.close()

    def is_closing(self) -> bool:
        """Return whether the transport is closing."""
        return self._transport.is_closing()


def connection_class(limits: Limits) -> type[Connection]:
    """Return a class of connections with the given limits."""
    return type("Connection", (Connection,), {"limits": limits})


def expire(connections: Iterable[Any], now: float) -> None:
    """Close all connections whose deadline has passed."""
    for connection in list(connections):
        connection.expire(now)


def _close_longest_idle(connections: Iterable[Any]) -> None:
    idle = [one for one in connections if one.waiting and not one.transport.is_closing()]
    if idle:
        # The clock of a loop stands still while it accepts several clients.
        min(idle, key=lambda one: (one.since, one.number)).transport.close()
