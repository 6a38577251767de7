"""Contributions of features laid over the text that they come from."""

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
    """A place of a feature in a text, in characters."""

    feature: int
    begin: int
    end: int


class Segment(NamedTuple):
    """A piece of a text, and what its features contribute to the score."""

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
        Where its features are; they may overlap.
    features, contributions : ndarray
        The contributions of the features.

    Returns
    -------
    segments : list of Segment
        The pieces in order; joined, they are the text. Weights add up to the contributions of
        the features that have a place.
    """
    worth = dict(zip(features.tolist(), contributions.tolist(), strict=True))
    inside = [
        span for span in spans if span.feature in worth and 0 <= span.begin < span.end <= len(text)
    ]
    covered: dict[int, int] = {}
    for span in inside:
        covered[span.feature] = covered.get(span.feature, 0) + span.end - span.begin
    change = np.zeros(len(text) + 1)  # of the contribution per character
    cuts = {0, len(text)}
    for span in inside:
        per_character = worth[span.feature] / covered[span.feature]
        change[span.begin] += per_character
        change[span.end] -= per_character
        cuts |= {span.begin, span.end}
    totals = np.append(0.0, np.cumsum(np.cumsum(change)[:-1]))
    marked = _marked(inside, len(text))
    bounds = sorted(cuts)
    return [
        Segment(text[begin:end], float(totals[end] - totals[begin]) if marked[begin] else 0.0)
        for begin, end in pairwise(bounds)
    ]


def _marked(spans: Sequence[Span], length: int) -> NDArray[np.bool_]:
    """Return the characters that belong to a feature."""
    depth = np.zeros(length + 1, dtype=np.int64)
    for span in spans:
        depth[span.begin] += 1
        depth[span.end] -= 1
    return np.cumsum(depth) > 0
