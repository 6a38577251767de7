"""Settings of a server."""

from __future__ import annotations

from dataclasses import dataclass, field

from defrag.serving.limits import Limits
from defrag.serving.vocabulary import Vocabulary, read_vocabulary

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """Settings of a server.

    Attributes
    ----------
    models : dict
        Model files by the names that requests use; the first is the default.
    host, port : str, int
        Address to listen on; port 0 chooses a free one.
    workers : int
        Number of worker processes.
    limits : Limits
        Bounds on requests and connections.
    token : str or None
        Token that clients must send.
    vocabulary, language : str or None
        File with the names of labels that are URIs, to which Annif's routes restrict
        suggestions, and the language of the names.
    json_log : bool
        Whether to log events and requests as JSON lines.
    watch : float
        Seconds between checks of the model files; 0: reload on SIGHUP only.
    """

    models: dict[str, str]
    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 1
    limits: Limits = field(default_factory=Limits)
    token: str | None = None
    json_log: bool = False
    watch: float = 1.0
    vocabulary: str | None = None
    language: str | None = None

    def read_vocabulary(self) -> Vocabulary | None:
        """Read the vocabulary, if there is one."""
        if self.vocabulary is None:
            return None
        return read_vocabulary(self.vocabulary, self.language)
