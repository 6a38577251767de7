"""The strongest companions of every feature: what it says about them, as short lists.

Groups hold each feature once, while a frequent feature has rare companions everywhere. A list
of its own costs no clustering, and knows the best of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from defrag import _native
from defrag.agglomeration.co_occurrence import RIDGE

if TYPE_CHECKING:
    from defrag.typing import Csr, Floats

__all__ = ["Companions"]

# Rows of a feature that are looked at: more of them change no list for the better.
_MOST_ROWS = 128
# A feature in this share of the rows, or in so many, tells of others half of what its slopes say.
_COMMON_SHARE, _COMMON_ROWS = 0.02, 20


@dataclass(frozen=True)
class Companions:
    """What each feature says about itself and its strongest companions.

    Attributes
    ----------
    lists : csr_array of float32, shape (n_features, n_features)
        Row j has the slopes of the companions of feature j on j, and of itself.
    """

    lists: Csr

    @classmethod
    def of_rows(
        cls,
        X: Csr,
        n_best: int,
        *,
        seed: int,
        n_threads: int,
    ) -> Companions:
        """Find the companions in rows of length 1.

        The strongest are those of the largest cosine, among the rows of a feature or a sample of
        them; what a feature says about them is the slope, less for a feature of many rows.

        Parameters
        ----------
        X : csr_array, shape (n_points, n_features)
            The rows.
        n_best : int
            How many companions a feature has at the most, besides itself.
        seed : int
            Of the samples.
        n_threads : int
            Threads.
        """
        n_rows, n_features = X.shape
        _, energy = _native.column_statistics(X, row_lengths=None, n_threads=n_threads)
        columns = _native.feature_rows(
            X,
            coordinate=np.arange(n_rows, dtype=np.int32),
            n_coords=n_rows,
            wanted=np.ones(n_features, dtype=np.bool_),
            row_scale=None,
            n_threads=n_threads,
        )
        lists = _native.companions(
            columns,
            X,
            (1.0 / np.sqrt(energy + RIDGE)).astype(np.float32),
            n_best=min(n_best, n_features),
            max_rows=_MOST_ROWS,
            ridge=RIDGE,
            common=max(_COMMON_SHARE * n_rows, _COMMON_ROWS),
            seed=seed,
            n_threads=n_threads,
        )
        return cls(lists)

    def impute(self, X: Csr, betas: Floats | None, **room: int) -> Csr:
        """Add to rows of length 1 what their features occur with; see the kernel's wrapper."""
        return _native.impute(X, self.lists, betas, **room)
