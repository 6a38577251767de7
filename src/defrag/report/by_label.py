"""The labels that gain and lose most from one method to another, as tables and figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from defrag.experiments.summary import Statistic
from defrag.report.columns import Column
from defrag.report.plots import Series, bars
from defrag.report.table import Row, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from defrag.experiments.summary import Result
    from defrag.report.plots import Plot

    Names = Sequence[str] | NDArray[Any] | None

__all__ = ["Change", "changes", "label_plots", "label_tables"]

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

    Attributes
    ----------
    label : int
        Id of the label.
    points : int
        Number of test points that have it.
    before, after : float
        Percentage of these points that have it among their best five.
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

    Parameters
    ----------
    base, other : Result
        Two methods on one corpus; hits are summed over their seeds.
    most : int, default=6
        Maximum number of labels of each kind.
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
    ]  # fmt: skip
    found.sort(key=lambda one: (-one.difference, one.label))
    gains = [one for one in found[:most] if one.difference > 0]
    losses = [one for one in found[-most:] if one.difference < 0]
    return gains + losses


def label_tables(results: Sequence[Result], names: Names = None) -> list[Table]:
    """Return a table of gains and losses of each method against the first one.

    Parameters
    ----------
    results : sequence of Result
        Methods on one corpus; those without counts by label are skipped.
    names : sequence of str, optional
        Names of the labels.
    """
    tables = []
    for other in results[1:]:
        rows = [
            Row(_name(one.label, names), {
                "label_points": Statistic(one.points, None, 1),
                "label_before": Statistic(one.before, None, 1),
                "label_after": Statistic(one.after, None, 1),
                "label_change": Statistic(one.difference, None, 1),
            })
            for one in changes(results[0], other)
        ]  # fmt: skip
        if rows:
            title = f"{other.data}: labels that gain and lose most, {_versus(results[0], other)}"
            tables.append(Table(title, _COLUMNS, rows, "label"))
    return tables


def label_plots(results: Sequence[Result], names: Names = None, most: int = 3) -> list[Plot]:
    """Return gains and losses as bars, for the first few methods."""
    plots: list[Plot] = []
    for other in results[1:]:
        found = changes(results[0], other)
        if found and len(plots) < most:
            plots.append(
                bars(
                    f"{other.data}: gains and losses by label, {_versus(results[0], other)}",
                    "Change of recall@5 of the labels that gain and lose most.",
                    [Series(other.method, [], [one.difference for one in found])],
                    [_name(one.label, names) for one in found],
                    ("label", "change of recall@5"),
                )
            )
    return plots


def _hits(result: Result) -> dict[str, Any] | None:
    """Return the sum of the hits of all runs."""
    found = [r["labels"] for r in result.records if r["status"] == "done" and r.get("labels")]
    if not found:
        return None
    hits = [sum(values) for values in zip(*(one["hits"] for one in found), strict=True)]
    return {**found[0], "hits": hits, "runs": len(found)}


def _versus(base: Result, other: Result) -> str:
    return f"{other.method} against {base.method}"


def _name(label: int, names: Names) -> str:
    return f"label {label}" if names is None else str(names[label])
