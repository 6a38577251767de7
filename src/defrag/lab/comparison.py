"""The page of a comparison: tables, the best method by measure, figures, and the runs.

``defrag compare`` writes the page; ``results`` and ``demo`` use its parts, and studies name the
figures of ``FIGURES``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, pairwise
from statistics import fmean
from typing import Any

from numpy.typing import NDArray

from defrag.lab.page import COLUMNS, Column, Page, Row, Section, Table, listed, table_of
from defrag.lab.plots import NO_PLOTS, Plot, Series, bars, can_plot, lines
from defrag.lab.records import Result, Statistic, difference, single

Names = Sequence[str] | NDArray[Any] | None


ACCURACY = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "coverage@1")
COST = ("train_cpu", "predict_ms", "model_bytes", "peak_memory", "dimension")

# With more series, the legend would be longer than the figure.
_MAX_SERIES = 12
# Percentage points on the axis of precision, so that a tenth of a point does not look like much.
_LEAST_SPAN = 5.0
_COSTS = ("train_cpu", "predict_ms", "model_bytes")
_QUESTIONS = {
    "P@1": "first label right (P@1)",
    "P@5": "five labels right (P@5)",
    "PSP@3": "rare labels (PSP@3)",
    "train_cpu": "training time (CPU s)",
    "predict_ms": "prediction time (ms/point)",
    "model_bytes": "model size (MB)",
    "peak_memory": "peak memory (MB)",
}


def comparison_page(
    title: str, results: Sequence[Result], command: str, names: Names = None
) -> Page:
    """Return the page of methods that were run on one corpus; ``command`` reproduces it."""
    accuracy = table_of(f"{results[0].data}: accuracy", results, ACCURACY, clear=True)
    cost = table_of(f"{results[0].data}: cost", results, COST, clear=True)
    against = difference_table(results)
    plots = []
    if can_plot():
        plots = [*cost_plots(results), *rare_plot(results), *label_plots(results, names)]
    gains = label_tables(results, names)
    best = winners(accuracy)
    lead = f"{len(results)} methods on {results[0].data}. "
    if first := best.get(_QUESTIONS["P@1"]):
        lead += f"The highest P@1: {first}."
    return Page(
        title,
        lead,
        [
            Section("Results", (), [accuracy, *against, cost]),
            Section("Best method by measure", (), [listed(best)]),
            *([Section("Labels that gain and lose", (), gains)] if gains else []),
            Section("Figures", () if can_plot() else [NO_PLOTS], (), plots),
            Section("What was run", (), [listed({"command": command, **run_facts(results)})]),
        ],
    )


def difference_table(results: Sequence[Result]) -> list[Table]:
    """Return the table of differences to the first method, paired by seed, if there are any."""
    base, rows = results[0].statistics, []
    for other in results[1:]:
        shared = base.keys() & other.statistics.keys()
        gaps = {key: difference(other.statistics[key], base[key])
                for key in ACCURACY if key in shared}  # fmt: skip
        if found := {key: gap for key, gap in gaps.items() if gap is not None}:
            rows.append(Row(other.method, found))
    columns = [replace(COLUMNS[key], best=None, meaning="") for key in ACCURACY]
    columns[0] = replace(columns[0], meaning="±: standard error over seeds.")
    title = f"{results[0].data}: difference to {results[0].method}, the same seeds"
    return [Table(title, columns, rows)] if rows else []


def winners(table: Table) -> dict[str, str]:
    """Return the best methods by each measure, shown or not, with their numbers."""
    found = {}
    for key, question in _QUESTIONS.items():
        best = [table.rows[place] for place in sorted(table.best(COLUMNS[key]))]
        if best:
            shown = COLUMNS[key].write(best[0].values[key].mean)
            found[question] = f"{'; '.join(row.name for row in best)}: {shown}"
    return found


def cost_plots(results: Sequence[Result], *, front: bool = False) -> list[Plot]:
    """Return precision against each cost, one point per method.

    With ``front``, a line joins the methods that no other one beats in both.

    If there are many methods, those with the same variant (the part of a name after its first
    comma) share a series, and only methods without a variant are labelled.
    """
    measured = [(one.method, one.statistics) for one in results if "P@1" in one.statistics]
    many = len(measured) > _MAX_SERIES
    caption = "Up and to the left is better."
    if many:
        caption += " Methods on all features are labelled."
    plots = []
    for key in _COSTS:
        families: dict[str, list[tuple[str, dict[str, Statistic]]]] = {}
        for name, numbers in measured:
            if key not in numbers:  # predictions of another program
                continue
            variant = name.partition(", ")[2] or "all features"
            families.setdefault(variant if many else name, []).append((name, numbers))
        series = [
            Series(
                family,
                [numbers[key].mean * COLUMNS[key].scale for _, numbers in members],
                [numbers["P@1"].mean for _, numbers in members],
                [name for name, _ in members if many and ", " not in name],
            )
            for family, members in families.items()
        ]
        if front and series:
            best = _front([pair for one in series for pair in zip(one.x, one.y, strict=True)])
            x, y = zip(*best, strict=True)
            series.append(Series("not dominated", x, y, front=True))
        if series:
            title = f"{results[0].data}: P@1 against {COLUMNS[key].title}"
            axes = (COLUMNS[key].title, "P@1")
            axes_of: Any = {"log_x": True, "joined": False, "least_span": _LEAST_SPAN}
            plots.append(lines(title, caption, series, axes, **axes_of))
    return plots


def _front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points with the most precision at their cost, by cost."""
    found: list[tuple[float, float]] = []
    for cost, precision in sorted(points, key=lambda one: (one[0], -one[1])):
        if not found or precision > found[-1][1]:
            found.append((cost, precision))
    return found


