"""What a server is told: files, address, access, and the limits on requests and connections."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field


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
        Maximum number of characters (or features) of an input that is explained. Labels times
        characters are at most twice this, which bounds the time and the size of an answer: for
        a long text, k is reduced.
    max_batch : int
        Maximum number of texts or rows per request.
    max_requests : int
        Maximum number of concurrent requests to models per worker; others get status 503. A
        request counts from the end of its body.
    max_connections : int
        Maximum number of connections per worker; for a further one, the connection that has
        waited longest for a complete request is closed.
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


@dataclass(frozen=True)
class Settings:
    """Settings of a server."""

    # Model files by the names that requests use; the first is the default.
    models: dict[str, str]
    # Address to listen on; port 0 chooses a free one.
    host: str = "127.0.0.1"
    port: int = 8765
    # Number of worker processes.
    workers: int = 1
    # Bounds on requests and connections.
    limits: Limits = field(default_factory=Limits)
    # Token that clients must send.
    token: str | None = None
    # Names under which clients may address the server, besides its own.
    allow_hosts: tuple[str, ...] = ()
    # Whether to log events and requests as JSON lines.
    json_log: bool = False
    # Seconds between checks of the model files; 0: reload on SIGHUP only.
    watch: float = 1.0
    # File with the names of labels, to which Annif's routes restrict suggestions, instead of those
    # in the models; and the language of the names.
    thesaurus: str | None = None
    language: str | None = None
    # Labels that models of texts may suggest, and that they may not, as in ``predict_topk``.
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    # File to which corrections for the first model are appended; texts to label, and those with
    # labels to train on again when there are ``retrain_after`` more corrections; 0: never.
    corrections: str | None = None
    documents: str | None = None
    retrain_after: int = 0

    def names(self) -> frozenset[str] | None:
        """Return the names that a Host header may have; None: any.

        Any web page can have its own name resolved to a loopback address, and then read what the
        browser receives from there. Nothing else protects a server without a token. Servers on
        other addresses are known under names that they cannot know.
        """
        if not self.allow_hosts and (self.token is not None or not is_loopback(self.host)):
            return None
        return frozenset(map(str.lower, (self.host, *self.allow_hosts)))


def is_loopback(host: str) -> bool:
    """Return whether a name or an address is this machine by definition."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
