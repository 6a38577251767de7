"""Writer of text formats; see ``cpp/core/xmc_writer.hpp``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from defrag import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

    from defrag.typing import Csr

__all__ = ["format_rows"]


def format_rows(
    X: Csr,
    Y: Csr,
    *,
    layout: str,
    first_feature: int = 0,
    first_label: int = 0,
    block_entries: int = 1 << 19,
) -> Iterator[bytes]:
    """Yield rows as text, a few megabytes at a time."""
    n_rows = (X if layout != "labels" else Y).shape[0]
    n_entries = X.nnz + Y.nnz
    step = max(1, min(block_entries, n_rows * block_entries // max(1, n_entries)))
    for begin in range(0, n_rows, step):
        yield _core.format_rows(
            X,
            Y,
            layout=_core.TextLayout[layout],
            first_feature=first_feature,
            first_label=first_label,
            begin=begin,
            end=min(n_rows, begin + step),
        )
