"""Rankings as lines of text: names or ids of labels with their scores."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from defrag.cli._console import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from defrag.typing import Floats, Ids

__all__ = ["json_lines", "name_lines", "named"]


def named(labels: Ids, names: Sequence[str] | None) -> list[list[Any]]:
    """Return the names, or the ids if there are none, of labels that are padded with -1."""
    found = [[int(label) for label in row if label >= 0] for row in labels]
    return found if names is None else [[names[label] for label in row] for row in found]


def json_lines(rows: list[list[Any]], scores: Floats) -> Iterator[str]:
    """Yield one JSON object per point: ``{"labels": [...], "scores": [...]}``."""
    for labels, values in zip(rows, _short(scores), strict=True):
        yield json.dumps({"labels": labels, "scores": values[: len(labels)].tolist()})


def name_lines(rows: list[list[str]], scores: Floats) -> Iterator[str]:
    """Yield one line per point: ``name:score`` with tabs between them."""
    for names, values in zip(rows, _short(scores), strict=True):
        pairs = zip(names, values[: len(names)], strict=True)
        yield "\t".join(f"{escaped(name)}:{value:.9g}" for name, value in pairs)


def _short(scores: Floats) -> Any:
    """Return doubles that print with as few digits as the floats."""
    return scores.astype(str).astype(np.float64)
