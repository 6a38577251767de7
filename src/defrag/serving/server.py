"""A server process: one event loop, ended by a signal after the last answer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from typing import TYPE_CHECKING, Any

import uvicorn

from defrag.serving.connections import connection_class, expire
from defrag.serving.processes import RETIRE, SIGNALS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from starlette.applications import Starlette

    from defrag.serving.service import Service

__all__ = ["Server", "server_config"]

_KEEP_ALIVE = 5
_SECONDS_TO_DRAIN = 10
_TICKS = 10  # of 0.1 s


def server_config(app: Starlette, service: Service) -> uvicorn.Config:
    """Return what servers of an application need, with all that it imports imported.

    Parameters
    ----------
    app : Starlette
        The application.
    service : Service
        What its routes share.
    """
    config = uvicorn.Config(
        app,
        http=connection_class(service.limits),
        ws="none",
        log_config=None,
        log_level="error",  # below that stand the mistakes of clients
        access_log=False,
        lifespan="off",
        proxy_headers=False,  # no route asks for the address of the client
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_SECONDS_TO_DRAIN,
    )
    config.load()
    config.get_loop_factory()
    return config


class Server(uvicorn.Server):
    """Answer requests to an application on a socket until a signal, or until the parent ends.

    SIGTERM ends the server after open requests are answered; a second one does not wait. RETIRE
    waits for connections that are kept alive, too: each gets one more answer, with
    ``Connection: close``, so that no client finds a connection closed that it was about to use.

    Parameters
    ----------
    config : uvicorn.Config
        Of :func:`server_config`.
    service : Service
        What the routes of the application share.
    announce : callable
        Called when the server listens.
    """

    def __init__(
        self, config: uvicorn.Config, service: Service, announce: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._service = service
        self._announce = announce
        self._parent = os.getppid()
        self._retired = False
        for name in ("uvicorn.error", "asyncio"):
            logger = logging.getLogger(name)
            logger.handlers[:] = [service.log.handler()]
            logger.propagate = False

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        self._announce()

    async def on_tick(self, counter: int) -> bool:
        """Look after the connections, and the parent."""
        if counter % _TICKS == 0:
            self._look_after_connections()
            if os.getppid() != self._parent:
                self._retired = self.should_exit = True
        return bool(await super().on_tick(counter))

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        """Listen no more, and wait for the connections."""
        self._service.draining = True
        for server in self.servers:
            server.close()
        last = self._service.limits.timeout + _KEEP_ALIVE
        for _ in range(int(last) * _TICKS if self._retired else 0):
            if not self.server_state.connections or self.force_exit:
                break
            await asyncio.sleep(1 / _TICKS)
            self._look_after_connections()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let signals end the server, which is the ordinary end."""
        signal.signal(signal.SIGTERM, self.handle_exit)
        signal.signal(RETIRE, self.handle_exit)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - of a handler
        """Begin to end; the second SIGTERM does not wait."""
        if sig == RETIRE:
            self._retired = True
        elif self.should_exit and not self._retired:
            self.force_exit = True
        else:
            self._retired = False
        self.should_exit = True

    def _look_after_connections(self) -> None:
        connections = self.server_state.connections
        expire(connections, asyncio.get_running_loop().time())
        self._service.metrics.connected(len(connections))
