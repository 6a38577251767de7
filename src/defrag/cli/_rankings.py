"""Rankings as lines of text: names or ids of labels with their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from defrag.cli._console import escaped
from defrag.io.predictions import short_floats

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from defrag.typing import Floats, Ids

__all__ = ["name_lines", "named"]


def named(labels: Ids, names: Sequence[str] | None) -> list[list[Any]]:
    """Return the names, or the ids if there are none, of labels that are padded with -1."""
    found = [[int(label) for label in row if label >= 0] for row in labels]
    return found if names is None else [[names[label] for label in row] for row in found]


def name_lines(rows: list[list[str]], scores: Floats) -> Iterator[str]:
    """Yield one line per point: ``name:score`` with tabs between them."""
    for names, values in zip(rows, short_floats(scores), strict=True):
        pairs = zip(names, values[: len(names)], strict=True)
        yield "\t".join(f"{escaped(name)}:{value:.9g}" for name, value in pairs)
