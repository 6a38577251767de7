"""Reports: tables and pages, without external resources.

A table is shown as Markdown, HTML, JSON or on a terminal; a page has text, tables and figures.
``comparison``, ``results`` and ``demo`` make them from records.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from defrag.lab.records import Result, Statistic, difference

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from defrag.lab.plots import Plot


# --- Columns of tables: title, number format, and whether larger or smaller is better.


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    # Name of the number in :func:`defrag.lab.records.values_of`.
    key: str
    title: str
    digits: int
    # Whether larger or smaller values are better, if either.
    best: Literal["most", "least"] | None
    # Factor applied to a number before it is formatted.
    scale: float = 1.0
    # One sentence for the legend.
    meaning: str = ""
    # Heading on a terminal, if the title is too wide for it.
    short: str = ""

    def write(self, value: float) -> str:
        """Format a number for the column."""
        return f"{value * self.scale:,.{self.digits}f}"


def _metric(name: str, meaning: str) -> list[Column]:
    return [Column(f"{name}@{k}", f"{name}@{k}", 2, "most", 1.0, meaning) for k in (1, 3, 5)]


_ALL = [
    *_metric("P", "P: precision of the best 1, 3, 5 labels, in percent."),
    *_metric("nDCG", "nDCG: normalised discounted cumulative gain, in percent."),
    *_metric("PSP", "PSP: propensity-scored precision, which weights rare labels more."),
    *_metric("PSnDCG", "PSnDCG: propensity-scored nDCG."),
    *_metric("R", "R: recall, in percent."),
    Column("RP@5", "RP@5", 2, "most", 1.0, "RP@5: P@5 of texts with fewer than 5 labels counts "
           "these only."),
    Column("nDCG@10", "nDCG@10", 2, "most"),
    Column("F1@5", "F1@5", 2, "most"),
    Column("micro-F1", "micro-F1", 2, "most", 1.0, "F1: of the labels above a threshold."),
    Column("macro-F1", "macro-F1", 2, "most"),
    Column("R@50", "R@50", 2, "most"),
    *(Column(f"R@5 {name}", f"R@5, {name}", 1, "most") for name in ("unseen", "1-2", "3-10",
                                                                      "more")),
    *_metric("coverage", "Coverage: labels found for at least one test point, in percent."),
    Column("train_cpu", "training, s", 2, "least", 1.0, "Times are CPU seconds of one thread.",
           short="train s"),
    Column("learn_cpu", "classifier, s", 2, "least", 1.0, "Classifier: without the clustering.",
           short="learn s"),
    Column("cluster_cpu", "clustering, s", 2, "least", short="cluster s"),
    Column("file_cpu", "file to model, s", 2, "least", short="file s"),
    Column("train_wall", "training, wall s", 2, "least", short="wall s"),
    Column("predict_ms", "prediction, ms/point", 3, "least", short="predict ms"),
    Column("model_bytes", "model, MB", 1, "least", 1e-6, "Model: size of the file.", short="MB"),
    Column("peak_memory", "peak memory, MB", 0, "least", 1e-6,
           "Peak memory: of the whole process, the data included.", short="peak MB"),
    Column("dimension", "features", 0, None, 1.0, "Features: number that the classifier sees."),
    Column("n_clusters", "groups", 0, None),
    Column("LMI", "LMI", 3, "least", 1.0,
           "LMI: fraction of the mutual information of features and labels that is lost."),
    Column("LMI_paper", "LMI, paper", 3, "least", short="LMI paper"),
    Column("balance", "balance", 1, "least", 1.0,
           "Balance: size of the largest group divided by that of the smallest."),
    Column("entropy", "entropy", 3, "most", 1.0, "Entropy: of the sizes, divided by its maximum."),
]  # fmt: skip

COLUMNS = {column.key: column for column in _ALL}
"""All columns by key."""


@dataclass(frozen=True)
class Row:
    """A method and its numbers."""

    name: str
    # Missing columns stay empty.
    values: Mapping[str, Statistic] = field(default_factory=dict)
    # Reason why there are no numbers, shown in their place.
    note: str | None = None
    # Whether the numbers are published ones, which are not compared with ours.
    published: bool = False


@dataclass(frozen=True)
class Table:
    """A table of methods by columns; the best of our own numbers in a column is marked."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    # Heading of the first column.
    noun: str = "method"
    # Whether only that is best which is better than all others by more than two standard errors of
    # the difference over the same seeds.
    clear: bool = False

    def cell(self, row: Row, column: Column) -> str:
        """Return a number and its deviation as text; empty if there is none."""
        value = row.values.get(column.key)
        if value is None:
            return ""
        text = column.write(value.mean)
        return text if value.deviation is None else f"{text} ± {column.write(value.deviation)}"

    def best(self, column: Column) -> set[int]:
        """Return the rows with the best of our numbers, compared as formatted."""
        shown = {
            place: round(row.values[column.key].mean * column.scale, column.digits)
            for place, row in enumerate(self.rows)
            if column.key in row.values and not row.published
        }
        if column.best is None or len(shown) < 2:
            return set()
        wanted = max(shown.values()) if column.best == "most" else min(shown.values())
        found = {place for place, value in shown.items() if value == wanted}
        if not self.clear:
            return found
        return found if all(map(partial(self._is_beyond, column, min(found)), shown)) else set()

    def _is_beyond(self, column: Column, best: int, other: int) -> bool:
        """Return whether a row is better than another by more than two standard errors."""
        if best == other:
            return True
        gap = difference(*(self.rows[place].values[column.key] for place in (best, other)))
        return gap is not None and gap.deviation is not None and abs(gap.mean) > 2 * gap.deviation

    def _marked(self) -> Iterator[tuple[Row, list[tuple[Column, bool]]]]:
        """Yield each row with the columns, and whether its number is the best of the column."""
        best = [(column, self.best(column)) for column in self.columns]
        for place, row in enumerate(self.rows):
            yield row, [(column, place in found) for column, found in best]

    def to_csv(self) -> str:
        """Return means, deviations and numbers of runs of all numbers, shown or not."""
        file = io.StringIO()
        keys = list(dict.fromkeys(key for row in self.rows for key in row.values))
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([self.noun, "runs", *keys, *(f"{key} deviation" for key in keys)])
        for row, one in zip(self.rows, self.to_json(), strict=True):
            numbers = [[part.get(key) for key in keys] for part in (one["mean"], one["deviation"])]
            writer.writerow([row.name, one["runs"], *numbers[0], *numbers[1]])
        return file.getvalue()

    def to_latex(self) -> str:
        """Return the table for the package booktabs; the best numbers are bold."""
        lines = [
            f"\\begin{{tabular}}{{l{'r' * len(self.columns)}}}", "\\toprule",
            " & ".join(_latex(one) for one in (self.noun, *(c.title for c in self.columns)))
            + r" \\", "\\midrule",
        ]  # fmt: skip
        for row, columns in self._marked():
            cells = [_latex(self.cell(row, column)).replace("±", r"$\pm$") for column, _ in columns]
            bold = [f"\\textbf{{{cell}}}" if is_best else cell
                    for cell, (_, is_best) in zip(cells, columns, strict=True)]  # fmt: skip
            lines.append(" & ".join([_latex(row.name), *bold]) + r" \\")
        return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])

    @property
    def has_best(self) -> bool:
        """Whether any number is marked as best."""
        return any(self.best(column) for column in self.columns)

    @property
    def best_legend(self) -> list[str]:
        """What the mark of the best means, if there is one."""
        beyond = ", by more than two standard errors over seeds" if self.clear else ""
        return [f"best of our own numbers in a column{beyond}."] * self.has_best

    @property
    def legend(self) -> list[str]:
        """The distinct meanings of the columns."""
        return list(dict.fromkeys(column.meaning for column in self.columns if column.meaning))

    def to_markdown(self) -> str:
        """Return the table as Markdown; the best numbers are bold."""
        lines = [
            "| " + " | ".join(["", *(column.title for column in self.columns)]) + " |",
            "|---|" + "---:|" * len(self.columns),
        ]
        for row, columns in self._marked():
            texts = [(self.cell(row, column), is_best) for column, is_best in columns]
            cells = [f"**{text}**" if is_best else text for text, is_best in texts]
            if row.note is not None:
                cells[0] = row.note
            name = f"*{row.name}*" if row.published else row.name
            cells = [cell.replace("|", "\\|") for cell in (name, *cells)]
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"

    def to_html(self) -> str:
        """Return the table as HTML, sortable by its headings."""
        heads = "".join(f'<th scope="col">{escape(column.title)}</th>' for column in self.columns)
        rows = []
        for row, columns in self._marked():
            kind = ' class="published"' if row.published else ""
            cells = [f'<th scope="row">{escape(row.name)}</th>']
            if row.note is not None:
                span = len(self.columns)
                cells.append(f'<td class="note" colspan="{span}">{escape(row.note)}</td>')
            else:
                cells += [self._html_cell(row, column, is_best) for column, is_best in columns]
            rows.append(f"<tr{kind}>{''.join(cells)}</tr>")
        return (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(self.title)}">'
            f'<table class="sortable"><caption>{escape(self.title)}</caption>'
            f'<thead><tr><th scope="col">{escape(self.noun)}</th>{heads}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></div>"
        )

    def _html_cell(self, row: Row, column: Column, is_best: bool) -> str:
        value = row.values.get(column.key)
        if value is None:
            return "<td></td>"
        text = escape(column.write(value.mean))
        if is_best:
            text = f'<strong>{text}<span class="mark" title="best">★</span></strong>'
        if value.deviation is not None:
            text += f'<span class="deviation"> ± {escape(column.write(value.deviation))}</span>'
        return f'<td data-value="{value.mean * column.scale!r}">{text}</td>'

    def to_rich(self) -> RichTable:
        """Return the table for a terminal; the best numbers are bold and have a star."""
        from rich import box  # noqa: PLC0415 - slow to import
        from rich.table import Table as RichTable  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        table = RichTable(
            title=self.title,
            caption="\n".join([*(["* best of a column"] if self.has_best else []), *self.legend]),
            box=box.SIMPLE_HEAD,
            padding=(0, 0, 0, 1),
        )
        table.add_column(self.noun, overflow="fold")
        for column in self.columns:
            table.add_column(
                (column.short or column.title).replace(" ", "\n"), justify="right", no_wrap=True
            )
        for row, columns in self._marked():
            cells = []
            for column, is_best in columns:
                value = row.values.get(column.key)
                shown = "" if value is None else column.write(value.mean)
                cells.append(Text(f"{shown}{'*' if is_best else ' '}", "bold" if is_best else ""))
            name = row.name if row.note is None else f"{row.name}: {row.note}"
            table.add_row(Text(name, style="italic" if row.published else ""), *cells)
        return table

    def to_json(self) -> list[dict[str, Any]]:
        """Return the rows with all their numbers, shown or not."""
        return [
            {
                "method": row.name,
                "published": row.published,
                **({} if row.note is None else {"note": row.note}),
                "runs": max((value.n for value in row.values.values()), default=0),
                "mean": {key: value.mean for key, value in row.values.items()},
                "deviation": {key: value.deviation for key, value in row.values.items()},
            }
            for row in self.rows
        ]


