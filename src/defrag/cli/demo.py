"""``defrag demo``: compare the methods on the bundled data (:mod:`defrag.lab.demo`)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from defrag._progress import escaped, progress_pulse
from defrag.cli._console import JsonFlag, examples, print_json, print_message
from defrag.cli._data import check_report_path
from defrag.cli.compare import command_line, write_text
from defrag.lab.comparison import winners
from defrag.lab.demo import (
    COLUMNS,
    best_table,
    clustering_table,
    demo_data,
    demo_page,
    erasure_table,
    example_table,
    measure_groups,
    run_methods,
)
from defrag.lab.page import table_of
from defrag.specs import NONE

HELP = (
    "Compare the methods on the bundled data and write a report.\n\n"
    "The data are Debian packages: the words of their descriptions, and the packages they "
    "depend on. The demo groups words, trains classifiers on all words and on groups, re-ranks "
    "labels in favour of rare ones, imputes missing words, shows some predictions and writes an "
    "HTML page. It takes less than two minutes."
) + examples(
    "defrag demo",
    "defrag demo --quick",
    "defrag demo --max-cluster-size 16 --n-trees 3 --seed 7",
    "defrag demo --report none --json",
)

_TASK = "The task: from the words that describe a Debian package, predict what it depends on."
_NEXT = "The same on your data: defrag compare TRAIN TEST --report FILE"


def demo(
    *,
    max_cluster_size: Annotated[
        int, typer.Option(min=1, help="Maximum number of features in a group.")
    ] = 8,
    n_trees: Annotated[int, typer.Option(min=1, help="Number of trees.")] = 2,
    random_state: Annotated[int, typer.Option("--random-state", "--seed", help="Seed.")] = 0,
    n_jobs: Annotated[int, typer.Option(help="Number of threads; -1 for all.")] = -1,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use part of the data; takes seconds.")
    ] = False,
    report: Annotated[
        str, typer.Option(metavar="FILE", help="The HTML page to write, or none.")
    ] = "defrag-demo.html",
    as_json: JsonFlag = False,
) -> None:
    """Compare the methods on the bundled data."""
    if report != NONE:
        check_report_path(Path(report))
    with progress_pulse("loading the bundled data"):
        data = demo_data(quick=quick)
    console = Console()
    settings = {
        "max_cluster_size": max_cluster_size, "random_state": random_state, "n_jobs": n_jobs
    }  # fmt: skip
    if not as_json:
        typer.echo(_TASK)
    groups = measure_groups(data, **settings)
    if not as_json:
        console.print(clustering_table(data, groups))
    trials = run_methods(data, **settings, n_trees=n_trees, say=print_message)
    table = table_of("Methods compared on test packages", trials.results, COLUMNS)
    if report != NONE:
        page = demo_page(trials, command=command_line(), label_names=data.label_names)
        write_text(report, page.to_html)
    if as_json:
        print_json({"data": data.name, "methods": groups, "classifiers": table.to_json(),
                    "examples": [asdict(one) for one in trials.examples]})  # fmt: skip
        return
    console.print(table.to_rich())
    console.print(best_table(winners(table, ["peak_memory"])))
    console.print(erasure_table(trials.results))
    console.print(example_table(trials.examples))
    typer.echo(_NEXT)
    if report != NONE:
        typer.echo(f"report: {escaped(str(Path(report).resolve()))}")
