"""``defrag compare``: train, evaluate and compare methods on a user's data."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from defrag._progress import progress_pulse
from defrag.cli._console import JsonFlag, escaped, examples, print_json, print_message
from defrag.cli._corpora import AnyFromFlag, corpus_flags
from defrag.cli._data import BaseFlag, StrictFlag, TruncatedFlag  # noqa: TC001 - read by typer
from defrag.cli._halves import read_halves
from defrag.cli._targets import check_targets
from defrag.experiments import Corpus, Job, Store
from defrag.experiments.methods import NONE, combine
from defrag.experiments.runner import NOT_RUN, is_stored, run_jobs
from defrag.experiments.summary import collect
from defrag.io.atomic import atomic_writer
from defrag.io.corpora import CorpusOptions  # noqa: TC001 - read by corpus_flags
from defrag.report.comparison import ACCURACY, comparison_page
from defrag.report.table import table_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from defrag.experiments.store import Record

__all__ = ["HELP", "WorkersFlag", "command_line", "compare", "run_and_tell", "write_text"]

HELP = (
    "Train, evaluate and compare methods on your data: matrices, or texts with label names.\n\n"
    "Every classifier is trained with every grouping of features, re-ranking and imputation that "
    "is listed, once per seed, each run in a process of its own. Runs are kept as records in a "
    "folder: a run that is there is not run again, and an interrupted comparison continues where "
    "it was. A classifier may have parameters: label-tree:n_trees=3,preset=fast."
) + examples(
    "defrag compare train.txt test.txt",
    "defrag compare train.txt test.txt --classifier label-tree --classifier dismec:C=2",
    "defrag compare train.txt test.txt --agglomerate none,x,xy,hybrid --seeds 3 --report out.html",
    "defrag compare train.jsonl test.jsonl --agglomerate none --seeds 3",
    "defrag compare train.txt test.txt --rerank none,identity --impute none,blend --json",
)

WorkersFlag = Annotated[int, typer.Option(min=1, help="Number of runs at a time.")]

_COLUMNS = ("P@1", "P@3", "P@5", "PSP@5", "train_cpu", "predict_ms", "model_bytes")


@corpus_flags
def compare(
    *,
    train: Annotated[str, typer.Argument(metavar="TRAIN", help="Training data.")],
    test: Annotated[str, typer.Argument(metavar="TEST", help="Test data.")],
    classifier: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD[:PARAMETER=VALUE,...]",
            help="A classifier, as in 'defrag train'; may be repeated.",
            show_default="label-tree",
        ),
    ] = None,
    agglomerate: Annotated[
        str,
        typer.Option(
            help="What is done to features, separated by commas: none, focus, hybrid, x, xy, ..."
        ),
    ] = "none,focus",
    rerank: Annotated[
        str, typer.Option(help="Re-rankings, separated by commas: none, identity, ...")
    ] = NONE,
    impute: Annotated[
        str, typer.Option(help="Imputations, separated by commas: none, blend, ...")
    ] = NONE,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds: 0, 1, ...")] = 1,
    report: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the report as one HTML page.")
    ] = None,
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the report as Markdown.")
    ] = None,
    records: Annotated[
        str, typer.Option(metavar="FOLDER", help="Where the records of runs are kept.")
    ] = "defrag-records",
    limit: Annotated[
        float | None, typer.Option(min=0.0, help="Seconds after which a run is ended.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run again what has failed.")] = False,
    n_jobs: Annotated[int, typer.Option(min=1, help="Number of threads of each run.")] = 1,
    workers: WorkersFlag = 1,
    train_labels: Annotated[
        str | None, typer.Option(metavar="FILE", help="Labels of TRAIN, if it has features only.")
    ] = None,
    test_labels: Annotated[
        str | None, typer.Option(metavar="FILE", help="Labels of TEST, if it has features only.")
    ] = None,
    options: CorpusOptions,
    form: AnyFromFlag = None,
    zero_based: BaseFlag = None,
    strict: StrictFlag = False,
    allow_truncated: TruncatedFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Train, evaluate and compare methods."""
    check_targets(
        {"--report": report, "--markdown": markdown},
        {
            "TRAIN": train,
            "TEST": test,
            "--train-labels": train_labels,
            "--test-labels": test_labels,
        },
    )
    methods = combine(
        classifier or ["label-tree"], _words(agglomerate), _words(rerank), _words(impute)
    )
    store = Store(records)
    halves = read_halves(
        train,
        test,
        train_labels=train_labels,
        test_labels=test_labels,
        form=form,
        options=options,
        zero_based=zero_based,
        strict=strict,
        allow_truncated=allow_truncated,
    )
    corpus = Corpus(Path(train).name, *halves)
    jobs = [
        Job(method.name, corpus.facts, method.spec, seed, n_jobs, ("ranking", "rare"))
        for method in methods
        for seed in range(seeds)
    ]
    pairs = run_and_tell(jobs, corpus, store, limit=limit, retry=retry, workers=workers)
    results = collect(pairs)
    if report is not None or markdown is not None:
        page = comparison_page(f"Methods compared on {corpus.facts.name}", results, command_line())
        write_text(report, page.to_html)
        write_text(markdown, page.to_markdown)
    if as_json:
        table = table_of("", results, ACCURACY)
        print_json({"data": corpus.facts.to_json(), "methods": table.to_json()})
        return
    Console().print(table_of(corpus.facts.name, results, _COLUMNS).to_rich())
    if report is not None:
        typer.echo(f"report: {escaped(str(Path(report).resolve()))}")


def run_and_tell(
    jobs: list[Job],
    corpus: Corpus,
    store: Store,
    *,
    limit: float | None,
    retry: bool,
    workers: int,
    until: float | None = None,
) -> list[tuple[Job, Record]]:
    """Run jobs and print on a terminal what is run, what is known and what fails."""
    pairs = []
    to_run = [job for job in jobs if not is_stored(job, store, limit=limit, retry=retry)]
    print_message(f"{len(jobs)} runs, {len(jobs) - len(to_run)} of them in {store.folder} already")
    running = run_jobs(jobs, corpus, store, limit=limit, retry=retry, workers=workers, until=until)
    for place, job in enumerate(jobs, 1):
        with progress_pulse(f"[{place}/{len(jobs)}] {job.method}, seed {job.seed}"):
            pair = next(running)
        pairs.append(pair)
        record = pair[1]
        if record["status"] == "done":
            print_message(
                f"[{place}/{len(jobs)}] {job.method}, seed {job.seed}: "
                f"P@1 {record['metrics'].get('P@1', float('nan')):.2f}, "
                f"training {record['training']['cpu']:.1f} s"
            )
        elif record["status"] != NOT_RUN:
            text = f"{job.method}, seed {job.seed} failed: {record['error']}"
            typer.echo(f"warning: {escaped(text)}", err=True)
    return pairs


def command_line() -> str:
    """Return the command line that is running."""
    return shlex.join(["defrag", *sys.argv[1:]])


def write_text(path: str | None, content: Callable[[], str]) -> None:
    """Write a text file whole or not at all, if there is a path."""
    if path is not None:
        with atomic_writer(path) as file:
            file.write(content().encode())


def _words(text: str) -> list[str]:
    """Return the words between commas; a comma after a colon belongs to parameters."""
    words: list[str] = []
    for part in text.split(","):
        if words and ":" in words[-1] and "=" in part and ":" not in part:
            words[-1] += f",{part}"
        elif part.strip():
            words.append(part.strip())
    if not words:
        raise ValueError(f"expected words separated by commas, got {text!r}")
    return words
