"""The server process: one event loop, ended by a signal after the last answer."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING, Any

import uvicorn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.applications import Starlette

    from defrag.serving.limits import Limits

__all__ = ["serve"]

_KEEP_ALIVE = 5
_SECONDS_TO_DRAIN = 10


class _Server(uvicorn.Server):
    """A server that says when it listens, and for which a signal is the ordinary end."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[int], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        if self.started:
            self._announce(self.servers[0].sockets[0].getsockname()[1])

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM end the server; a second one does not wait for answers."""
        ends = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in ends}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve(
    app: Starlette, *, host: str, port: int, limits: Limits, announce: Callable[[int], None]
) -> None:
    """Serve an application until SIGINT or SIGTERM; open requests are answered first.

    Parameters
    ----------
    app : Starlette
        The application.
    host, port : str, int
        Where to listen; port 0 is any free one.
    limits : Limits
        Bounds on connections.
    announce : callable
        Called with the port when the server listens.
    """
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        limit_concurrency=limits.max_connections,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_SECONDS_TO_DRAIN,
    )
    _Server(config, announce).run()
