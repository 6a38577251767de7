"""Explanations on a terminal."""

from __future__ import annotations

import io
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from defrag.explain._highlight import Segment
    from defrag.explain.explanation import Explanation
    from defrag.explain.label_features import LabelFeatures
    from defrag.explain.parts import Step

__all__ = [
    "as_text",
    "bar",
    "excerpt",
    "explanation_table",
    "features_table",
    "highlighted",
    "path_lines",
]

_BAR_WIDTH = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"
_WIDTH = 100
_MAX_MARKS = 12
FOR, AGAINST = "green", "red"
"""Colours of features that raise and that lower a score."""


def as_text(shown: Any) -> str:
    """Return the output of a terminal without colours."""
    stream = io.StringIO()
    Console(file=stream, width=_WIDTH, no_color=True, highlight=False).print(shown)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def bar(share: float, width: int = _BAR_WIDTH) -> str:
    """Return a bar of blocks; ``share`` is between 0 and 1."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    whole, part = divmod(eighths, 8)
    return "█" * whole + (_EIGHTHS[part] if part else "")


def explanation_table(explanation: Explanation, n: int = 10) -> Group:
    """Return an explanation as a table of its largest contributions."""
    rows = explanation.top(n)
    largest = max((abs(row.contribution) for row in rows), default=0.0) or 1.0
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("feature", overflow="fold")
    for heading in ("adds", "score without it"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for row in rows:
        sign = FOR if row.contribution >= 0 else AGAINST
        without = "" if np.isnan(row.without) else f"{row.without:.4f}"
        drawn = Text(bar(abs(row.contribution) / largest), style=sign)
        table.add_row(escape(_printable(row.name)), f"{row.contribution:+.4f}", without, drawn)
    n_more = len(explanation.features) - len(rows)
    if n_more:
        table.add_row(f"[dim]{n_more:,} more[/]", f"{explanation.rest(n):+.4f}", "", "")
    table.add_row("[dim]without features[/]", f"{explanation.base:+.4f}", "", "")
    parts: list[Any] = [Text.assemble((_printable(str(explanation.label)), "bold"),
                                      f"  {explanation.score:.4f}")]  # fmt: skip
    if explanation.text is not None:
        parts.append(highlighted(explanation))
    parts.append(table)
    parts += [Text(line, style="dim") for line in path_lines(explanation.path)]
    parts += [Text(line, style="dim") for line in (explanation.how, *explanation.notes)]
    return Group(*parts)


def features_table(found: LabelFeatures, n: int | None = None) -> Table:
    """Return the features of a label as a table."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(Text(_printable(str(found.label))), overflow="fold")
    table.add_column("score alone", justify="right")
    table.add_column("")
    for name, score in list(zip(found.names, found.scores.tolist(), strict=True))[:n]:
        table.add_row(escape(_printable(name)), f"{score:.4f}", Text(bar(score), style=FOR))
    table.add_row("[dim]without features[/]", f"{found.base:.4f}", "")
    return table


def highlighted(explanation: Explanation) -> Text:
    """Return the text with marks on words that raise or lower the score."""
    return Text.assemble(*_styled(explanation.segments()))


def excerpt(explanation: Explanation, *, context: int, short: int, most: int = _MAX_MARKS) -> Text:
    """Return the words of a long text with the largest contributions, and their context.

    Parameters
    ----------
    explanation : Explanation
        The explanation of a text.
    context : int
        Characters to show on both sides of a marked word.
    short : int
        A text of at most this many characters is shown whole.
    most : int
        Number of words shown with their context; others are marked if they are in it.
    """
    segments = explanation.segments()
    pieces = _styled(segments)
    ends = list(accumulate(len(piece) for piece, _ in pieces))
    if not ends or ends[-1] <= short:
        return Text.assemble(*pieces)
    marked = [place for place, (_, style) in enumerate(pieces) if style]
    marked.sort(key=lambda place: -abs(segments[place].weight))
    ranges: list[list[int]] = []
    for place in sorted(marked[:most]):
        begin = max(0, ends[place] - len(pieces[place][0]) - context)
        end = min(ends[-1], ends[place] + context)
        if ranges and begin <= ranges[-1][1]:
            ranges[-1][1] = end
        else:
            ranges.append([begin, end])
    return Text(" ... ").join(Text.assemble(*_between(pieces, ends, *one)) for one in ranges)


def _between(
    pieces: list[tuple[str, str]], ends: list[int], begin: int, end: int
) -> Iterator[tuple[str, str]]:
    """Yield the pieces between two positions of the text; ``ends`` are the ends of the pieces."""
    place = bisect_right(ends, begin)
    while begin < end:
        piece, style = pieces[place]
        start = ends[place] - len(piece)
        yield piece[begin - start : end - start], style
        begin = ends[place]
        place += 1


def _styled(segments: Sequence[Segment]) -> list[tuple[str, str]]:
    """Return the pieces of a text with their styles."""
    largest = max((abs(one.weight) for one in segments), default=0.0) or 1.0
    pieces = []
    for piece, weight in segments:
        strength = abs(weight) / largest
        colour = FOR if weight > 0 else AGAINST
        # Underlined if it lowers the score, for readers who do not see the colours.
        against = " underline" if weight < 0 else ""
        style = "" if strength < 0.05 else f"{'bold ' if strength > 0.4 else ''}{colour}{against}"
        pieces.append((_printable(piece), style))
    return pieces


def path_lines(path: Sequence[Step]) -> list[str]:
    """Return the path to a label, one line per tree."""
    lines: dict[int, list[str]] = {}
    for step in path:
        shown = f"node {step.node} > {step.child}: {step.score:.3f}"
        lines.setdefault(step.member, []).append(shown)
    return [f"tree {member}  {'   '.join(steps)}" for member, steps in lines.items()]


def _printable(text: str) -> str:
    """Return a text without control characters, which a terminal would interpret."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
