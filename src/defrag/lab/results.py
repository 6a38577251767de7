"""Pages of studies: those of ``defrag reproduce``, and those of the manual from committed records.

``tools/build_results.py`` and ``reproduce --results`` write the pages of the manual, the tables
inside its text, and its pictures; ``planning`` makes the findings of runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from defrag.io import load_dataset
from defrag.lab.claims import claims_table
from defrag.lab.comparison import FIGURES, Names, label_plots, label_tables, run_facts
from defrag.lab.corpus import place_of
from defrag.lab.page import COLUMNS, Column, Html, Page, Row, Section, Table, listed, table_of
from defrag.lab.peers import TEXT_PEERS
from defrag.lab.plots import NO_PLOTS, can_plot
from defrag.lab.published import PUBLISHED, Published
from defrag.lab.records import Record, Result, collect, read_records, single, summarised
from defrag.lab.studies import STUDIES, Study
from defrag.lab.texts import FREQUENCIES

# --- Results pages of the manual: written from committed records.

RECORDS = "records"
"""Folder of the records within the folder of results."""

_REMARKS = "remarks.json"


def findings_of(study: Study, records: Sequence[Record], remarks: Sequence[str] = ()) -> Findings:
    """Return the findings of a study from its records, in the order of the study."""
    order = {line.name: place for place, line in enumerate(study.lines)}
    results = collect((one["method"], one["data"]["name"], one) for one in records)
    data = [one.data for one in results]
    found = sorted(
        results, key=lambda one: (data.index(one.data), order.get(one.method, len(order)))
    )
    # Label names are available for the bundled data only.
    named = any(one.data == "debian" and one.records[0].get("labels") for one in found)
    names = {"debian": load_dataset("debian").label_names} if named else {}
    return Findings(study, found, remarks, names)


def results_page(study: Study, records: Sequence[Record], remarks: Sequence[str] = ()) -> str:
    """Return the page of a study as Markdown; the arguments are those of `findings_of`."""
    findings = findings_of(study, records, remarks)
    findings = replace(findings, remarks=_missing(findings))
    command = f"defrag reproduce {study.name} --data DIR"
    return study_page(study.title, command, [findings], figures=False).to_markdown()


def _missing(findings: Findings) -> list[str]:
    """Return what was sampled or not run, and why."""
    study, lines = findings.study, list(findings.remarks)
    for data in study.data:
        run = {one.method for one in findings.results if place_of(one.data) == data}
        missing = [line.name for line in study.lines
                   if line.name not in run and (not line.data or data in line.data)]  # fmt: skip
        if missing and not any(data in remark for remark in findings.remarks):
            lines.append(f"No record on {data}: {'; '.join(missing) if run else 'all methods'}.")
    return lines


def write_records(folder: Path, findings: Findings) -> None:
    """Write the records and the remarks of findings to the folder of results."""
    place = folder / RECORDS
    place.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({**record, "method": result.method}, sort_keys=True)
        for result in findings.results
        for record in result.records
    ]
    text = "".join(f"{line}\n" for line in lines)
    (place / f"{findings.study.name}.jsonl").write_text(text, encoding="utf-8")
    remarks = {**_remarks(folder), findings.study.name: list(findings.remarks)}
    text = json.dumps(remarks, indent=1, sort_keys=True, ensure_ascii=False)
    (place / _REMARKS).write_text(f"{text}\n", encoding="utf-8")


def write_pages(folder: Path) -> list[Path]:
    """Write the page of every study with records in the folder, and return the pages."""
    pages, remarks = [], _remarks(folder)
    for name, study in STUDIES.items():
        path = folder / RECORDS / f"{name}.jsonl"
        if path.exists():
            pages.append(folder / f"{name}.md")
            page = results_page(study, read_records(path), remarks.get(name, ()))
            pages[-1].write_text(page, encoding="utf-8")
    return pages


def _remarks(folder: Path) -> dict[str, list[str]]:
    """Return the remarks stored with the records, by study."""
    path = folder / RECORDS / _REMARKS
    found: dict[str, list[str]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


# --- Pages of studies, with tables, figures and published numbers.

Numbers = tuple[str, list[Column], list[Row]]
"""What is added to the title of a table, its columns and its rows."""

_SIGNS = {"within": ("✓", ""), "OUTSIDE": ("✗", "warning"), "no": ("·", "")}
"""Sign and CSS class of a verdict, by its first word."""


@dataclass(frozen=True)
class Findings:
    """All results of a study, remarks on what was left out, and names of labels by data set."""

    study: Study
    results: Sequence[Result]
    remarks: Sequence[str] = ()
    names: Mapping[str, Names] = field(default_factory=dict)

    def by_data(self) -> dict[str, list[Result]]:
        """Return the results on each data set."""
        found: dict[str, list[Result]] = {}
        for result in self.results:
            found.setdefault(result.data, []).append(result)
        return found

    def names_of(self, data: str) -> Names:
        """Return the names of the labels of a data set or of a sample of it, if they are known."""
        return self.names.get(place_of(data))


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
    for data, mine in findings.by_data().items():
        title = f"{findings.study.title}: {data}"
        plain = table_of(title, mine, findings.study.columns, clear=True)
        theirs = [one for one in PUBLISHED if one.data == data]
        rows = []
        for row in plain.rows:
            rows.append(row)
            rows += [_published_row(one) for one in theirs if one.method == row.name
                     and one.values.keys() & findings.study.columns]  # fmt: skip
        rows += [_published_row(one) for one in theirs if not one.method]
        tables.append(Table(plain.title, plain.columns, rows, clear=True))
        tables += [
            Table(f"{plain.title}, {title}", columns, list(numbers), clear=True)
            for title, columns, numbers in (by_share(mine), by_frequency(mine), by_texts(mine))
            if numbers
        ]
        tables += label_tables(mine, findings.names_of(data))
    return tables


def by_share(results: Sequence[Result]) -> Numbers:
    """Return P@1 by the fraction of missing features, if it was measured."""
    shares = next((run["shares"] for one in results for run in one.measured("erasure")), ())
    names = [f"{share:.0%}" for share in shares]
    columns = [Column(f"missing {name}", f"{name} missing", 1, "most") for name in names]
    return "P@1 when features are missing", columns, _curves(results, "erasure", "P@1", columns)


def by_frequency(results: Sequence[Result]) -> Numbers:
    """Return macro precision by the frequency of labels, if it was measured."""
    edges = next((run["edges"] for one in results for run in one.measured("rare")), ())
    columns = [Column(f"to {high}", f"{low}-{high}%", 1, "most") for low, high in pairwise(edges)]
    rows = _curves(results, "rare", "precision", columns)
    return "macro P@1 from frequent to rare labels", columns, rows


def _curves(results: Sequence[Result], name: str, key: str, columns: Sequence[Column]) -> list[Row]:
    """Return the curve of each method that has a measurement, the means over its runs."""
    rows = []
    for result in results:
        if runs := result.measured(name):
            points = zip(*(run[key] for run in runs), strict=True)
            known = [[value for value in point if value is not None] for point in points]
            pairs = zip(columns, known, strict=False)
            rows.append(Row(result.method, {one.key: summarised(k) for one, k in pairs if k}))
    return rows


def by_texts(results: Sequence[Result]) -> Numbers:
    """Return recall by the number of training texts of a label, and more, of runs on raw texts."""
    keys = ("P@3", "P@5", "R@50", *(f"R@5 {name}" for name in FREQUENCIES), "train_cpu")
    rows = [Row(one.method, one.statistics) for one in results if "R@50" in one.statistics]
    return "recall by training texts of a label", [COLUMNS[key] for key in keys], rows


def study_page(
    title: str, command: str, all_findings: Sequence[Findings], *, figures: bool = True
) -> Page:
    """Return the page of some studies; ``command`` reproduces it."""
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
    sections = [_section(findings, figures=figures) for findings in all_findings]
    if compared:
        sections.append(Section("Beside published numbers", (), [_verdicts(compared)]))
    if everything:
        facts = {"command": command, **run_facts(everything)}
        sections.append(Section("What was run", (), [listed(facts)]))
    return Page(title, lead, sections)


def _section(findings: Findings, *, figures: bool) -> Section:
    study = findings.study
    plots = []
    text = [study.text]
    for data, mine in findings.by_data().items():
        done = [result for result in mine if result.statistics]
        if done and figures and can_plot():
            plots += [plot for kind in study.figures for plot in FIGURES[kind](done)]
            plots += label_plots(done, findings.names_of(data))
    if study.figures and figures and not can_plot():
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
    name = f"{one.method}: {one.source}".removeprefix(": ")
    return Row(name, single(one.values), published=True)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _verdicts(compared: dict[str, Check]) -> Html:
    html, plain = [], []
    for sentence, check in compared.items():
        sign, kind = _SIGNS[check.verdict.split()[0]]
        html.append(f'<li class="{kind}">{sign} {escape(sentence)}</li>')
        plain.append(f"- {sign} {sentence}\n")
    return Html(f'<ul class="verdicts">{"".join(html)}</ul>', "".join(plain))


# --- Tables of committed records in Markdown files, between two comments.
#
#     <!-- records STUDY | DATA | COLUMNS | METHOD | METHOD ... -->
#     <!-- end of records -->
#
# ``COLUMNS`` are keys of ``COLUMNS`` separated by commas, or one of the words ``erasure`` and
# ``rare`` for the tables by missing features and by frequency.
# Without methods, all methods are shown. ``claims`` alone is the table of the paper's claims.

_BLOCK = re.compile(
    r"(?P<begin><!-- records (?P<what>[^>]*?) -->\n)(?P<old>.*?)(?P<end><!-- end of records -->)",
    re.DOTALL,
)
_SPECIAL = {"erasure": by_share, "rare": by_frequency}


def filled(text: str, folder: Path) -> str:
    """Return a Markdown text with every table between comments regenerated.

    - Raises ValueError if a comment names a study, a data set, a column or a method that has no
      record.
    """
    return _BLOCK.sub(
        lambda found: f"{found['begin']}\n{_content(found['what'], folder)}\n{found['end']}", text
    )


def _content(what: str, folder: Path) -> str:
    if what == "claims":
        return claims_table(folder / RECORDS)
    study_name, data, columns, *methods = (part.strip() for part in what.split(" | "))
    path = folder / RECORDS / f"{study_name}.jsonl"
    if study_name not in STUDIES or not path.exists():
        raise ValueError(f"records {what}: there are no records of {study_name!r}")
    results = findings_of(STUDIES[study_name], read_records(path)).by_data().get(data, [])
    known = {one.method: one for one in results}
    # A method that the study has since its last run is shown after the next one.
    lines = {line.name for line in STUDIES[study_name].lines}
    for method in methods:
        if method not in known and method not in lines:
            raise ValueError(f"records {what}: no record of {method!r} on {data!r}")
    chosen = [known[method] for method in methods if method in known] or results
    if not chosen:
        raise ValueError(f"records {what}: no record on {data!r}")
    if columns in _SPECIAL:
        _, heads, rows = _SPECIAL[columns](chosen)
        return Table(data, heads, rows, clear=True).to_markdown()
    return table_of(data, chosen, columns.split(","), clear=True).to_markdown()


# --- The picture of the README, from committed records.

_TEXTS = "eurlex57k"
_OURS = ("default", "three trees", "DiSMEC")


def picture_points(folder: Path) -> dict[str, list[float]]:
    """Return CPU seconds and nDCG@5 on EURLEX57K by method, ours, then others, the best first.

    Published numbers, which are the last, have no seconds.
    """
    records = read_records(folder / RECORDS / "texts.jsonl")
    found = {
        one.method: [one.statistics[key].mean for key in ("train_cpu", "nDCG@5")]
        for one in findings_of(STUDIES["texts"], records).results
        if one.data == _TEXTS and one.statistics
    }
    published = {one.source: [0.0, one.values["nDCG@5"]]
                 for one in PUBLISHED if (one.data, one.method) == (_TEXTS, "")}  # fmt: skip
    groups = (
        {f"defrag, {name}": found[name] for name in _OURS if name in found},
        {name: found[name] for name in TEXT_PEERS.values() if name in found},
        published,
    )
    return {name: numbers[name] for numbers in groups
            for name in sorted(numbers, key=lambda name: -numbers[name][1])}  # fmt: skip


def draw_picture(folder: Path) -> str:
    """Return bars as an SVG for light and dark pages, that lists its numbers in ``<desc>``."""
    points = picture_points(folder)
    slowest = max(seconds for seconds, _ in points.values())
    parts, y = [], 34
    for name, (seconds, gain) in points.items():
        colour = "--s1" if name.startswith("defrag") else "--s7" if seconds else "--quiet"
        gains, took = 190 * (gain - _LEAST) / (90.0 - _LEAST), 190 * seconds / slowest
        said = f"{seconds:,.0f} s" if seconds else "on a GPU"
        bar = f'y="{y - 12}" height="16" fill="var({colour})"'
        parts.append(
            f'<text x="262" y="{y}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="270" width="{gains:.1f}" {bar}/><text x="{276 + gains:.1f}" y="{y}">'
            f'{gain:.1f}</text><rect x="500" width="{took:.1f}" {bar}/>'
            f'<text x="{506 + took:.1f}" y="{y}">{said}</text>'
        )
        y += 22
    css = files("defrag.lab").joinpath("page.css").read_text(encoding="utf-8")
    style = "svg { font: 13px system-ui, sans-serif; } text { fill: var(--ink); }"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {y}" width="760" role="img">',
        "<title>nDCG@5 and training time on EURLEX57K</title>",
        f"<desc>{json.dumps(points)}</desc>",
        f"<style>{css.partition(chr(10) + '* {')[0]} {style}</style>",
        f'<text x="270" y="14">nDCG@5, bars from {_LEAST:.0f}</text>',
        '<text x="500" y="14">training, CPU seconds of one thread</text>',
        *parts, "</svg>\n",
    ])  # fmt: skip


_LEAST = 60.0
"""Where the bars of nDCG@5 begin."""