def rare_plot(results: Sequence[Result], most: int = 4) -> list[Plot]:
    """Return the precision of labels from frequent to rare, if it was measured.

    Only the first ``most`` methods are drawn: with more, the bars would be too thin.
    """
    series, edges = [], [0]
    for result in results:
        if found := result.measured("rare"):
            edges = found[0]["edges"]
            columns = zip(*(one["precision"] for one in found), strict=True)
            known = [[value for value in column if value is not None] for column in columns]
            series.append(Series(result.method, [], [fmean(one or [0.0]) for one in known]))
    if not series:
        return []
    names = [f"{low}-{high}" for low, high in pairwise(edges)]
    caption = "Mean precision of the labels in each range, from frequent to rare."
    if len(series) > most:
        caption += f" The first {most} of {len(series)} methods."
    return [
        bars(f"{results[0].data}: macro precision at 1", caption, series[:most], names,
             ("labels by frequency, percent", "macro P@1")),
    ]  # fmt: skip


def run_facts(results: Sequence[Result]) -> dict[str, str]:
    """Return the data, seeds, versions and machines of runs."""
    records = [record for result in results for record in result.records]
    done = [record for record in records if record["status"] == "done"]
    facts: dict[str, str] = {}
    for record in records:
        data = record["data"]
        features = f"{data['features']:,} features, " if data["features"] else ""  # raw texts
        facts[f"data {data['name']}"] = (
            f"{data['points']:,} training points, {data['test_points']:,} test points, "
            f"{features}{data['labels']:,} labels (fingerprint {data['fingerprint']})"
        )
    facts["runs"] = f"{len(records)}, of which {len(records) - len(done)} failed"
    facts["seeds"] = ", ".join(str(seed) for seed in sorted({r["seed"] for r in records}))
    facts["threads"] = _distinct(record["n_jobs"] for record in records)
    for key in ("versions", "machine"):
        facts[key] = _distinct(_described(record[key]) for record in done)
    programs = {record["estimator"]["kind"]: record["version"]
                for record in done if "version" in record}  # fmt: skip
    if programs:
        facts["other programs"] = _described(programs)
    days = sorted(record["finished"][:10] for record in records)
    facts["measured"] = " to ".join(dict.fromkeys([days[0], days[-1]]))
    warnings = sorted({text for record in done for text in record.get("warnings", ())})
    if warnings:
        facts["warnings"] = "; ".join(warnings)
    return facts


def _described(values: dict[str, Any]) -> str:
    words = {name: f"{value / 2**30:.0f} GB" if name == "memory" else value
             for name, value in values.items()}  # fmt: skip
    return ", ".join(f"{name} {value}" for name, value in words.items())


def _distinct(values: Iterable[Any]) -> str:
    return "; ".join(dict.fromkeys(map(str, values)))


# --- The labels that gain and lose most from one method to another, as tables and figures.

LEAST_POINTS = 10
"""Test points of a label without which its gain is chance."""

N_SHOWN = 6
"""Number of gaining labels shown, and of losing labels."""

_COLUMNS = [
    Column("label_points", "test points", 0, None),
    Column("label_before", "recall@5 before", 1, None, 1.0,
           "Recall@5: test points with the label that have it among their best five, in percent."),
    Column("label_after", "recall@5 after", 1, None),
    Column("label_change", "change", 1, None),
]  # fmt: skip


@dataclass(frozen=True)
class Change:
    """The recall of a label with two methods.

    ``points`` is the number of test points that have it; ``before`` and ``after`` are the
    percentages of them that have it among their best five.
    """

    label: int
    points: int
    before: float
    after: float

    @property
    def difference(self) -> float:
        """``after`` minus ``before``."""
        return self.after - self.before


def changes(base: Result, other: Result, most: int = N_SHOWN) -> list[Change]:
    """Return the labels that gain most, best first, then those that lose most, worst last.

    Hits are summed over the seeds of a method; there are at most ``most`` labels of each kind.
    """
    first, second = _hits(base), _hits(other)
    if first is None or second is None or first["ids"] != second["ids"]:
        return []
    found = [
        Change(label, points, 100 * a / (points * first["runs"]),
               100 * b / (points * second["runs"]))
        for label, points, a, b in zip(
            first["ids"], first["points"], first["hits"], second["hits"], strict=True
        )
        if points >= LEAST_POINTS
    ]  # fmt: skip
    found.sort(key=lambda one: (-one.difference, one.label))
    gains = [one for one in found[:most] if one.difference > 0]
    losses = [one for one in found[-most:] if one.difference < 0]
    return gains + losses


