"""A worker process: one event loop that stops on a signal, after the last answer."""

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
    """Return the configuration of workers, with all their modules imported.

    Parameters
    ----------
    app : Starlette
        The application.
    service : Service
        State shared by the routes.
    """
    config = uvicorn.Config(
        app,
        http=connection_class(service.limits),
        ws="none",
        log_config=None,
        log_level="error",  # errors of clients have lower levels
        access_log=False,
        lifespan="off",
        proxy_headers=False,  # no route uses the client's address
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_SECONDS_TO_DRAIN,
    )
    config.load()
    config.get_loop_factory()
    return config


class Server(uvicorn.Server):
    """A server that runs until a signal arrives or the parent process ends.

    SIGTERM stops the server after open requests are answered; a second SIGTERM does not wait.
    RETIRE also waits for idle connections: each gets one more answer, with ``Connection: close``,
    so that no connection is closed while its client is about to use it.

    Parameters
    ----------
    config : uvicorn.Config
        From :func:`server_config`.
    service : Service
        State shared by the routes.
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
        """Expire connections, and check that the parent is alive."""
        if counter % _TICKS == 0:
            self._expire_connections()
            if os.getppid() != self._parent:
                self._retired = self.should_exit = True
        return bool(await super().on_tick(counter))

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        """Stop listening, and wait for the connections."""
        self._service.draining = True
        for server in self.servers:
            server.close()
        last = self._service.limits.timeout + _KEEP_ALIVE
        for _ in range(int(last) * _TICKS if self._retired else 0):
            if not self.server_state.connections or self.force_exit:
                break
            await asyncio.sleep(1 / _TICKS)
            self._expire_connections()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle the signals that stop the server; unlike uvicorn, do not raise them again."""
        signal.signal(signal.SIGTERM, self.handle_exit)
        signal.signal(RETIRE, self.handle_exit)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a handler's signature
        """Start the shutdown; a second SIGTERM does not wait."""
        if sig == RETIRE:
            self._retired = True
        elif self.should_exit and not self._retired:
            self.force_exit = True
        else:
            self._retired = False
        self.should_exit = True

    def _expire_connections(self) -> None:
        connections = self.server_state.connections
        expire(connections, asyncio.get_running_loop().time())
        self._service.metrics.connected(len(connections))
