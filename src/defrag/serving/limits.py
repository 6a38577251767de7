"""What clients may ask for."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Bounds on requests and connections.

    Attributes
    ----------
    max_body : int
        Bytes of a body.
    max_k : int
        Labels of an answer; a larger k counts as this.
    max_explained : int
        Labels that are explained; a larger k counts as this.
    max_explained_text : int
        Characters of a text that is explained.
    max_batch : int
        Texts or rows of a request.
    max_requests : int
        Requests that a worker answers at a time; others are answered 503.
    max_connections : int
        Connections of a worker; for a further one, the one that has been idle for longest is
        closed.
    timeout : float
        Seconds in which a client must send a request, and read the answer.
    """

    max_body: int = 1 << 20
    max_k: int = 1000
    max_explained: int = 20
    max_explained_text: int = 20_000
    max_batch: int = 32
    max_requests: int = 256
    max_connections: int = 1000
    timeout: float = 10.0
