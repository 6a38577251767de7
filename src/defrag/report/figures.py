"""Figures of studies: trade-offs, erasure, rare labels, group sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from defrag.report.columns import COLUMNS
from defrag.report.comparison import cost_plots, rare_plot
from defrag.report.plots import Series, bars, lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from defrag.experiments.summary import Result
    from defrag.report.plots import Plot

__all__ = ["FIGURES"]

_SIZE = ", d0 = "
_TRADED = ("learn_cpu", "train_cpu", "predict_ms", "model_bytes", "dimension")
_SPLIT = ("cluster_cpu", "dimension")


def _by_size(
    results: Sequence[Result], keys: Sequence[str], title: str, metric: str = "P@3"
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


def tradeoff(results: Sequence[Result]) -> list[Plot]:
    """Return the trade-off figures of the paper: P@3 against five costs."""
    return _by_size(results, _TRADED, "")


def split(results: Sequence[Result]) -> list[Plot]:
    """Return the figures on k-means and nDCG splits."""
    return _by_size(results, _SPLIT, " of two splits")


def erasure(results: Sequence[Result]) -> list[Plot]:
    """Return precision against the fraction of missing features."""
    plots = []
    for metric in ("P@1", "P@3", "P@5"):
        series = []
        for result in results:
            found = [r["erasure"] for r in result.records if r["status"] == "done"]
            if found:
                shares = [100 * share for share in found[0]["shares"]]
                means = [
                    sum(values) / len(values)
                    for values in zip(*(one[metric] for one in found), strict=True)
                ]
                series.append(Series(result.method, shares, means))
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
        done = [r for r in result.records if r["status"] == "done" and r.get("groups")]
        if done and len(series) < most:
            counts = [0.0] * len(names)
            for size, count in done[0]["groups"]["sizes"].items():
                counts[sum(int(size) > limit for limit in limits)] += count
            series.append(Series(result.method, [], counts))
    if not series:
        return []
    return [bars(f"{results[0].data}: sizes of groups", "Groups by their number of features.",
                 series, names, ("features in a group", "groups"))]  # fmt: skip


FIGURES: dict[str, Callable[[Sequence[Result]], list[Plot]]] = {
    "cost": cost_plots,
    "rare": rare_plot,
    "tradeoff": tradeoff,
    "split": split,
    "erasure": erasure,
    "sizes": sizes,
}
"""Kinds of figures by their names in studies."""
