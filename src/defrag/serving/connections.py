"""Connections with bounds, against clients that are slow, idle, greedy or half-closed.

uvicorn closes connections that are idle after an answer, and stops reading what the application
does not take. It has no deadline for the first request or for the rest of one, keeps heads and
trailers of any length, and bodies of as many connections as there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, ClassVar

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from defrag.serving.metrics import OTHER, Metrics
from defrag.serving.settings import Limits

if TYPE_CHECKING:
    import asyncio

_MAX_OTHER = 1 << 16
"""Bytes of a request that are not body: head, trailers, and what stands between chunks."""

_MAX_UNFINISHED = 1 << 26
"""Bytes of unfinished bodies of all connections of a worker."""

_MAX_UNREAD = 1 << 28
"""Bytes of answers that the clients of a worker do not read."""

_HEADER = 128
"""Bytes of memory of a header, besides those of its text."""

_MAX_PIPELINED = 8
"""Requests of a connection that wait for an answer to another one, when no more are read."""

_GRACE = 2.0
"""Seconds of grace before a connection whose client does not read is aborted."""

_MAX_DISCARDED = 1 << 20
"""Bytes read and forgotten after a refusal: what is unread at a close would take it along."""

_numbers = itertools.count()


class Connection(HttpToolsProtocol):
    """A connection that is closed at its deadline, or when its client sends too much.

    The deadline is that of a complete request, and then that of reading the answer. A client that
    has closed its side after its request is answered.
    """

    limits: ClassVar[Limits]
    metrics: ClassVar[Metrics]
    unfinished: ClassVar[int] = 0  # bytes of unfinished bodies of all connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn
        """Start the deadline of the first request."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        self._since = (self.loop.time(), next(_numbers))
        self._in_head = self._receiving = self._completed = False
        self._refused = self._half_closed = False
        self._kept = 0  # bytes of the head and the trailers of a request
        self._other = 0  # bytes since the last complete request that are not body
        self._body = 0  # bytes of an unfinished body
        self._discarded = 0  # bytes after a refusal
        if len(self.connections) > self.limits.max_connections:
            self._close_longest(lambda one: one.waiting)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget an unfinished body."""
        self._hold(-self._body)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read bytes of a request."""
        if self._refused:
            self._discarded += len(data)
            if self._discarded > _MAX_DISCARDED:
                self.transport.close()
            return
        self._completed = False
        self._other += len(data)
        super().data_received(data)
        if self._completed:  # what has begun after that is counted where it is kept
            self._other = 0
        elif self._other > _MAX_OTHER:
            self._refuse(431, b"Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        """Start the deadline of a complete request."""
        super().on_message_begin()
        self._begin_deadline()
        self._in_head = self._receiving = True
        self._kept = 0

    def on_url(self, url: bytes) -> None:
        """Take a part of the target of a request."""
        self._keep(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header or a trailer."""
        self._keep(len(name) + len(value) + _HEADER)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hand the request to the application."""
        self._in_head = False
        super().on_headers_complete()
        # Answers without a body, and "100 Continue", are written directly.
        whole = not self.expect_100_continue and self.scope["method"] != "HEAD"
        self.cycle.transport = _Answer(self.transport, whole=whole)  # type: ignore[assignment] # all it uses

    def on_body(self, body: bytes) -> None:
        """Take a part of the body, and keep the sum of all unfinished ones bounded."""
        self._other -= len(body)
        super().on_body(body)
        if self.cycle.response_complete:  # what comes after the answer is not kept
            return
        self._hold(len(body))
        if type(self).unfinished > max(_MAX_UNFINISHED, 4 * self.limits.max_body):
            self._close_longest(lambda one: one._body)  # noqa: SLF001 - of this class

    def on_message_complete(self) -> None:
        """End the deadline: from now on, the client waits for the server."""
        self._hold(-self._body)
        self._receiving, self._completed = False, True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Start the deadline of the next request."""
        if self._half_closed and not (self.pipeline and not self.pipeline[-1][0].more_body):
            self.transport.close()  # no other request is complete
        super().on_response_complete()
        self._begin_deadline()
        if self.transport.get_write_buffer_size():
            self._bound_unread()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        if not self._refused:
            super().send_400_response(msg)

    def eof_received(self) -> bool:  # type: ignore[override] # as asyncio allows
        """Keep the connection of a half-closed client open until its request is answered."""
        if self.waiting or self._refused:
            return False
        self._half_closed = True
        return True

    def expire(self, now: float) -> None:
        """Close the connection if its deadline has passed."""
        late = now - self._since[0] - self.limits.timeout
        if self._refused and now - self._since[0] > _GRACE:
            self.transport.abort()
        if late <= 0:
            return
        if self.transport.is_closing() or self.transport.get_write_buffer_size():
            if late > _GRACE:  # the client does not read the answer
                self.transport.abort()
        elif self.waiting and self._receiving:
            self._refuse(408, b"Request Timeout")
        elif self.waiting:
            self.transport.close()

    @property
    def waiting(self) -> bool:
        """Whether the server waits for the client, not the client for the server."""
        cycle = self.cycle  # of the last request whose head is complete
        if cycle is None or self.pipeline:  # those before it are not answered
            return cycle is None
        return bool(cycle.response_complete or cycle.more_body)

    def _begin_deadline(self) -> None:
        # The clock of a loop stands still while it accepts several clients.
        self._since = (self.loop.time(), next(_numbers))

    def _keep(self, n_bytes: int) -> None:
        self._kept += n_bytes
        if self._kept > _MAX_OTHER:
            self._refuse(431, b"Request Header Fields Too Large")
            raise httptools.HttpParserError  # leaves the parser

    def _hold(self, n_bytes: int) -> None:
        self._body += n_bytes
        type(self).unfinished += n_bytes

    def _bound_unread(self) -> None:
        """Abort the connection whose client has been reading its answer longest."""
        connections: list[Any] = list(self.connections)
        sizes = {one: one.transport.get_write_buffer_size() for one in connections}
        if sum(sizes.values()) > _MAX_UNREAD:
            unread = (one for one, size in sizes.items() if size)
            min(unread, key=lambda one: one._since).transport.abort()  # noqa: SLF001 - of this class

    def _refuse(self, status: int, reason: bytes) -> None:
        """Close; answer first, unless this would be taken for the answer to another request."""
        if self._refused:
            return
        self._refused = True
        cycle = self.cycle
        if cycle is None or (self._in_head and cycle.response_complete):
            self.metrics.answered(OTHER, status, 0.0)
        elif self._in_head or cycle.response_started or self.pipeline:
            self.transport.close()
            return
        else:  # the application counts it
            cycle.disconnected = True
            cycle.message_event.set()
        head = b"HTTP/1.1 %d %s\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        self.transport.write(head % (status, reason))
        self._begin_deadline()
        if self.transport.can_write_eof():  # the client can read the answer while it still sends
            self.transport.write_eof()
        else:
            self.transport.close()

    def _close_longest(self, kind: Callable[[Any], Any]) -> None:
        """Close the connection of some kind whose client the server has waited for longest."""
        connections: list[Any] = [one for one in self.connections if kind(one)]
        connections = [one for one in connections if not one.transport.is_closing()]
        if connections:
            min(connections, key=lambda one: one._since).transport.close()  # noqa: SLF001 - of this class


class _Flow(FlowControl):
    """Flow control that does not let uvicorn read on while many requests wait."""

    def __init__(self, transport: asyncio.Transport, pipeline: Collection[Any]) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        """Read on, unless many requests wait."""
        if len(self._pipeline) < _MAX_PIPELINED:
            super().resume_reading()


class _Answer:
    """A transport for one answer, which may send the head with the first piece of the body.

    uvicorn writes them separately; each write is a system call and wakes the client. It also
    writes to connections that were closed because of what came after the request.
    """

    __slots__ = ("_head", "_transport")

    def __init__(self, transport: asyncio.Transport, *, whole: bool) -> None:
        self._transport = transport
        self._head = None if whole else b""  # b"" once it is written

    def write(self, piece: bytes) -> None:
        """Buffer the head, or write a piece of the body."""
        if self._head is None:
            self._head = piece
            return
        if self._head:
            piece, self._head = self._head + piece, b""
        if not self._transport.is_closing():
            self._transport.write(piece)

    def close(self) -> None:
        """Write the buffered head, and close."""
        if self._head:
            self.write(b"")
        self._transport.close()

    def is_closing(self) -> bool:
        """Return whether the transport is closing."""
        return self._transport.is_closing()


def connection_class(limits: Limits, metrics: Metrics) -> type[Connection]:
    """Return a class of connections with the given limits, which counts what it refuses."""
    return type("Connection", (Connection,), {"limits": limits, "metrics": metrics})
