"""Companions of each feature: the features that co-occur with it most, with regression slopes.

In a clustering every feature is in one group, but a frequent feature has rare companions in many
groups. A list per feature contains the best companions and needs no clustering.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from defrag import _native
from defrag.agglomeration.co_occurrence import RIDGE

if TYPE_CHECKING:
    from defrag.typing import Csr, Floats, Ids

__all__ = ["Companions"]

# Maximum number of rows of a feature that are used; more rows do not improve the lists.
_MAX_ROWS = 128
# Slopes of a feature are halved if it occurs in this fraction of the rows, or in this many.
_COMMON_SHARE, _COMMON_ROWS = 0.02, 20


@dataclass(frozen=True)
class Companions:
    """Regression slopes of the companions of each feature.

    Attributes
    ----------
    lists : csr_array of float32, shape (n_features, n_features)
        Entry (j, k) is the slope of the regression of feature k on feature j; row j contains
        feature j itself and its companions.
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
        """Compute the companions from unit rows.

        The companions of a feature are those with the largest cosines, over all its rows or a
        sample of them. Slopes of frequent features are damped.

        Parameters
        ----------
        X : csr_array, shape (n_points, n_features)
            The rows.
        n_best : int
            Maximum number of companions of a feature, besides itself.
        seed : int
            Seed of the samples.
        n_threads : int
            Number of threads.
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
            max_rows=_MAX_ROWS,
            ridge=RIDGE,
            common=max(_COMMON_SHARE * n_rows, _COMMON_ROWS),
            seed=seed,
            n_threads=n_threads,
        )
        return cls(lists)

    def of_features(self, features: Ids) -> Csr:
        """Return the slopes of the companions of some features, one row each."""
        return self.lists[features]

    def impute(self, X: Csr, betas: Floats | None, **limits: int) -> Csr:
        """Return imputed unit rows; see ``_native.impute``."""
        return _native.impute(X, self.lists, betas, **limits)
