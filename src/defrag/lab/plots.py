"""Figures as SVG, drawn by matplotlib, with the colours of the page.

``comparison`` and ``results`` draw with these functions. Placeholder colours are replaced by CSS
variables, so that one figure works in light and dark themes and in print. Series differ by marker
and line style as well as by colour.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.util import find_spec
from typing import Any

NO_PLOTS = "Figures need matplotlib, which is not installed: pip install 'defrag[report]'."

_INK, _LINE = "#010101", "#020202"
_SERIES = [f"#03000{place}" for place in range(1, 9)]
_MARKERS = "osD^vPX*"
_STYLES = ("-", "--", "-.", ":", "-", "--", "-.", ":")
_HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10.5,
    "text.color": _INK,
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "xtick.color": _INK,
    "ytick.color": _INK,
    "grid.color": _LINE,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
}
_SIZE = (5.0, 3.7)
# Longer names do not fit into half the width.
_WIDE_NAME = 26


# Leading digits of the ticks of a logarithmic axis, from coarse to fine.
_DIGITS = (
    (1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0),
    (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0),
    tuple(number / 10 for number in range(10, 100)),
)  # fmt: skip
_MOST_TICKS = 6


@dataclass(frozen=True)
class Series:
    """A line, a set of points or a set of bars, which do not use ``x``; notes label points.

    ``front`` is a line without markers through points that other series have.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    notes: Sequence[str] = ()
    front: bool = False


@dataclass(frozen=True)
class Plot:
    """A figure of a page: title, caption, drawing, and the numbers behind it."""

    title: str
    caption: str
    svg: str
    series: Sequence[Series] = field(default_factory=tuple)

    def to_html(self) -> str:
        """Return the figure as HTML."""
        return (
            f"<figure>{self.svg}"
            f"<figcaption><b>{escape(self.title)}.</b> {escape(self.caption)}</figcaption></figure>"
        )


def can_plot() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def lines(
    title: str,
    caption: str,
    series: Sequence[Series],
    axis_labels: tuple[str, str],
    *,
    log_x: bool = False,
    joined: bool = True,
    least_span: float = 0.0,
) -> Plot:
    """Return lines through points; a series of one point is a marker.

    At most eight series have distinct colours, markers and styles. ``axis_labels`` are those of the
    horizontal and the vertical axis, which has a range of at least ``least_span``.
    """

    def draw(axes: Any) -> None:
        notes = []
        for place, one in enumerate(series):
            style = _STYLES[place % 8] if (joined or one.front) and len(one.x) > 1 else ""
            marker = "" if one.front else _MARKERS[(place + place // 8) % 8]
            axes.plot(one.x, one.y, color=_SERIES[place % 8], marker=marker,
                      markersize=5.5, linestyle=style, linewidth=1.6, label=one.name)  # fmt: skip
            for x, y, note in zip(one.x, one.y, one.notes, strict=False):
                notes.append(axes.annotate(note, (x, y), xytext=(3, 4), fontsize=8,
                                           textcoords="offset points"))  # fmt: skip
        if not joined:
            axes.margins(x=0.2, y=0.12)  # room for point labels at the right edge
        if log_x:
            _log_axis(axes)
        low, high = axes.get_ylim()
        missing = max(0.0, least_span - (high - low)) / 2  # a small range would look large
        axes.set_ylim(low - missing, high + missing)
        _move_apart(notes)

    return Plot(title, caption, _svg(title, draw, series, axis_labels), series)


def _move_apart(notes: list[Any]) -> None:
    """Put a note higher above its point, or below it, if it would cover another one."""
    taken: list[Any] = []
    for note in notes:
        for position in ((3, 4), (3, 14), (3, -11)):
            note.set_position(position)
            if not any(note.get_window_extent().overlaps(other) for other in taken):
                break
        taken.append(note.get_window_extent())


def bars(
    title: str,
    caption: str,
    series: Sequence[Series],
    categories: Sequence[str],
    axis_labels: tuple[str, str],
) -> Plot:
    """Return groups of bars, one group per category and one bar per series."""

    def draw(axes: Any) -> None:
        width = 0.8 / max(1, len(series))
        for place, one in enumerate(series):
            shift = (place - (len(series) - 1) / 2) * width
            at = [number + shift for number in range(len(categories))]
            axes.bar(at, one.y, width, color=_SERIES[place % 8], hatch=_HATCHES[place % 8],
                     edgecolor=_LINE, linewidth=0.4, label=one.name)  # fmt: skip
        turned = len(categories) > 8
        look = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if turned else {}
        axes.set_xticks(range(len(categories)), categories, **look)
        axes.grid(visible=False, axis="x")

    return Plot(title, caption, _svg(title, draw, series, axis_labels), series)


def _log_axis(axes: Any) -> None:
    """Make the horizontal axis logarithmic, with plain numbers at a few ticks."""
    from matplotlib.ticker import NullLocator, StrMethodFormatter  # noqa: PLC0415 - an extra

    axes.set_xscale("log")
    axes.set_xticks(log_ticks(*axes.get_xlim()))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def log_ticks(low: float, high: float) -> list[float]:
    """Return round numbers in a range, as many as fit beside each other on a small figure."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    # Many decades leave room for some of them only.
    decades = [10.0**power for power in powers if low <= 10.0**power <= high]
    found = decades[:: -(-len(decades) // _MOST_TICKS) or 1]
    for digits in _DIGITS:
        ticks = [digit * 10.0**power for power in powers for digit in digits]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(found) < len(inside) <= _MOST_TICKS:
            found = inside
    return found


def _svg(title: str, draw: Any, series: Sequence[Series], axis_labels: tuple[str, str]) -> str:
    import matplotlib as mpl  # noqa: PLC0415 - an extra
    from matplotlib.figure import Figure  # noqa: PLC0415 - likewise

    longest = max((len(one.name) for one in series), default=0)
    columns = 1 if longest > _WIDE_NAME else 2
    rows = -(-len(series) // columns) if len(series) > 1 else 0
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": title}):
        figure = Figure(figsize=(_SIZE[0], _SIZE[1] + 0.2 * rows), layout="constrained")
        axes = figure.add_subplot(xlabel=axis_labels[0], ylabel=axis_labels[1])
        draw(axes)
        if rows:
            figure.legend(loc="outside lower center", ncols=columns, fontsize=9.5)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return _for_page(out.getvalue(), title)


def _for_page(text: str, title: str) -> str:
    """Return an SVG element with the colours and the size of the page."""
    drawing = text[text.index("<svg") :].strip()
    # A <style> element of the drawing would apply to the whole page.
    drawing = re.sub(r"<(metadata|style)\b.*?</\1>", "", drawing, flags=re.DOTALL)
    head, _, rest = drawing.partition(">")
    box = re.search(r'viewBox="[^"]*"', head)
    if box is None:
        raise ValueError(f"the figure {title!r} has no viewBox")
    drawing = f'<svg {box.group()} role="img" aria-label="{escape(title)}">{rest}'
    for place, colour in enumerate(_SERIES, 1):
        drawing = drawing.replace(colour, f"var(--s{place})")
    drawing = drawing.replace(_INK, "currentColor").replace(_LINE, "var(--line)")
    # Ids must be unique on a page with several drawings.
    prefix = "f" + re.sub(r"\W", "", title)
    drawing = re.sub(r'\bid="', f'id="{prefix}-', drawing)
    drawing = re.sub(r"url\(#", f"url(#{prefix}-", drawing)
    return re.sub(r'xlink:href="#', f'href="#{prefix}-', drawing)
