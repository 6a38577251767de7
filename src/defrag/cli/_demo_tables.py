"""Tables of the demonstration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from defrag.io.datasets import Dataset

__all__ = ["accuracy_table", "clustering_table", "example_table"]

_DEPTHS = (1, 3, 5)
# The signs are readable without colour.
_RIGHT, _WRONG = ("+", "green"), ("-", "red")


def clustering_table(data: Dataset, rows: list[dict[str, Any]]) -> Table:
    """Return the table of groupings of features."""
    X, Y = data.train.X, data.train.Y
    table = Table(
        title=f"{X.shape[0]:,} Debian packages, {X.shape[1]:,} words, {Y.shape[1]:,} labels",
        caption="LMI: fraction of the mutual information of words and labels that is lost.\n"
        "Balance: largest group divided by smallest.",
    )
    table.add_column("method")
    for name in ("K", "CPU s", "LMI", "balance", "non-zeros\nbefore", "non-zeros\nafter"):
        table.add_column(name, justify="right")
    for row in rows:
        _, groups, seconds, loss, balanced, before, after = row.values()
        table.add_row(
            row["method"],
            f"{groups:,}",
            f"{seconds:.2f}",
            f"{loss:.1%}",
            f"{balanced:.2f}",
            f"{before:.1f}",
            f"{after:.1f}",
        )
    return table


def accuracy_table(rows: list[dict[str, Any]], n_trees: int) -> Table:
    """Return the table of classifiers."""
    members = "one tree" if n_trees == 1 else f"{n_trees} trees"
    table = Table(
        title=f"Classifiers of {members} each on test packages",
        caption="P: precision of the top 1, 3, 5 labels, in percent.\n"
        "PSP: propensity-scored precision, which weights rare labels more.",
        padding=(0, 0),
    )
    table.add_column("method")
    names = [f"{metric}@{k}" for metric in ("P", "PSP") for k in _DEPTHS]
    for name in (*names, "train s", "predict s", "MB"):
        table.add_column(name.replace("@", "\n@").replace(" ", "\n"), justify="right")
    for row in rows:
        table.add_row(
            row["method"],
            *(f"{row[name]:.1f}" for name in names),
            f"{row['training seconds']:.1f}",
            f"{row['prediction seconds']:.2f}",
            f"{row['bytes'] / 1e6:.1f}",
        )
    return table


def example_table(rows: list[dict[str, Any]], method: str) -> Table:
    """Return the table of packages and their predicted labels."""
    table = Table(
        title=f"Dependencies predicted by {method}",
        caption=f"{_RIGHT[0]} right, {_WRONG[0]} wrong; packages are shown by their main words.",
        show_lines=True,
    )
    table.add_column("package")
    table.add_column("predicted dependencies, best first")
    for row in rows:
        predicted = Text()
        for name, right in zip(row["predicted"], row["right"], strict=True):
            sign, colour = _RIGHT if right else _WRONG
            predicted.append(f"{sign}{name} ", style=colour)
        table.add_row(Text(" ".join(row["words"])), predicted)
    return table
