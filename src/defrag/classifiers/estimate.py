"""Estimated time and memory of training, which ``defrag train`` announces before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from defrag import _native
from defrag.typing import Csr

if TYPE_CHECKING:
    from defrag.classifiers._base import Classifier

# Three copies of each entry: the points, their unit rows and the rows of a tree node.
_BYTES_PER_NON_ZERO = 24
# Python and its libraries.
_BASE_BYTES = 150e6


@dataclass(frozen=True)
class Estimate:
    """Seconds and bytes, within a factor of two on the data sets used for calibration."""

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
    """Return the estimated time and memory of training a classifier.

    - ``classifier``: not fitted; its ``n_jobs`` count.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from defrag import LabelTree
    >>> from defrag.classifiers.estimate import estimate
    >>> data = sparse.csr_array(np.eye(4, dtype=np.float32))
    >>> estimate(LabelTree(), data, data).shown()
    'about 1 s, 150 MB'
    """
    cost = classifier._training_cost(X, Y)
    memory = cost.bytes + _BASE_BYTES + X.nnz * _BYTES_PER_NON_ZERO
    return Estimate(cost.seconds / _native.n_threads(classifier.n_jobs), memory)
