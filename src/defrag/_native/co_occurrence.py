"""Groups of features laid out for ``cpp/core/co_occurrence.hpp``."""

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
    """Where the members of groups and their blocks are; see `of`."""

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
