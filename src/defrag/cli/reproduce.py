"""``defrag reproduce``: reproduce tables and figures of the paper."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from defrag._progress import escaped
from defrag.cli._console import JsonFlag, examples, print_json
from defrag.cli._flags import argument, option
from defrag.cli.compare import (
    DEFAULT_RECORDS,
    MESSAGES,
    RecordsFlag,
    Reports,
    RetryFlag,
    WorkersFlag,
    command_line,
)
from defrag.io.datasets import REPOSITORY
from defrag.lab.peers import PEERS_PYTHON
from defrag.lab.planning import Settings, plan_studies, run_studies
from defrag.lab.records import Store
from defrag.lab.results import (
    Findings,
    checks,
    study_page,
    study_tables,
    write_pages,
    write_records,
)
from defrag.lab.runs import Interrupted
from defrag.lab.studies import STUDIES, Study
from defrag.specs import NONE

ALL = "all"

_WITHIN = "80"

HELP = (
    "Reproduce tables and figures of the paper, and show published numbers beside ours.\n\n"
    + "\n\n".join(f"{study.name}: {study.title}." for study in STUDIES.values())
    + "\n\nall: everything above.\n\nRuns are recorded: a recorded run is not repeated, and "
    "interrupted work resumes where it stopped. A classifier whose estimated time exceeds the "
    "budget is trained on a quarter of the points or left out. A run that takes four times the "
    "budget is stopped. The paper's own tables come first, cheap runs before others, and none is "
    "started after the minutes of --within. After Ctrl-C, the tables and the report have what is "
    "done. The output lists what is missing. --only also takes the other data sets of the paper: "
    f"{', '.join(name for name in REPOSITORY if name != 'eurlex-4k')}."
) + examples(
    "defrag reproduce table2 --data DIR --report table2.html",
    "defrag reproduce erasure --only debian --seeds 3",
    "defrag reproduce all --data DIR --plan",
    "defrag reproduce all --data DIR --budget none --report all.html",
)


def reproduce(
    *,
    name: Annotated[str, argument("NAME", f"One of {', '.join(STUDIES)} or {ALL}.")],
    data: Annotated[
        str | None, option("Folder with the data sets.", "DIR", show_default="DEFRAG_DATA")
    ] = None,
    only: Annotated[list[str] | None, "Only this data set; may be repeated.", "DATA"] = None,
    seeds: Annotated[
        int | None, option("Number of seeds.", min=1, show_default="of the study")
    ] = None,
    budget: Annotated[str, "Budget of one run in CPU seconds, or none.", "SECONDS"] = "120",
    within: Annotated[
        str,
        option(
            "Minutes after which no run is started, or none.",
            "MINUTES",
            show_default="80, none without a budget",
        ),
    ] = "",
    peers_python: Annotated[
        str | None,
        option(
            "Python interpreter with libpecos, omikuji and napkinxc.",
            "FILE",
            show_default="DEFRAG_PEERS_PYTHON or this one",
        ),
    ] = None,
    records: RecordsFlag = DEFAULT_RECORDS,
    reports: Reports,
    results: Annotated[
        str | None, "Write records and pages of results, as in the manual.", "FOLDER"
    ] = None,
    retry: RetryFlag = False,
    plan: Annotated[bool, "Print what would be run and how long it takes; run nothing."] = False,
    workers: WorkersFlag = 2,
    as_json: JsonFlag = False,
) -> None:
    """Reproduce tables and figures of the paper."""
    seconds = _number("--budget", "seconds", budget)
    minutes = _number("--within", "minutes", within or (NONE if seconds is None else _WITHIN))
    until = None if minutes is None else time.monotonic() + 60 * minutes
    studies = _studies(name)
    wanted = _data_sets(studies, only)
    if data is not None:
        if not Path(data).is_dir():
            raise NotADirectoryError(f"{data}: is not a folder")
        os.environ["DEFRAG_DATA"] = data
    if peers_python is not None:
        os.environ[PEERS_PYTHON] = peers_python
    store = Store(records)
    # A batch job reads them too.
    messages = replace(MESSAGES, say=lambda text: typer.echo(escaped(text), err=True))
    settings = Settings(store, seconds, seeds, until, retry, workers, messages)
    if plan:
        _show_plan(plan_studies(studies, wanted, settings), as_json=as_json)
        return
    interrupted = False
    try:
        findings = run_studies(studies, wanted, settings)
    except Interrupted as stopped:
        findings, interrupted = stopped.done, True
    reports.write(lambda: study_page(f"Reproduced: {name}", command_line(), findings))
    if results is not None and not interrupted:  # a part would replace what is there
        _write_results(Path(results), findings)
    if as_json:
        print_json({one.study.name: _to_json(one) for one in findings})
    else:
        _show(findings)
        reports.tell()
    if interrupted:
        raise KeyboardInterrupt


def _show_plan(planned: dict[str, Any], *, as_json: bool) -> None:
    """Print a plan: a line per study and data set, the minutes of all, and what is left out."""
    if as_json:
        print_json(planned)
        return
    table = Table("study", "data", "runs", "recorded", "too late", "minutes")
    for row in planned["rows"]:
        numbers = (row["runs"], row["recorded"], row["late"])
        table.add_row(row["study"], row["data"], *map(str, numbers), f"{row['minutes']:.1f}")
    Console().print(table)
    late = sum(row["late"] for row in planned["rows"])
    typer.echo(
        f"estimated minutes: {planned['minutes']:.0f}; not started within --within: {late} runs"
    )
    for row in planned["rows"]:
        if row["absent"]:
            typer.echo(f"too late, {row['study']} on {row['data']}: {'; '.join(row['absent'])}")
    for remark in planned["left_out"]:
        typer.echo(escaped(remark))


def _show(findings: list[Findings]) -> None:
    """Print tables, differences from published numbers, and remarks."""
    console = Console()
    for one in findings:
        for table in study_tables(one):
            console.print(table.to_rich())
        for check in checks(one.results):
            typer.echo(check.sentence())
        for remark in one.remarks:
            typer.echo(escaped(remark))


def _write_results(folder: Path, findings: list[Findings]) -> None:
    for one in findings:
        if one.results:
            write_records(folder, one)
    write_pages(folder)


def _to_json(findings: Findings) -> dict[str, Any]:
    tables = {table.title: table.to_json() for table in study_tables(findings)}
    return {"remarks": list(findings.remarks), "tables": tables}


def _studies(name: str) -> list[Study]:
    if name == ALL:
        return list(STUDIES.values())
    if name not in STUDIES:
        raise ValueError(f"NAME must be one of {', '.join(STUDIES)} or {ALL}, got {name!r}")
    return [STUDIES[name]]


def _data_sets(studies: list[Study], only: list[str] | None) -> list[str]:
    usual = list(dict.fromkeys(place for study in studies for place in study.data))
    named = dict.fromkeys(place for study in studies for place in study.further)
    known = [*usual, *(place for place in named if place not in usual)]
    for place in only or ():
        if place not in known:
            raise ValueError(f"--only must be one of {', '.join(known)}, got {place!r}")
    return [place for place in known if place in (only or usual)]


def _number(flag: str, unit: str, text: str) -> float | None:
    """Return a positive number, or None for the word none."""
    if text == NONE:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise ValueError(f"{flag} must be {unit} above 0 or {NONE}, got {text!r}")
    return number
