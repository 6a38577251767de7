"""A run before it happens: data, estimator, seed and what to measure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from defrag.experiments.machine import code

if TYPE_CHECKING:
    from defrag.experiments.corpus import Facts
    from defrag.experiments.specs import Spec

__all__ = ["FORMAT", "MEASURES", "Job"]

FORMAT = 1
"""Version of records; a record of another version is not read."""

MEASURES = ("ranking", "rare", "labels", "erasure", "groups", "quality")
"""What a run can measure: metrics of the ranking, precision by frequency of labels, how often each
of the most frequent labels is found, metrics on points with erased features, sizes and cost of
the groups of features, and the information that they lose."""


@dataclass(frozen=True)
class Job:
    """One run: a function of data, estimator and seed.

    Parameters
    ----------
    method : str
        What tables call it; not part of the key.
    data : Facts
        The corpus.
    estimator : Spec
        The estimator as plain data.
    seed : int, default=0
        Seed of the estimator.
    n_jobs : int, default=1
        Number of threads. It changes the times and nothing else.
    measures : tuple of words, default=("ranking",)
        What is measured: words of ``MEASURES``.
    """

    method: str
    data: Facts
    estimator: Spec
    seed: int = 0
    n_jobs: int = 1
    measures: tuple[str, ...] = ("ranking",)

    @property
    def key(self) -> str:
        """A hash of everything that can change the result, the code of defrag included."""
        content = {
            "format": FORMAT,
            "code": code(),
            "data": self.data.fingerprint,
            "estimator": self.estimator,
            "seed": self.seed,
            "n_jobs": self.n_jobs,
            "measures": sorted(self.measures),
        }
        text = json.dumps(content, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def to_json(self) -> dict[str, Any]:
        """Return the part of the record that is known before the run."""
        return {
            "format": FORMAT,
            "key": self.key,
            "method": self.method,
            "data": self.data.to_json(),
            "estimator": self.estimator,
            "seed": self.seed,
            "n_jobs": self.n_jobs,
            "measures": list(self.measures),
        }
