"""Flags, runs with messages, and reports: shared by the verbs that run experiments."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from defrag._progress import progress_pulse
from defrag.cli._console import escaped, print_message
from defrag.io.files import atomic_writer
from defrag.lab.runs import NOT_RUN, UNKEPT, is_stored, run_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from defrag.lab.corpus import Corpus
    from defrag.lab.page import Page
    from defrag.lab.records import Job, Record, Store

__all__ = [
    "DEFAULT_RECORDS",
    "MarkdownFlag",
    "RecordsFlag",
    "ReportFlag",
    "RetryFlag",
    "WorkersFlag",
    "command_line",
    "run_with_messages",
    "write_report",
    "write_text",
]

ReportFlag = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write the report as one HTML page.")
]
MarkdownFlag = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write the report as Markdown.")
]
RecordsFlag = Annotated[str, typer.Option(metavar="FOLDER", help="Folder for the records of runs.")]
RetryFlag = Annotated[bool, typer.Option("--retry", help="Repeat failed runs.")]
WorkersFlag = Annotated[int, typer.Option(min=1, help="Number of concurrent runs.")]

DEFAULT_RECORDS = "defrag-records"
"""Default of :data:`RecordsFlag`."""


def run_with_messages(
    jobs: list[Job],
    corpus: Corpus | Sequence[Corpus],
    store: Store,
    *,
    limit: float | None,
    retry: bool,
    workers: int,
    until: float | None = None,
) -> list[tuple[Job, Record]]:
    """Run jobs and print messages about progress, known records and failures."""
    pairs = []
    known = sum(is_stored(job, store, limit=limit, retry=retry) for job in jobs)
    print_message(f"{len(jobs)} runs, {known} of them in {store.folder} already")
    outdated = store.n_outdated()
    if outdated:
        _warn(
            f"{outdated} records in {store.folder} were made by other code of defrag: they are not "
            "used, and their runs are run again"
        )
    running = run_jobs(jobs, corpus, store, limit=limit, retry=retry, workers=workers, until=until)
    for place, job in enumerate(jobs, 1):
        name = f"{job.method} on {job.data.name}, seed {job.seed}"
        with progress_pulse(f"[{place}/{len(jobs)}] {name}"):
            pair = next(running)
        pairs.append(pair)
        record = pair[1]
        if UNKEPT in record:
            _warn(f"the record of {name} could not be written: {record[UNKEPT]}")
        if record["status"] == "done":
            print_message(
                f"[{place}/{len(jobs)}] {name}: "
                f"P@1 {record['metrics'].get('P@1', float('nan')):.2f}, "
                f"training {record['training']['cpu']:.1f} s"
            )
        elif record["status"] != NOT_RUN:
            _warn(f"{name} failed: {record['error']}")
    return pairs


def _warn(text: str) -> None:
    typer.echo(f"warning: {escaped(text)}", err=True)


def command_line() -> str:
    """Return the current command line."""
    return shlex.join(["defrag", *sys.argv[1:]])


def write_report(report: str | None, markdown: str | None, page: Callable[[], Page]) -> None:
    """Write a page as HTML, as Markdown or both, where a path is given."""
    if report is not None or markdown is not None:
        made = page()
        write_text(report, made.to_html)
        write_text(markdown, made.to_markdown)


def write_text(path: str | None, content: Callable[[], str]) -> None:
    """Write a text file atomically, if a path is given."""
    if path is not None:
        with atomic_writer(path) as file:
            file.write(content().encode())
