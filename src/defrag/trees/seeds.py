"""Seeds of the members of an ensemble."""

from __future__ import annotations

__all__ = ["member_seeds"]


def member_seeds(seed: int, n_members: int) -> list[int]:
    """Return the seeds of the members of an ensemble; the first is the seed itself."""
    return [(seed + number * 0x9E3779B97F4A7C15) % 2**63 for number in range(n_members)]
