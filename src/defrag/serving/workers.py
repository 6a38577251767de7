"""A worker process: one event loop that stops on a signal, after the last answer."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn

from defrag.serving.app import Service
from defrag.serving.connections import connection_class
from defrag.serving.models import ServedModel
from defrag.serving.requests import json_bytes

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import Message

RETIRE = signal.SIGUSR1
"""Signal to exit after the clients have moved to other processes."""

_KEEP_ALIVE = 5
_SECONDS_TO_DRAIN = 10
_TICKS = 10  # of 0.1 s
_SWITCH_INTERVAL = 1e-3
_ROUNDS = 4
_AT_A_TIME = 8


def worker_config(app: Starlette, service: Service) -> uvicorn.Config:
    """Return the configuration of workers, with all their modules imported."""
    config = uvicorn.Config(
        app,
        http=connection_class(service.limits, service.metrics),
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


class Worker(uvicorn.Server):
    """A server that runs until a signal arrives or the parent process ends.

    SIGTERM stops the server after open requests are answered; a second SIGTERM does not wait.
    RETIRE also waits for idle connections: each gets one more answer, with ``Connection: close``,
    so that no connection is closed while its client is about to use it.
    """

    def __init__(
        self, config: uvicorn.Config, service: Service, announce: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._service = service
        self._announce = announce
        self._parent = os.getppid()
        self._retired = False
        service.log.take_all()
        # The thread that explains lets the loop go on after this time.
        sys.setswitchinterval(_SWITCH_INTERVAL)

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
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
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
        now = asyncio.get_running_loop().time()
        connections: list[Any] = list(self.server_state.connections)
        for one in connections:
            one.expire(now)
        self._service.metrics.connected(len(connections))


def rehearse(config: uvicorn.Config, service: Service) -> None:
    """Send requests to every model, so that workers share what the first requests build.

    Python specialises functions while they run, starlette builds its middleware on the first
    request, and libraries are linked on first use.
    Nothing is counted or logged yet, and requests that small limits reject do not matter.
    """

    async def ask_all() -> None:
        for model in service.models.values():
            for _ in range(_ROUNDS):
                asked = (_ask(config.loaded_app, service, model) for _ in range(_AT_A_TIME))
                await asyncio.gather(*asked)

    loop = (config.get_loop_factory() or asyncio.new_event_loop)()
    try:
        loop.run_until_complete(ask_all())
    finally:
        loop.close()


async def _ask(app: Any, service: Service, model: ServedModel) -> None:
    kind = "text" if model.takes_texts else "row"
    body = json_bytes({"model": model.name, kind: model.sample()})
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": "/v1/suggest",
        "root_path": "",
        "query_string": b"",
        "headers": [
            (b"host", b"localhost"),
            (b"content-type", b"application/json"),
            (b"authorization", b"Bearer " + (service.token or "").encode()),
        ],
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        """Send nothing."""

    await app(scope, receive, send)
