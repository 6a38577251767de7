"""Columns of tables: title, number format, and whether larger or smaller is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["COLUMNS", "Column"]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    key : str
        Name of the number in :func:`defrag.experiments.summary.values_of`.
    title : str
        Heading.
    digits : int
        Number of decimals.
    best : {"most", "least"}, optional
        Whether larger or smaller values are better, if either.
    scale : float, default=1
        Factor applied to a number before it is formatted.
    meaning : str
        One sentence for the legend.
    short : str
        Heading on a terminal, if the title is too wide for it.
    """

    key: str
    title: str
    digits: int
    best: Literal["most", "least"] | None
    scale: float = 1.0
    meaning: str = ""
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
    *_metric("coverage", "Coverage: labels found for at least one test point, in percent."),
    Column("train_cpu", "training, s", 2, "least", 1.0, "Times are CPU seconds of one thread.",
           short="train s"),
    Column("learn_cpu", "classifier, s", 2, "least", 1.0, "Classifier: without the clustering.",
           short="learn s"),
    Column("cluster_cpu", "clustering, s", 2, "least", short="cluster s"),
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
