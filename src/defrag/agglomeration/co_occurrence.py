"""Co-occurrence of features within the groups of clusterings.

The pseudo co-occurrence of the paper is X^T X without the entries between features of
different groups. It is stored as one dense block per group; several clusterings are averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from defrag import _native
from defrag._native import GroupLayout
from defrag._scikit import check_is_fitted, clone
from defrag.agglomeration._clustering import FeaturePooling
from defrag.agglomeration.defrag import SingletonClustering
from defrag.typing import Csr, Floats, Ids, LabelsLike

# Added to the energy that slopes are divided by. For scale: the squares of a unit row with 40
# equal features are 0.025.
RIDGE = 0.01


@dataclass(frozen=True)
class CoOccurrence:
    """Mean of the co-occurrence blocks of several clusterings."""

    # The layout of each clustering and the entries of its blocks, by group and row.
    blocks: list[tuple[GroupLayout, Floats]]

    @classmethod
    def of_rows(cls, X: Csr, groups: Sequence[Ids], *, scale: str, n_threads: int) -> CoOccurrence:
        """Compute the co-occurrence of features over unit rows.

        ``scale`` divides entry (j, k) by nothing; by the square roots of the diagonal entries of j
        and k; or by the diagonal entry of j plus a ridge: the slope of the regression of k on j.
        """
        blocks = []
        for labels in groups:
            layout = GroupLayout.of(labels, int(labels.max(initial=-1)) + 1)
            cosine = scale == "cosine"
            entries = _native.co_occurrence(X, layout, cosine=cosine, n_threads=n_threads)
            if scale == "slope":
                sizes = np.diff(layout.member_ptr)[layout.groups[layout.members]]
                diagonal = entries[np.cumsum(sizes) - sizes + layout.slots[layout.members]]
                entries /= np.repeat(diagonal + np.float32(RIDGE), sizes)
            blocks.append((layout, entries))
        return cls(blocks)

    def multiply(self, X: Csr, *, max_entries: int, n_threads: int) -> Csr:
        """Return the L2-normalised products of rows and blocks; ``max_entries=0`` keeps all."""
        return self.impute(X, None, max_growth=0, max_entries=max_entries, n_threads=n_threads)

    def of_features(self, features: Ids) -> Csr:
        """Return the averaged co-occurrence rows of some features."""
        total = sparse.csr_array((len(features), len(self.blocks[0][0].groups)))
        for layout, entries in self.blocks:
            known = np.flatnonzero(layout.groups[features] >= 0)
            groups = layout.groups[features[known]]
            sizes = np.diff(layout.member_ptr)[groups]
            within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            first = layout.entry_ptr[groups] + layout.slots[features[known]] * sizes
            values = entries[np.repeat(first, sizes) + within]
            members = layout.members[np.repeat(layout.member_ptr[groups], sizes) + within]
            places = np.repeat(known, sizes), members
            total = total + sparse.csr_array((values, places), shape=total.shape)
        return sparse.csr_array(total / len(self.blocks))

    def impute(self, X: Csr, betas: Floats | None, **limits: int) -> Csr:
        """Return imputed unit rows; see ``_native.impute``."""
        return _native.impute(X, self.blocks, betas, **limits)


def find_groups(
    X: Csr,
    Y: LabelsLike,
    agglomeration: Any,
    *,
    default: SingletonClustering,
    prefit: bool = False,
    seeds: Sequence[int],
    n_jobs: int | None,
    owner: str,
) -> list[Ids]:
    """Return groups of features: of one new clustering per seed, or of fitted clusterings.

    - ``Y`` (labels or None): labels of the points, for clusterings that use them.
    - ``agglomeration`` (Defrag or None, or sequence of Defrag if ``prefit``): the clustering.
    - ``prefit``: whether the clusterings are fitted already.
    - ``owner``: name of the estimator in error messages.
    """
    agglomeration = default if agglomeration is None else agglomeration
    if prefit:
        fitted = [agglomeration] if isinstance(agglomeration, FeaturePooling) else agglomeration
        if not isinstance(fitted, (list, tuple)) or not fitted:
            raise ValueError(
                f"agglomeration of {owner} must be a fitted Defrag or a list of them "
                f"with prefit=True, got {agglomeration!r}"
            )
        for clustering in fitted:
            if not isinstance(clustering, FeaturePooling):
                raise ValueError(  # noqa: TRY004 - scikit-learn requires a ValueError
                    f"agglomeration of {owner} must be a fitted Defrag, got {clustering!r}"
                )
            check_is_fitted(clustering)
            if clustering.n_features_in_ != X.shape[1]:
                raise ValueError(
                    f"agglomeration of {owner} must have the {X.shape[1]} features of X, "
                    f"got {clustering.n_features_in_}"
                )
        return [np.ascontiguousarray(one.labels_, dtype=np.int32) for one in fitted]
    if not isinstance(agglomeration, SingletonClustering):
        raise ValueError(  # noqa: TRY004 - as above
            f"agglomeration of {owner} must be a Defrag, got {agglomeration!r}"
        )
    new = (clone(agglomeration).set_params(random_state=seed, n_jobs=n_jobs) for seed in seeds)
    return [clustering._fit_canonical(X, Y).labels_ for clustering in new]