_LATEX = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}"})


def _latex(text: str) -> str:
    return text.translate(_LATEX)


def table_of(
    title: str, results: Iterable[Result], columns: Sequence[str], *, clear: bool = False
) -> Table:
    """Return the table of some results; ``columns`` are keys of ``COLUMNS``."""
    rows = []
    for result in results:
        numbers = result.statistics
        note = None if numbers else "failed: " + "; ".join(result.errors)
        rows.append(Row(result.method, numbers, note))
    return Table(title, [COLUMNS[key] for key in columns], rows, clear=clear)


# --- Pages.

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


@dataclass(frozen=True)
class Html:
    """A piece of HTML, and its Markdown equivalent."""

    html: str
    markdown: str = ""

    def to_html(self) -> str:
        """Return the HTML."""
        return self.html

    def to_markdown(self) -> str:
        """Return the Markdown."""
        return self.markdown


def listed(values: Mapping[str, str]) -> Html:
    """Return names and values as a list."""
    pairs = [f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in values.items()]
    markdown = "".join(f"- {name}: {value}\n" for name, value in values.items())
    return Html(f"<dl>{''.join(pairs)}</dl>", markdown)


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, tables, and figures side by side, in this order."""

    heading: str
    text: Sequence[str] = ()
    blocks: Sequence[Table | Html] = ()
    plots: Sequence[Plot] = ()

    @property
    def name(self) -> str:
        """The anchor of the section."""
        return "-".join("".join(c if c.isalnum() else " " for c in self.heading).lower().split())

    def to_html(self) -> str:
        """Return the section as HTML."""
        parts = [f'<section id="{self.name}"><h2>{escape(self.heading)}</h2>']
        parts += [f"<p>{escape(paragraph)}</p>" for paragraph in self.text]
        for block in self.blocks:
            parts.append(block.to_html())
            if isinstance(block, Table):
                legend = [*(f"★ {one}" for one in block.best_legend), *block.legend]
                items = "".join(f"<li>{escape(item)}</li>" for item in legend)
                parts.append(f'<ul class="legend">{items}</ul>')
        if self.plots:
            parts.append(f'<div class="figures">{"".join(p.to_html() for p in self.plots)}</div>')
        return "\n".join([*parts, "</section>"])

    def to_markdown(self) -> str:
        """Return the section as Markdown, without figures."""
        parts = [f"## {self.heading}\n", *(f"{paragraph}\n" for paragraph in self.text)]
        for block in self.blocks:
            if isinstance(block, Table):
                parts.append(f"**{block.title}**\n")
            parts.append(block.to_markdown())
            if isinstance(block, Table):
                legend = [*(f"Bold: {one}" for one in block.best_legend), *block.legend]
                parts.append("".join(f"{line}\n" for line in legend))
        return "\n".join(part for part in parts if part)


@dataclass(frozen=True)
class Page:
    """A report.

    Examples
    --------
    >>> page = Page("A report", "What was found.", [Section("Data", ["None."])])
    >>> "<h2>Data</h2>" in page.to_html()
    True
    """

    title: str
    # One or two sentences below the title.
    lead: str
    sections: Sequence[Section] = field(default_factory=tuple)

    def to_html(self) -> str:
        """Return the complete document."""
        links = "".join(
            f'<li><a href="#{one.name}">{escape(one.heading)}</a></li>' for one in self.sections
        )
        body = "\n".join(section.to_html() for section in self.sections)
        return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(self.title)}</title>
<style>
{_resource("page.css")}</style>
</head>
<body>
<main>
<h1>{escape(self.title)}</h1>
<p class="lead">{escape(self.lead)}</p>
<nav aria-label="Sections"><ul>{links}</ul></nav>
{body}
</main>
<script>
{_resource("page.js")}</script>
</body>
</html>
"""

    def to_markdown(self) -> str:
        """Return the report as Markdown, without figures."""
        sections = "\n".join(section.to_markdown() for section in self.sections)
        return f"# {self.title}\n\n{self.lead}\n\n{sections}"


def _resource(name: str) -> str:
    return files("defrag.lab").joinpath(name).read_text(encoding="utf-8")
