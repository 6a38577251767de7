"""An explanation of a score: data that prints as a table."""

from __future__ import annotations

import io
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from html import escape
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.console import Console, Group
from rich.markup import escape as escape_markup
from rich.table import Table
from rich.text import Text
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from defrag.explain.explainers import Explainer
    from defrag.explain.parts import Step
    from defrag.typing import Csr, Floats, Ids

__all__ = [
    "Contribution",
    "Explanation",
    "Explanations",
    "LabelFeatures",
    "Segment",
    "Span",
    "bar",
    "excerpt",
    "explain_row",
    "highlight",
    "highlighted",
    "rank_features",
]

# --- Explanations in notebooks.

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


# --- Contributions of features, mapped to the text that they come from.


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


# --- Explanations on a terminal.

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
        table.add_row(
            escape_markup(_printable(row.name)), f"{row.contribution:+.4f}", without, drawn
        )
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
        table.add_row(escape_markup(_printable(name)), f"{score:.4f}", Text(bar(score), style=FOR))
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


# Number of features shown; the others are summed.
_SHOWN = 10


class Contribution(NamedTuple):
    """The contribution of one feature."""

    feature: int
    name: str
    value: float
    contribution: float
    without: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """The contributions of the features of a point to the score of a label.

    Prints as a table; in notebooks, the table has bars.

    Attributes
    ----------
    label : str, int or class
        The label, by its name if it has one.
    label_id : int
        The id of the label.
    score : float
        The score, as from ``predict_topk``.
    base : float
        The score of a point without features.
    features : ndarray of int32, shape (n_entries,)
        The features of the point, by decreasing absolute contribution.
    names : list of str
        Their names, or their ids as strings.
    values : ndarray of float32
        Their values.
    contributions : ndarray of float64
        Their contributions: ``base + contributions.sum()`` is the score.
    without : ndarray of float64
        The score of the point without each feature, with the search held fixed. Where each
        score takes a prediction, NaN for all but the 1,000 features with the largest
        contributions, or fewer for a point with many thousands.
    path : tuple of Step
        The path to the label in each tree; empty for methods without label trees.
    how : str
        How the contributions were computed: from weights, or by leaving features out.
    notes : tuple of str
        Remarks on the score.
    text : str or None
        The text, if a text was explained.

    See Also
    --------
    LabelFeatures : The features that give a label the highest scores.
    """

    label: Any
    label_id: int
    score: float
    base: float
    features: Ids
    names: list[str]
    values: Floats
    contributions: NDArray[np.float64]
    without: NDArray[np.float64]
    path: tuple[Step, ...]
    how: str
    notes: tuple[str, ...] = ()
    text: str | None = None
    spans: tuple[Span, ...] = field(default=(), repr=False)

    def top(self, n: int = _SHOWN) -> list[Contribution]:
        """Return the features with the largest contributions, of either sign.

        Parameters
        ----------
        n : int, default=10
            Number of features.
        """
        columns = (
            self.features[:n].tolist(),
            self.names[:n],
            self.values[:n].tolist(),
            self.contributions[:n].tolist(),
            self.without[:n].tolist(),
        )
        return [Contribution(*row) for row in zip(*columns, strict=True)]

    def rest(self, n: int = _SHOWN) -> float:
        """Return the sum of the contributions that :meth:`top` leaves out."""
        return float(self.contributions[n:].sum())

    def segments(self) -> list[Segment]:
        """Return the text in pieces, each with the contribution of its features.

        The contribution of a feature is split evenly among its occurrences, and among the
        characters of each.
        """
        if self.text is None:
            raise ValueError("segments requires a text, but a row of features was explained")
        return highlight(self.text, self.spans, self.features, self.contributions)

    def as_dict(self, n: int | None = None) -> dict[str, Any]:
        """Return the explanation as numbers, strings, lists and dictionaries, for JSON.

        Parameters
        ----------
        n : int, optional
            The number of features; default: all.
        """
        label = self.label.item() if isinstance(self.label, np.generic) else self.label
        number = len(self.features) if n is None else n
        found: dict[str, Any] = {
            "label": label,
            "label_id": self.label_id,
            "score": self.score,
            "base": self.base,
            "how": self.how,
            "notes": list(self.notes),
            "features": [
                {**one._asdict(), "without": None if np.isnan(one.without) else one.without}
                for one in self.top(number)
            ],
            "rest": self.rest(number),
            "path": [
                {
                    "tree": step.member,
                    "node": step.node,
                    "child": step.child,
                    "score": step.score,
                    "base": step.base,
                }
                for step in self.path
            ],
        }
        if self.text is not None:
            found["segments"] = [one._asdict() for one in self.segments()]
        return found

    def in_text(self, text: str, spans: Sequence[Span]) -> Explanation:
        """Return the explanation with the text that the features come from."""
        return replace(self, text=text, spans=tuple(spans))

    def __repr__(self) -> str:
        return (
            f"Explanation(label={self.label!r}, score={self.score:.4f}, base={self.base:.4f}, "
            f"{len(self.features)} features)"
        )

    def __str__(self) -> str:

        return as_text(self)

    def table(self, n: int = _SHOWN) -> Any:
        """Return a table of the n largest contributions, for ``rich.print``."""
        return explanation_table(self, n)

    def __rich__(self) -> Any:
        return self.table()

    def _repr_html_(self) -> str:

        return explanation_html(self)


