"""Pages of studies, with tables, figures and published numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from defrag.experiments.published import PUBLISHED
from defrag.experiments.summary import Statistic
from defrag.report.by_label import label_plots, label_tables
from defrag.report.columns import COLUMNS, Column
from defrag.report.comparison import run_facts
from defrag.report.figures import FIGURES
from defrag.report.page import Facts, Html, Page, Section
from defrag.report.plots import NO_PLOTS, can_plot
from defrag.report.table import Row, Table, table_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from defrag.experiments.published import Published
    from defrag.experiments.study import Study
    from defrag.experiments.summary import Result
    from defrag.report.by_label import Names

__all__ = [
    "Check",
    "Findings",
    "by_frequency",
    "by_share",
    "checks",
    "study_page",
    "study_tables",
]


_SIGNS = {"within": ("✓", ""), "OUTSIDE": ("✗", "warning"), "no": ("·", "")}
"""Sign and CSS class of a verdict, by its first word."""


@dataclass(frozen=True)
class Findings:
    """The results of a study.

    Parameters
    ----------
    study : Study
        The study.
    results : sequence of Result
        All methods on all data sets that were run.
    remarks : sequence of str
        What was left out or sampled, and why.
    names : mapping from data set to sequence of str
        Names of labels, where they are known.
    """

    study: Study
    results: Sequence[Result]
    remarks: Sequence[str] = ()
    names: Mapping[str, Names] = field(default_factory=dict)

    def names_of(self, data: str) -> Names:
        """Return the names of the labels of a data set or of a sample of it, if they are known."""
        return self.names.get(data.split(", ", maxsplit=1)[0])


@dataclass(frozen=True)
class Check:
    """Comparison of our P@1 with a published one."""

    published: Published
    ours: float

    @property
    def difference(self) -> float:
        """Ours minus the published one."""
        return self.ours - self.published.values["P@1"]

    @property
    def verdict(self) -> str:
        """Whether the difference is within the band."""
        band = self.published.band
        if band is None:
            return "no band"
        return f"within {band}" if abs(self.difference) <= band else f"OUTSIDE {band}"

    def sentence(self) -> str:
        """Return the comparison as a sentence, with the reason for a difference."""
        one = self.published
        text = (
            f"{one.method} on {one.data}: P@1 {self.ours:.2f}, {one.source} "
            f"{one.values['P@1']:.2f} ({self.difference:+.2f}, {self.verdict})"
        )
        outside = self.verdict != f"within {one.band}"
        return f"{text}. {one.reason}" if outside and one.reason else f"{text}."


def checks(results: Sequence[Result]) -> list[Check]:
    """Return comparisons of our numbers with published numbers of the same methods."""
    ours = {(result.data, result.method): result.statistics for result in results}
    return [
        Check(one, ours[one.data, one.method]["P@1"].mean)
        for one in PUBLISHED
        if "P@1" in ours.get((one.data, one.method), {}) and "P@1" in one.values
    ]


def study_tables(findings: Findings) -> list[Table]:
    """Return one table per data set, with published rows below their methods."""
    tables = []
    for data in dict.fromkeys(result.data for result in findings.results):
        mine = [result for result in findings.results if result.data == data]
        plain = table_of(f"{findings.study.title}: {data}", mine, findings.study.columns)
        rows = []
        for row in plain.rows:
            rows.append(row)
            rows += [
                _published_row(one)
                for one in PUBLISHED
                if (one.data, one.method) == (data, row.name) and _shows(one, plain)
            ]
        tables.append(Table(plain.title, plain.columns, rows))
        tables += [
            Table(f"{plain.title}, {title}", columns, list(numbers))
            for title, columns, numbers in (by_share(mine), by_frequency(mine))
            if numbers
        ]
        tables += label_tables(mine, findings.names_of(data))
    return tables


def by_share(results: Sequence[Result]) -> tuple[str, list[Column], list[Row]]:
    """Return P@1 by the fraction of missing features, if it was measured."""
    found = [(result, _field(result, "erasure")) for result in results]
    names = [f"{share:.0%}" for _, values in found[:1] for share in values.get("shares", ())]
    columns = [Column(f"missing {name}", f"{name} missing", 1, "most") for name in names]
    rows = [
        Row(result.method, _numbers(columns, values["P@1"])) for result, values in found if values
    ]
    return "P@1 when features are missing", columns, rows


def by_frequency(results: Sequence[Result]) -> tuple[str, list[Column], list[Row]]:
    """Return macro precision by the frequency of labels, if it was measured."""
    found = [(result, _field(result, "rare")) for result in results]
    edges = [edge for _, values in found[:1] for edge in values.get("edges", ())]
    columns = [Column(f"to {high}", f"{low}-{high}%", 1, "most") for low, high in pairwise(edges)]
    rows = [
        Row(result.method, _numbers(columns, values["precision"]))
        for result, values in found
        if values
    ]
    return "macro P@1 from frequent to rare labels", columns, rows


def _field(result: Result, name: str) -> dict[str, Any]:
    """Return a measurement of the first run that did not fail, or an empty dict."""
    found = [record.get(name) for record in result.records if record["status"] == "done"]
    return next((values for values in found if values), {})


def _numbers(columns: Sequence[Column], values: Sequence[float | None]) -> dict[str, Statistic]:
    return {
        column.key: Statistic(value, None, 1)
        for column, value in zip(columns, values, strict=True)
        if value is not None
    }


def study_page(title: str, command: str, all_findings: Sequence[Findings]) -> Page:
    """Return the page of some studies.

    Parameters
    ----------
    title : str
        Heading.
    command : str
        Command line that reproduces the page.
    all_findings : sequence of Findings
        The studies.
    """
    everything = [result for findings in all_findings for result in findings.results]
    compared = {check.sentence(): check for findings in all_findings
                for check in checks(findings.results)}  # fmt: skip
    outside = [sentence for sentence, check in compared.items() if "OUTSIDE" in check.verdict]
    lead = (
        f"{_count(len(all_findings), 'study', 'studies')}, "
        f"{_count(sum(len(result.records) for result in everything), 'run', 'runs')}. "
        f"Compared with published numbers: {len(compared)}; different by more than their band: "
        f"{len(outside)}."
    )
    sections = [_section(findings) for findings in all_findings]
    if compared:
        sections.append(Section("Beside published numbers", (), [_verdicts(compared)]))
    if everything:
        facts = {"command": command, **run_facts(everything)}
        sections.append(Section("What was run", (), [Facts(facts)]))
    return Page(title, lead, sections)


def _section(findings: Findings) -> Section:
    study = findings.study
    plots = []
    text = [study.text]
    for data in dict.fromkeys(result.data for result in findings.results):
        mine = [result for result in findings.results if result.data == data]
        done = [result for result in mine if result.statistics]
        if done and can_plot():
            plots += [plot for kind in study.figures for plot in FIGURES[kind](done)]
            plots += label_plots(done, findings.names_of(data))
    if study.figures and not can_plot():
        text.append(NO_PLOTS)
    blocks: list[Table | Html] = [*study_tables(findings)]
    if findings.remarks:
        blocks.append(_left_out(findings.remarks))
    return Section(study.title, text, blocks, plots)


def _left_out(remarks: Sequence[str]) -> Html:
    """Return what was sampled or not run as a list that a reader may unfold."""
    items = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
    title = "Sampled or not run, and why"
    return Html(
        f'<details class="remarks"><summary>{title}</summary><ul>{items}</ul></details>',
        f"{title}:\n\n" + "".join(f"- {remark}\n" for remark in remarks),
    )


def _published_row(one: Published) -> Row:
    values = {key: Statistic(value, None, 1) for key, value in one.values.items()}
    return Row(f"{one.method}: {one.source}", values, published=True)


def _shows(one: Published, table: Table) -> bool:
    return any(COLUMNS[key] in table.columns for key in one.values)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _verdicts(compared: dict[str, Check]) -> Html:
    html, plain = [], []
    for sentence, check in compared.items():
        sign, kind = _SIGNS[check.verdict.split()[0]]
        html.append(f'<li class="{kind}">{sign} {escape(sentence)}</li>')
        plain.append(f"- {sign} {sentence}\n")
    return Html(f'<ul class="verdicts">{"".join(html)}</ul>', "".join(plain))
