"""What a request may ask for."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Bounds on requests.

    Attributes
    ----------
    max_body : int
        Bytes of a body.
    max_k : int
        Labels of an answer; a larger k counts as this.
    max_explained : int
        Labels that are explained; a larger k counts as this.
    max_batch : int
        Texts or rows of a request.
    max_connections : int
        Connections at a time; others are answered 503.
    """

    max_body: int = 1 << 20
    max_k: int = 1000
    max_explained: int = 20
    max_batch: int = 32
    max_connections: int = 1000
