"""Contributions of features, mapped to the text that they come from."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag.typing import Ids

__all__ = ["Segment", "Span", "highlight"]


class Span(NamedTuple):
    """An occurrence of a feature in a text; positions count characters."""

    feature: int
    begin: int
    end: int


class Segment(NamedTuple):
    """A piece of a text, and the contribution of its features to the score."""

    text: str
    weight: float


def highlight(
    text: str, spans: Sequence[Span], features: Ids, contributions: NDArray[np.float64]
) -> list[Segment]:
    """Cut a text into pieces that belong to the same features.

    Parameters
    ----------
    text : str
        The text.
    spans : sequence of Span
        Occurrences of its features; they may overlap.
    features, contributions : ndarray
        The contributions of the features.

    Returns
    -------
    segments : list of Segment
        The pieces in order; joined, they are the text. Weights add up to the contributions of
        the features that occur in ``spans``.
    """
    worth = dict(zip(features.tolist(), contributions.tolist(), strict=True))
    inside = [
        span for span in spans if span.feature in worth and 0 <= span.begin < span.end <= len(text)
    ]
    covered: dict[int, int] = {}
    for span in inside:
        covered[span.feature] = covered.get(span.feature, 0) + span.end - span.begin
    per_character = np.array([worth[span.feature] / covered[span.feature] for span in inside])
    begins = np.array([span.begin for span in inside], dtype=np.int64)
    ends = np.array([span.end for span in inside], dtype=np.int64)
    change = np.zeros(len(text) + 1)  # difference of the contribution per character
    np.add.at(change, begins, per_character)
    np.subtract.at(change, ends, per_character)
    totals = np.append(0.0, np.cumsum(np.cumsum(change)[:-1]))
    depth = np.zeros(len(text) + 1, dtype=np.int64)  # number of features that cover a character
    np.add.at(depth, begins, 1)
    np.subtract.at(depth, ends, 1)
    bounds = np.unique(np.concatenate([begins, ends, [0, len(text)]]))
    marked = np.cumsum(depth)[bounds[:-1]] > 0
    weights = np.where(marked, np.diff(totals[bounds]), 0.0)
    return [
        Segment(text[begin:end], weight)
        for (begin, end), weight in zip(pairwise(bounds.tolist()), weights.tolist(), strict=True)
    ]
