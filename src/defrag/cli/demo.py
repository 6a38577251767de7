"""``defrag demo``: train a model of texts on the bundled data (:mod:`defrag.lab.demo`)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from defrag._progress import escaped
from defrag.cli._console import JsonFlag, examples, print_json, print_message
from defrag.cli._data import check_report_path
from defrag.cli._flags import option
from defrag.cli.compare import command_line, write_text
from defrag.lab.demo import demo_page, example_table, run_demo, table_of_models
from defrag.specs import NONE

HELP = (
    "Train a model of texts on the bundled data and write a report.\n\n"
    "The texts are descriptions of Debian packages, and their labels the packages they depend on. "
    "The demo trains models on more and more of them, measures each on other packages, explains "
    "some of its answers and writes an HTML page. It takes less than a minute."
) + examples(
    "defrag demo",
    "defrag demo --quick --seed 7",
    "defrag demo --report none --json",
)

_TASK = "The task: from the description of a Debian package, predict what it depends on."
_NEXT = "The same on your texts: defrag train docs.jsonl model.safetensors"


def demo(
    *,
    random_state: Annotated[int, option("Seed.", names="--random-state --seed")] = 0,
    n_jobs: Annotated[int, "Number of threads; -1 for all."] = -1,
    quick: Annotated[bool, "Use part of the data; takes seconds."] = False,
    report: Annotated[str, "The HTML page to write, or none.", "FILE"] = "defrag-demo.html",
    as_json: JsonFlag = False,
) -> None:
    """Train a model of texts on the bundled data."""
    if report != NONE:
        check_report_path(Path(report))
    if not as_json:
        typer.echo(_TASK)
    made = run_demo(quick=quick, random_state=random_state, n_jobs=n_jobs, say=print_message)
    if report != NONE:
        write_text(report, demo_page(made, command=command_line()).to_html)
    if as_json:
        print_json({"models": made.numbers, "examples": [asdict(one) for one in made.examples]})
        return
    console = Console()
    console.print(table_of_models(made).to_rich())
    console.print(example_table(made.examples))
    typer.echo(_NEXT)
    if report != NONE:
        typer.echo(f"report: {escaped(str(Path(report).resolve()))}")
