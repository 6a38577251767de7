"""Tables of ``defrag demo``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from defrag.io.datasets import Dataset
    from defrag.lab.demo import Example
    from defrag.lab.records import Result

__all__ = ["best_table", "clustering_table", "erasure_table", "example_table"]

# The signs are needed where there is no colour.
_RIGHT, _WRONG = ("+", "green"), ("-", "red")


def clustering_table(data: Dataset, rows: list[dict[str, Any]]) -> Table:
    """Return the table of groupings of features."""
    X, Y = data.train.X, data.train.Y
    table = Table(
        title=f"{X.shape[0]:,} Debian packages, {X.shape[1]:,} words, {Y.shape[1]:,} labels",
        caption="Words are put into groups, and each group counts as one word.\n"
        "LMI: fraction of the mutual information between words and labels that is lost.\n"
        "Balance: largest group divided by smallest.",
    )
    table.add_column("method")
    for name in ("groups", "CPU s", "LMI", "balance", "words per\npackage", "groups per\npackage"):
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


def best_table(winners: dict[str, str]) -> Table:
    """Return the table of the best method by each measure."""
    table = Table(title="Best method by measure", show_header=False)
    for question, answer in winners.items():
        table.add_row(question, Text(answer))
    return table


def erasure_table(results: Sequence[Result]) -> Table:
    """Return the table of P@1 on points with missing features."""
    tried = [(result.method, result.records[0].get("erasure")) for result in results]
    found = [(name, erasure) for name, erasure in tried if erasure]
    table = Table(title="P@1 when words are missing from test packages")
    table.add_column("method")
    for share in found[0][1]["shares"] if found else ():
        table.add_column(f"{share:.0%} missing", justify="right")
    for name, erasure in found:
        table.add_row(name, *(f"{value:.1f}" for value in erasure["P@1"]))
    return table


def example_table(examples: Sequence[Example], method: str) -> Table:
    """Return the table of packages and their predicted labels."""
    table = Table(
        title=f"Dependencies predicted by {method}",
        caption=f"{_RIGHT[0]} right, {_WRONG[0]} wrong; packages are shown by their main words.",
        show_lines=True,
    )
    table.add_column("package")
    table.add_column("predicted dependencies, best first")
    table.add_column("the first because of")
    for one in examples:
        predicted = Text()
        for name, right in zip(one.predicted, one.right, strict=True):
            sign, colour = _RIGHT if right else _WRONG
            predicted.append(f"{sign}{name} ", style=colour)
        table.add_row(Text(" ".join(one.words)), predicted, Text(", ".join(one.because)))
    return table
