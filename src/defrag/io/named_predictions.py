r"""Predictions with names: pairs ``name:score`` separated by tabs, or JSON lines.

A JSON line is ``{"labels": ["libc6"], "scores": [0.9]}``; its labels may also be ids. The
format with ids and a header is in ``predictions``.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from defrag.exceptions import FormatError
from defrag.io.corpora import numbered_lines, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from defrag.io.files import InputStream

__all__ = ["NamedPredictions", "PredictionForm", "parse_named_predictions", "prediction_form"]

PredictionForm: TypeAlias = Literal["ids", "names", "json"]
"""Format of a file of predictions."""

_LONGEST_HEADER_BYTES = 1 << 16


@dataclass(frozen=True)
class NamedPredictions:
    """Labels and scores of each point.

    Attributes
    ----------
    labels : list of lists
        Names, or ids if ``are_ids``.
    scores : list of lists of float
        Their scores.
    are_ids : bool
        Whether labels are ids.
    """

    labels: list[list[Any]]
    scores: list[list[float]]
    are_ids: bool


def prediction_form(stream: InputStream) -> PredictionForm:
    """Return the format of predictions by their first line; the stream is not advanced.

    The header of the format with ids is two numbers, which cannot be a line of names: a name is
    followed by a colon and a score.
    """
    first = stream.peek_line(0, _LONGEST_HEADER_BYTES).strip()
    if first.startswith(b"{"):
        return "json"
    words = first.split()
    return "ids" if words and all(word.isdigit() for word in words) else "names"


def parse_named_predictions(stream: InputStream, form: PredictionForm) -> NamedPredictions:
    """Read names and scores from an open stream.

    Raises
    ------
    FormatError
        If a line violates the format; names the line.
    """
    parse: Callable[[str], tuple[list[Any], list[float]]]
    parse = _parse_json if form == "json" else _parse_names
    rows, scores, kinds = [], [], set()
    for number, line in numbered_lines(stream):
        try:
            labels, values = parse(line)
        except ValueError as error:
            raise FormatError(stream.name, str(error), number) from None
        kinds |= {type(label) for label in labels}
        if len(kinds) > 1:
            raise FormatError(stream.name, "ids and names in one file", number)
        if len(set(labels)) < len(labels):
            raise FormatError(stream.name, "a label is repeated in the line", number)
        if not all(math.isfinite(value) for value in values):
            raise FormatError(stream.name, "a score is not finite", number)
        rows.append(labels)
        scores.append(values)
    return NamedPredictions(rows, scores, kinds == {int})


def _parse_json(line: str) -> tuple[list[Any], list[float]]:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError) as error:
        what = getattr(error, "msg", type(error).__name__)
        raise ValueError(f"invalid JSON: {what}") from None
    labels = item.get("labels") if isinstance(item, dict) else None
    scores = item.get("scores") if isinstance(item, dict) else None
    if (
        not isinstance(labels, list)
        or not isinstance(scores, list)
        or len(labels) != len(scores)
        or not all(type(label) in (int, str) for label in labels)
        or not all(type(score) in (int, float) for score in scores)
    ):
        raise ValueError(f"expected 'labels' and as many 'scores', got {shown(line)}")
    try:
        return labels, [float(score) for score in scores]
    except OverflowError:
        raise ValueError("a score is not finite") from None


def _parse_names(line: str) -> tuple[list[Any], list[float]]:
    labels, scores = [], []
    for pair in line.split("\t") if line else []:
        name, _, score = pair.rpartition(":")
        try:
            scores.append(float(score))
        except ValueError:
            name = ""
        if not name:
            raise ValueError(f"expected name:score, got {shown(pair)}")
        labels.append(name)
    return labels, scores
