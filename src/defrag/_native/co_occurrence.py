"""Kernels over blocks of features that occur together; see ``cpp/core/co_occurrence.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from defrag import _core
from defrag._native.arrays import KernelRows, csr_from_parts, csr_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.typing import Csr, Floats, Ids, Offsets

__all__ = ["GroupLayout", "co_occurrence", "impute"]


@dataclass(frozen=True)
class GroupLayout:
    """Where the members of groups and their blocks stand; made of ``groups`` by `of`."""

    groups: Ids
    slots: Ids
    member_ptr: Offsets
    members: Ids
    entry_ptr: Offsets

    @classmethod
    def of(cls, groups: Ids, n_groups: int) -> GroupLayout:
        """Lay out the groups of features, -1 for none."""
        groups = np.ascontiguousarray(groups, dtype=np.int32)
        order = np.argsort(groups, kind="stable").astype(np.int32)
        members = order[int(np.count_nonzero(groups < 0)) :]
        sizes = np.bincount(groups[members], minlength=n_groups).astype(np.int64)
        member_ptr = np.append(0, np.cumsum(sizes))
        slots = np.full(len(groups), -1, dtype=np.int32)
        slots[members] = np.arange(len(members)) - member_ptr[groups[members]]
        entry_ptr = np.append(0, np.cumsum(sizes * sizes))
        return cls(groups, slots, member_ptr, members, entry_ptr)

    def parts(self) -> tuple[Ids, Ids, Offsets, Ids, Offsets]:
        """Give the arrays in the order in which the kernels take them."""
        return self.groups, self.slots, self.member_ptr, self.members, self.entry_ptr


def co_occurrence(X: Csr, layout: GroupLayout, *, cosine: bool, n_threads: int) -> Floats:
    """Add up the products of features of one group over the rows, as flat blocks."""
    return np.asarray(
        _core.co_occurrence(csr_parts(X), layout.parts(), cosine=cosine, n_threads=n_threads)
    )


def impute(
    X: Csr | KernelRows,
    C: Sequence[tuple[GroupLayout, Floats]] | Csr,
    betas: Floats | None,
    *,
    max_growth: int,
    usual_size: int = 0,
    max_entries: int = 0,
    n_threads: int,
) -> Csr:
    """Add to rows of length 1 what their features occur with; None: replace rows by that.

    C is the blocks of clusterings or the companions of each feature. Of a row are kept, the
    largest first, ``max_growth`` times the entries it had, though at least ``usual_size``, and
    ``max_entries`` in all; 0 is no limit.
    """
    related = csr_parts(C) if sparse.issparse(C) else [(one.parts(), data) for one, data in C]
    parts = _core.impute(
        csr_parts(X),
        related,
        betas,
        n_features=X.shape[1],
        max_growth=max_growth,
        usual_size=usual_size,
        max_entries=max_entries,
        n_threads=n_threads,
    )
    return csr_from_parts(parts, X.shape)
