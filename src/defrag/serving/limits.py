"""Limits on requests and connections."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Bounds on requests and connections.

    Attributes
    ----------
    max_body : int
        Maximum size of a body in bytes.
    max_k : int
        Maximum number of labels per answer; a larger k is reduced to this.
    max_explained : int
        Maximum number of labels that are explained; a larger k is reduced to this.
    max_explained_text : int
        Maximum number of characters of a text that is explained.
    max_batch : int
        Maximum number of texts or rows per request.
    max_requests : int
        Maximum number of concurrent requests per worker; others get status 503.
    max_connections : int
        Maximum number of connections per worker; for a further one, the connection that has
        been idle longest is closed.
    timeout : float
        Seconds within which a client must send a request, and read the answer.
    """

    max_body: int = 1 << 20
    max_k: int = 1000
    max_explained: int = 20
    max_explained_text: int = 20_000
    max_batch: int = 32
    max_requests: int = 256
    max_connections: int = 1000
    timeout: float = 10.0
