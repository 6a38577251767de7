"""What a server is started with."""

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
        Where to listen; port 0 is any free one.
    workers : int
        Processes that answer.
    limits : Limits
        Bounds on requests and connections.
    token : str or None
        What clients must send.
    vocabulary, language : str or None
        The file of the names of labels that are URIs, beyond which Annif's routes suggest none,
        and the language of the names.
    json_log : bool
        Log events and requests as JSON lines.
    watch : float
        Seconds between looks at the model files; 0: load them again on SIGHUP alone.
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