def label_tables(results: Sequence[Result], names: Names = None) -> list[Table]:
    """Return a table of gains and losses of each method against the first one.

    Methods without counts by label are skipped.
    """
    tables = []
    for other, found in _changed(results):
        rows = [
            Row(_name(one.label, names), single({
                "label_points": one.points,
                "label_before": one.before,
                "label_after": one.after,
                "label_change": one.difference,
            }))
            for one in found
        ]  # fmt: skip
        title = f"{other.data}: labels that gain and lose most, {_versus(results[0], other)}"
        tables.append(Table(title, _COLUMNS, rows, "label"))
    return tables


def label_plots(results: Sequence[Result], names: Names = None, most: int = 3) -> list[Plot]:
    """Return gains and losses as bars, for the first few methods."""
    return [
        bars(
            f"{other.data}: gains and losses by label, {_versus(results[0], other)}",
            "Change of recall@5 of the labels that gain and lose most.",
            [Series(other.method, [], [one.difference for one in found])],
            [_name(one.label, names) for one in found],
            ("label", "change of recall@5"),
        )
        for other, found in islice(_changed(results), most)
    ]


def _changed(results: Sequence[Result]) -> Iterator[tuple[Result, list[Change]]]:
    """Yield the methods that gain or lose against the first one, with the labels."""
    for other in results[1:]:
        if found := changes(results[0], other):
            yield other, found


def _hits(result: Result) -> dict[str, Any] | None:
    """Return the sum of the hits of all runs."""
    found = result.measured("labels")
    if not found:
        return None
    hits = [sum(values) for values in zip(*(one["hits"] for one in found), strict=True)]
    return {**found[0], "hits": hits, "runs": len(found)}


def _versus(base: Result, other: Result) -> str:
    return f"{other.method} against {base.method}"


def _name(label: int, names: Names) -> str:
    return f"label {label}" if names is None else str(names[label])


# --- Figures of studies: trade-offs, erasure, rare labels, group sizes.

_SIZE = ", d0 = "
_TRADED = ("learn_cpu", "train_cpu", "predict_ms", "model_bytes", "dimension")
_SPLIT = ("cluster_cpu", "dimension")


def _by_size(
    results: Sequence[Result], *, keys: Sequence[str], title: str = "", metric: str = "P@3"
) -> list[Plot]:
    """Return one figure per cost, with a line through the group sizes of each variant."""
    families: dict[str, list[tuple[str, Result]]] = {}
    for result in results:
        name, _, size = result.method.partition(_SIZE)
        families.setdefault(name, []).append((size, result))
    plots = []
    for key in keys:
        series = []
        for name, members in families.items():
            known = [(size, one.statistics) for size, one in members if metric in one.statistics]
            if known:
                x = [numbers[key].mean * COLUMNS[key].scale for _, numbers in known]
                series.append(
                    Series(name, x, [numbers[metric].mean for _, numbers in known],
                           [size for size, _ in known])
                )  # fmt: skip
        plots.append(
            lines(
                f"{results[0].data}: {metric} against {COLUMNS[key].title}{title}",
                "Numbers beside the points are the largest group sizes.",
                series,
                (COLUMNS[key].title, metric),
                log_x=True,
            )
        )
    return plots


def erasure(results: Sequence[Result]) -> list[Plot]:
    """Return precision against the fraction of missing features."""
    plots = []
    for metric in ("P@1", "P@3", "P@5"):
        series = []
        for result in results:
            if found := result.measured("erasure"):
                shares = [100 * share for share in found[0]["shares"]]
                columns = zip(*(one[metric] for one in found), strict=True)
                series.append(Series(result.method, shares, [fmean(one) for one in columns]))
        if series:
            plots.append(
                lines(
                    f"{results[0].data}: {metric} when features are missing",
                    "Higher is better.",
                    series,
                    ("features erased from test points, percent", metric),
                )
            )
    return plots


def sizes(results: Sequence[Result], most: int = 4) -> list[Plot]:
    """Return histograms of group sizes, for the first few methods."""
    series: list[Series] = []
    limits = [1, 2, 4, 8, 16, 32, 64]
    names = ["0-1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "more"]
    for result in results:
        groups = result.measured("groups")
        if groups and len(series) < most:
            counts = [0.0] * len(names)
            for size, count in groups[0]["sizes"].items():
                counts[bisect_left(limits, int(size))] += count
            series.append(Series(result.method, [], counts))
    if not series:
        return []
    return [bars(f"{results[0].data}: sizes of groups", "Groups by their number of features.",
                 series, names, ("features in a group", "groups"))]  # fmt: skip


FIGURES: dict[str, Callable[[Sequence[Result]], list[Plot]]] = {
    "cost": cost_plots,
    "pareto": partial(cost_plots, front=True),
    "rare": rare_plot,
    "tradeoff": partial(_by_size, keys=_TRADED),
    "split": partial(_by_size, keys=_SPLIT, title=" of two splits"),
    "erasure": erasure,
    "sizes": sizes,
}
"""Kinds of figures by their names in studies."""
