"""Explanations as tables and marked texts: on a terminal, by rich, and in notebooks, as HTML.

``explanation.py`` imports this when something is printed; the commands ``suggest`` and ``explain``
use the pieces.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console, Group
from rich.markup import escape as escape_markup
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from defrag.explain.explanation import Explanation, LabelFeatures, Segment
    from defrag.explain.parts import Step

# --- On a terminal.

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


def _lines(explanation: Explanation, n: int) -> Iterator[tuple[str, str, str, float | None]]:
    """Yield the largest contributions, the sum of the others, and the score without features.

    Each is a name, what it adds, the score without it, and its size relative to the largest one.
    """
    rows = explanation.top(n)
    largest = max((abs(row.contribution) for row in rows), default=0.0) or 1.0
    for row in rows:
        without = "" if np.isnan(row.without) else f"{row.without:.4f}"
        yield row.name, f"{row.contribution:+.4f}", without, row.contribution / largest
    if n_more := len(explanation.features) - len(rows):
        yield f"{n_more:,} more", f"{explanation.rest(n):+.4f}", "", None
    yield "without features", f"{explanation.base:+.4f}", "", None


def explanation_table(explanation: Explanation, n: int = 10) -> Group:
    """Return an explanation as a table of its largest contributions."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("feature", overflow="fold")
    for heading in ("adds", "score without it"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for name, adds, without, share in _lines(explanation, n):
        drawn = Text(bar(abs(share or 0)), FOR if (share or 0) >= 0 else AGAINST)
        table.add_row(Text(_printable(name), "dim" if share is None else ""), adds, without, drawn)
    parts: list[Any] = [Text.assemble((_printable(explanation.title), "bold"),
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
        table.add_row(escape_markup(_printable(name)), f"{score:.4f}", Text(bar(score), style=FOR))
    table.add_row("[dim]without features[/]", f"{found.base:.4f}", "")
    return table


def highlighted(explanation: Explanation) -> Text:
    """Return the text with marks on words that raise or lower the score."""
    return Text.assemble(*_styled(explanation.segments()))


def excerpt(explanation: Explanation, *, context: int, short: int, most: int = _MAX_MARKS) -> Text:
    """Return the words of a long text with the largest contributions, and their context.

    A text of at most ``short`` characters is shown whole; words beyond the first ``most`` are
    marked if they are in the context, as many characters on both sides of those.
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


# --- In notebooks.

# Colours are translucent and the text keeps the colour of the page, so that explanations are
# readable in light and dark themes.
_FOR, _AGAINST = "0, 150, 110", "215, 70, 40"
_STYLE = f"""<style>
.defrag-why {{ color: inherit; font: 14px/1.5 system-ui, sans-serif; margin: 0.5em 0 1.5em;
  max-width: 48rem; overflow-wrap: anywhere; }}
.defrag-why table {{ border-collapse: collapse; background: transparent; color: inherit;
  width: 100%; table-layout: fixed; margin: 0.5em 0; }}
.defrag-why th, .defrag-why td {{ background: transparent; color: inherit; text-align: left;
  padding: 0.1em 0.6em 0.1em 0; border: 0; font-weight: normal; white-space: normal; }}
.defrag-why th {{ opacity: 0.75; }}
.defrag-why .n {{ text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; overflow-wrap: normal; width: 4.8em; }}
.defrag-why .b {{ width: clamp(3rem, 35vw - 5rem, 16rem); }}
.defrag-why .b span {{ display: block; height: 0.8em; border-radius: 2px; }}
.defrag-why .for {{ background: rgba({_FOR}, 0.75); }}
.defrag-why .against {{ background: repeating-linear-gradient(135deg, rgba({_AGAINST}, 0.85) 0 3px,
  rgba({_AGAINST}, 0.4) 3px 6px); }}
.defrag-why mark {{ color: inherit; border-radius: 2px; padding: 0 1px; }}
.defrag-why mark.against {{ background: none; text-decoration: underline wavy; }}
.defrag-why .text {{ white-space: pre-wrap; }}
.defrag-why .small {{ font-size: 0.85em; opacity: 0.75; }}
</style>"""


def explanation_html(explanation: Explanation, n: int = 10) -> str:
    """Return an explanation as a table with bars, and the text with marked words."""
    lines = [
        _row(escape(name), adds, without, "" if share is None else _bar(share))
        for name, adds, without, share in _lines(explanation, n)
    ]
    text = "" if explanation.text is None else f'<div class="text">{_marked(explanation)}</div>'
    notes = [*path_lines(explanation.path), explanation.how, *explanation.notes]
    small = "<br>".join(map(escape, notes))
    return (
        f'{_STYLE}<div class="defrag-why"><strong>{escape(str(explanation.label))}</strong> '
        f"{explanation.score:.4f}{text}<table><thead><tr><th>feature</th>"
        '<th class="n">adds</th><th class="n">without</th><th class="b"></th></tr></thead>'
        f'<tbody>{"".join(lines)}</tbody></table><div class="small">{small}</div></div>'
    )


def features_html(found: LabelFeatures) -> str:
    """Return the features of a label as a table with bars."""
    lines = [
        _row(escape(name), f"{score:.4f}", None, _bar(score))
        for name, score in zip(found.names, found.scores.tolist(), strict=True)
    ]
    lines.append(_row("without features", f"{found.base:.4f}", None, ""))
    return (
        f'{_STYLE}<div class="defrag-why"><strong>{escape(str(found.label))}</strong><table>'
        '<thead><tr><th>feature</th><th class="n">alone</th><th class="b"></th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _row(name: str, adds: str, without: str | None, bar: str) -> str:
    middle = "" if without is None else f'<td class="n">{without}</td>'
    return f'<tr><td>{name}</td><td class="n">{adds}</td>{middle}<td class="b">{bar}</td></tr>'


def _bar(share: float) -> str:
    kind = "for" if share >= 0 else "against"
    return f'<span class="{kind}" style="width: {100 * min(abs(share), 1.0):.1f}%"></span>'


def _marked(explanation: Explanation) -> str:
    segments = explanation.segments()
    largest = max((abs(one.weight) for one in segments), default=0.0) or 1.0
    pieces = []
    for piece, weight in segments:
        strength = abs(weight) / largest
        if strength < 0.02:
            pieces.append(escape(piece))
            continue
        title = f'title="{weight:+.4f}"'
        if weight > 0:
            colour = f'style="background: rgba({_FOR}, {0.1 + 0.5 * strength:.2f})"'
            pieces.append(f"<mark {title} {colour}>{escape(piece)}</mark>")
        else:
            colour = f'style="text-decoration-color: rgba({_AGAINST}, {0.4 + 0.6 * strength:.2f})"'
            pieces.append(f'<mark class="against" {title} {colour}>{escape(piece)}</mark>')
    return "".join(pieces)
