"""The page of a comparison: tables, the best method by measure, figures, and the runs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from defrag.report.by_label import label_plots, label_tables
from defrag.report.columns import COLUMNS
from defrag.report.page import Facts, Page, Section
from defrag.report.plots import NO_PLOTS, Series, bars, can_plot, lines
from defrag.report.table import Table, table_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.experiments.summary import Result, Statistic
    from defrag.report.by_label import Names
    from defrag.report.plots import Plot

__all__ = ["ACCURACY", "COST", "comparison_page", "cost_plots", "rare_plot", "run_facts", "winners"]

ACCURACY = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "coverage@1")
COST = ("train_cpu", "predict_ms", "model_bytes", "peak_memory", "dimension")

# With more series, the legend would be longer than the figure.
_MAX_SERIES = 12
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
    """Return the page of methods that were run on one corpus.

    Parameters
    ----------
    title : str
        Heading.
    results : sequence of Result
        The methods.
    command : str
        Command line that reproduces the page.
    names : sequence of str, optional
        Names of the labels.
    """
    accuracy = table_of(f"{results[0].data}: accuracy", results, ACCURACY)
    cost = table_of(f"{results[0].data}: cost", results, COST)
    plots = []
    if can_plot():
        plots = [*cost_plots(results), *rare_plot(results), *label_plots(results, names)]
    gains = label_tables(results, names)
    best = winners(accuracy)
    lead = f"{len(results)} methods on {results[0].data}. " + _headline(best)
    return Page(
        title,
        lead,
        [
            Section("Results", (), [accuracy, cost]),
            Section("Best method by measure", (), [Facts(best)]),
            *([Section("Labels that gain and lose", (), gains)] if gains else []),
            Section("Figures", () if can_plot() else [NO_PLOTS], (), plots),
            Section("What was run", (), [Facts({"command": command, **run_facts(results)})]),
        ],
    )


def winners(table: Table, without: Sequence[str] = ()) -> dict[str, str]:
    """Return the best methods by each measure, with their numbers.

    Parameters
    ----------
    table : Table
        The methods; columns that are not shown count too.
    without : sequence of str
        Keys of columns to ignore.
    """
    found = {}
    for key in [key for key in _QUESTIONS if key not in without]:
        column, question = COLUMNS[key], _QUESTIONS[key]
        places = sorted(table.best(column))
        if not places:
            continue
        shown = column.write(table.rows[places[0]].values[key].mean)
        names = "; ".join(table.rows[place].name for place in places)
        found[question] = f"{names}: {shown}"
    return found


def cost_plots(results: Sequence[Result]) -> list[Plot]:
    """Return precision against each cost, one point per method.

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
            variant = name.partition(", ")[2] or "all features"
            families.setdefault(variant if many else name, []).append((name, numbers))
        series = [
            Series(
                family,
                [_shown(numbers, key) for _, numbers in members],
                [numbers["P@1"].mean for _, numbers in members],
                [name for name, _ in members if many and ", " not in name],
            )
            for family, members in families.items()
        ]
        if series:
            title = f"{results[0].data}: P@1 against {COLUMNS[key].title}"
            axes = (COLUMNS[key].title, "P@1")
            plots.append(lines(title, caption, series, axes, log_x=True, joined=False))
    return plots


def rare_plot(results: Sequence[Result], most: int = 4) -> list[Plot]:
    """Return the precision of labels from frequent to rare, if it was measured.

    Parameters
    ----------
    results : sequence of Result
        The methods.
    most : int, default=4
        Number of methods drawn; with more, the bars would be too thin.
    """
    series, edges = [], [0]
    for result in results:
        found = [r["rare"] for r in result.records if r["status"] == "done" and r.get("rare")]
        if not found:
            continue
        edges = found[0]["edges"]
        columns = zip(*(one["precision"] for one in found), strict=True)
        means = [_mean(column) for column in columns]
        series.append(Series(result.method, [], means))
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
        facts[f"data {data['name']}"] = (
            f"{data['points']:,} training points, {data['test_points']:,} test points, "
            f"{data['features']:,} features, {data['labels']:,} labels "
            f"(fingerprint {data['fingerprint']})"
        )
    facts["runs"] = f"{len(records)}, of which {len(records) - len(done)} failed"
    facts["seeds"] = ", ".join(str(seed) for seed in sorted({r["seed"] for r in records}))
    facts["threads"] = _distinct(record["n_jobs"] for record in records)
    for key in ("versions", "machine"):
        facts[key] = _distinct(_described(record[key]) for record in done)
    programs = {record["estimator"]["estimator"]: record["version"]
                for record in done if "version" in record}  # fmt: skip
    if programs:
        facts["other programs"] = _described(programs)
    days = sorted({record["finished"][:10] for record in records})
    facts["measured"] = " to ".join(dict.fromkeys([days[0], days[-1]]))
    warnings = sorted({text for record in done for text in record.get("warnings", ())})
    if warnings:
        facts["warnings"] = "; ".join(warnings)
    return facts


def _headline(best: dict[str, str]) -> str:
    """Return a sentence with the highest precision."""
    precision = next((value for name, value in best.items() if "(P@1)" in name), None)
    return "" if precision is None else f"The highest P@1: {precision}."


def _shown(numbers: dict[str, Statistic], key: str) -> float:
    return numbers[key].mean * COLUMNS[key].scale


def _described(values: dict[str, Any]) -> str:
    words = {name: f"{value / 2**30:.0f} GB" if name == "memory" else value
             for name, value in values.items()}  # fmt: skip
    return ", ".join(f"{name} {value}" for name, value in words.items())


def _distinct(values: Any) -> str:
    return "; ".join(dict.fromkeys(str(value) for value in values))


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 0.0
