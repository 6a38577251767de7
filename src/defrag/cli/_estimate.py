"""What training will cost, estimated from the size of the data before it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from defrag import _native

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier
    from defrag.typing import Csr

__all__ = ["Estimate", "estimate"]

# The points as they were read, their unit rows, and a node's share of them.
_BYTES_PER_NON_ZERO = 24
# Python and its libraries.
_BYTES_OF_PROGRAM = 150e6


@dataclass(frozen=True)
class Estimate:
    """Seconds and bytes, within a factor of two on the data that the costs were fitted to."""

    seconds: float
    bytes: float

    def shown(self) -> str:
        """Return a phrase such as "about 3 s, 120 MB"."""
        if self.seconds < 90:
            span = f"{max(1, round(self.seconds))} s"
        elif self.seconds < 5400:
            span = f"{self.seconds / 60:.0f} min"
        else:
            span = f"{self.seconds / 3600:.1f} h"
        megabytes = max(1.0, self.bytes / 1e6)
        size = f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1000:.1f} GB"
        return f"about {span}, {size}"


def estimate(classifier: Classifier, X: Csr, Y: Csr) -> Estimate:
    """Estimate what fitting a classifier to points X and labels Y takes, from its own cost."""
    cost = classifier.training_cost(X, Y)
    memory = cost.bytes + _BYTES_OF_PROGRAM + X.nnz * _BYTES_PER_NON_ZERO
    return Estimate(cost.seconds / _native.n_threads(classifier.n_jobs), memory)
