"""Layout of groups of features for ``cpp/core/co_occurrence.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from defrag._core import co_occurrence

if TYPE_CHECKING:
    from defrag.typing import Ids, Offsets

__all__ = ["GroupLayout", "co_occurrence"]


@dataclass(frozen=True)
class GroupLayout:
    """Positions of the members of groups, and of the co-occurrence block of each group.

    Group g has the features ``members[member_ptr[g]:member_ptr[g + 1]]`` and the entries of its
    block from ``entry_ptr[g]`` on; ``slots`` are the positions of features in their groups.
    """

    groups: Ids
    slots: Ids
    member_ptr: Offsets
    members: Ids
    entry_ptr: Offsets

    @classmethod
    def of(cls, groups: Ids, n_groups: int) -> GroupLayout:
        """Return the layout of groups; features with group -1 are in no group."""
        groups = np.ascontiguousarray(groups, dtype=np.int32)
        order = np.argsort(groups, kind="stable").astype(np.int32)
        members = order[int(np.count_nonzero(groups < 0)) :]
        sizes = np.bincount(groups[members], minlength=n_groups).astype(np.int64)
        member_ptr = np.append(0, np.cumsum(sizes))
        slots = np.full(len(groups), -1, dtype=np.int32)
        slots[members] = np.arange(len(members)) - member_ptr[groups[members]]
        entry_ptr = np.append(0, np.cumsum(sizes * sizes))
        return cls(groups, slots, member_ptr, members, entry_ptr)
