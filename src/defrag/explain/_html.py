"""Explanations in notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from defrag.explain.showing import path_lines

if TYPE_CHECKING:
    from defrag.explain.explanation import Explanation
    from defrag.explain.label_features import LabelFeatures

__all__ = ["explanation_html", "features_html"]

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
    rows = explanation.top(n)
    largest = max((abs(row.contribution) for row in rows), default=0.0) or 1.0
    lines = [
        _row(
            escape(row.name),
            f"{row.contribution:+.4f}",
            "" if np.isnan(row.without) else f"{row.without:.4f}",
            _bar(row.contribution / largest),
        )
        for row in rows
    ]
    n_more = len(explanation.features) - len(rows)
    if n_more:
        lines.append(_row(f"{n_more:,} more", f"{explanation.rest(n):+.4f}", "", ""))
    lines.append(_row("without features", f"{explanation.base:+.4f}", "", ""))
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