class Explanations(tuple[Explanation, ...]):
    """Explanations of the best labels of a point, best first."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return "".join(one._repr_html_() for one in self)


def explain_row(
    explainer: Explainer, row: Csr, labels: Sequence[tuple[int, Any]], names: Sequence[str] | None
) -> Explanations:
    """Explain the scores of labels for a row.

    Parameters
    ----------
    explainer : Explainer
        The scores of the labels.
    row : csr_array, shape (1, n_features)
        The row.
    labels : sequence of (int, label)
        The ids and the names of the labels.
    names : sequence of str, optional
        The names of all features.
    """
    parts = explainer.take_apart(row)
    found = parts.attribution
    sizes = np.abs(found.contributions)
    ids = row.indices.tolist()
    own = list(map(str, ids)) if names is None else [names[j] for j in ids]
    explanations = []
    for i, (label_id, label) in enumerate(labels):
        order = np.argsort(-sizes[i], kind="stable")
        explanations.append(
            Explanation(
                label=label,
                label_id=label_id,
                score=float(parts.scores[i]),
                base=float(parts.bases[i]),
                features=row.indices[order].astype(np.int32),
                names=[own[j] for j in order.tolist()],
                values=row.data[order],
                contributions=found.contributions[i, order],
                without=parts.without[order, i],
                path=tuple(step.in_order(order) for step in found.paths[i]),
                how=found.how,
                notes=tuple(found.notes[i]),
            )
        )
    return Explanations(explanations)


# --- The features that give a label the highest scores.

_ROWS_AT_A_TIME = 50_000
_NAMES_SHOWN = 10


@dataclass(frozen=True, eq=False)
class LabelFeatures:
    """The features that give a label the highest scores.

    Attributes
    ----------
    label : str, int or class
        The label, by its name if it has one.
    label_id : int
        The id of the label.
    base : float
        The score of a point without features.
    features : ndarray of int32, shape (n,)
        The features, by decreasing score.
    names : list of str
        Their names, or their ids as strings.
    scores : ndarray of float64, shape (n,)
        The score of a point that has only this feature.
    """

    label: Any
    label_id: int
    base: float
    features: Ids
    names: list[str]
    scores: NDArray[np.float64]

    def as_dict(self) -> dict[str, Any]:
        """Return the features as numbers, strings, lists and dictionaries, for JSON."""
        label = self.label.item() if isinstance(self.label, np.generic) else self.label
        rows = zip(self.features.tolist(), self.names, self.scores.tolist(), strict=True)
        return {
            "label": label,
            "label_id": self.label_id,
            "base": self.base,
            "features": [
                {"feature": feature, "name": name, "score": score} for feature, name, score in rows
            ],
        }

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:_NAMES_SHOWN])
        more = ", ..." if len(self.names) > _NAMES_SHOWN else ""
        return f"LabelFeatures(label={self.label!r}: {shown}{more})"

    def __str__(self) -> str:

        return as_text(self)

    def table(self, n: int | None = None) -> Any:
        """Return a table of the n best features, for ``rich.print``; default: all."""
        return features_table(self, n)

    def __rich__(self) -> Any:
        return self.table()

    def _repr_html_(self) -> str:

        return features_html(self)


def rank_features(
    explainer: Explainer,
    n_features: int,
    *,
    label: tuple[int, Any],
    names: Sequence[str] | None,
    n: int,
) -> LabelFeatures:
    """Score points of one feature each and return the best features.

    Parameters
    ----------
    explainer : Explainer
        The scores of the label.
    n_features : int
        The number of features.
    label : (int, label)
        The id and the name of the label.
    names : sequence of str, optional
        The names of all features.
    n : int
        The number of features to return.
    """
    scores = np.empty(n_features)
    for first in range(0, n_features, _ROWS_AT_A_TIME):
        features = np.arange(first, min(first + _ROWS_AT_A_TIME, n_features), dtype=np.int32)
        ones = np.ones(len(features), dtype=np.float32)
        rows = sparse.csr_array(
            (ones, features, np.arange(len(features) + 1, dtype=np.int32)),
            shape=(len(features), n_features),
        )
        scores[features] = explainer.scores(rows)[:, 0]
    empty = sparse.csr_array(np.zeros((1, n_features), dtype=np.float32))
    base = float(explainer.scores(empty)[0, 0])
    speaking = np.flatnonzero(scores > base)
    best = speaking[np.argsort(-scores[speaking], kind="stable")][:n].astype(np.int32)
    own = [str(j) if names is None else names[j] for j in best.tolist()]
    return LabelFeatures(label[1], label[0], base, best, own, scores[best])
