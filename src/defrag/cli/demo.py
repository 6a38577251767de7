"""``defrag demo``: the methods side by side on the data that ship with the package."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from defrag.cli._console import JsonFlag, examples, print_json
from defrag.cli.cluster import PRESETS, Preset
from defrag.io import load_dataset
from defrag.metrics import balance, loss_of_mutual_information
from defrag.progress import progress_pulse

if TYPE_CHECKING:
    from defrag.io.datasets import Dataset

__all__ = ["HELP", "demo"]

HELP = (
    "Agglomerate the bundled data with each method and compare.\n\n"
    "The data are Debian packages: the words of their descriptions, and the packages they "
    "need. Takes less than half a minute."
) + examples("defrag demo", "defrag demo --max-cluster-size 16 --n-jobs -1", "defrag demo --json")

_NAMES = {
    Preset.x: "DEFRAG-X",
    Preset.xy: "DEFRAG-XY",
    Preset.n: "DEFRAG-N",
    Preset.hybrid: "Hybrid",
}


def demo(
    *,
    max_cluster_size: Annotated[int, typer.Option(help="The most features in a group.")] = 8,
    random_state: Annotated[int, typer.Option("--random-state", "--seed", help="Seed.")] = 0,
    n_jobs: Annotated[int, typer.Option(help="Threads; -1 for all.")] = -1,
    as_json: JsonFlag = False,
) -> None:
    """Agglomerate the bundled data with each method and compare."""
    with progress_pulse("loading the bundled data"):
        data = load_dataset("debian")
    settings = {
        "max_cluster_size": max_cluster_size,
        "random_state": random_state,
        "n_jobs": n_jobs,
    }
    rows = [_measure(preset, data, settings) for preset in Preset]
    if as_json:
        print_json({"data": data.name, "methods": rows})
    else:
        Console().print(_table(data, rows))


def _measure(preset: Preset, data: Dataset, settings: dict[str, Any]) -> dict[str, Any]:
    kind, fixed = PRESETS[preset]
    X, Y = data.train.X, data.train.Y
    begin = time.process_time()
    method = kind(**fixed, **settings, verbose=1).fit(X, Y)
    small = method.transform(X)
    seconds = time.process_time() - begin
    with progress_pulse(f"information of {_NAMES[preset]}"):
        loss = loss_of_mutual_information(X, Y, method.labels_)
    return {
        "method": _NAMES[preset],
        "groups": method.n_clusters_,
        "cpu seconds": seconds,
        "loss of mutual information": loss,
        "balance": balance(method.labels_, method.n_clusters_),
        "non-zeros per point before": X.nnz / X.shape[0],
        "non-zeros per point after": small.nnz / X.shape[0],
    }


def _table(data: Dataset, rows: list[dict[str, Any]]) -> Table:
    X, Y = data.train.X, data.train.Y
    table = Table(
        title=f"{X.shape[0]:,} Debian packages, {X.shape[1]:,} words, {Y.shape[1]:,} labels",
        caption="LMI: share of the words' information about labels that the groups lose.\n"
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
