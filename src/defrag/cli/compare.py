"""``defrag compare``: train, evaluate and compare methods on a user's data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from defrag.cli._console import JsonFlag, escaped, examples, print_json
from defrag.cli._corpora import AnyFromFlag, corpus_flags
from defrag.cli._data import BaseFlag, StrictFlag, TruncatedFlag  # noqa: TC001 - read by typer
from defrag.cli._experiments import (
    DEFAULT_RECORDS,
    MarkdownFlag,
    RecordsFlag,
    ReportFlag,
    RetryFlag,
    WorkersFlag,
    command_line,
    run_with_messages,
    write_report,
)
from defrag.cli._outputs import check_targets
from defrag.cli._train_test import read_train_test
from defrag.io.documents import CorpusOptions  # noqa: TC001 - read by corpus_flags
from defrag.lab.comparison import ACCURACY, comparison_page
from defrag.lab.corpus import Corpus
from defrag.lab.records import Job, Store, collect
from defrag.lab.studies import combine
from defrag.lab.tables import table_of
from defrag.specs import NONE

__all__ = ["HELP", "compare"]

HELP = (
    "Train, evaluate and compare methods on your data: matrices, or texts with label names.\n\n"
    "Every classifier is trained with every listed grouping of features, re-ranking and "
    "imputation, once per seed, each run in its own process. Runs are recorded in a folder: a "
    "recorded run is not repeated, and an interrupted comparison resumes where it stopped. A "
    "classifier may have parameters: label-tree:n_trees=3,preset=fast."
) + examples(
    "defrag compare train.txt test.txt",
    "defrag compare train.txt test.txt --classifier label-tree --classifier dismec:C=2",
    "defrag compare train.txt test.txt --agglomerate none,x,xy,hybrid --seeds 3 --report out.html",
    "defrag compare train.jsonl test.jsonl --agglomerate none --seeds 3",
    "defrag compare train.txt test.txt --rerank none,identity --impute none,blend --json",
)

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
            help="Treatments of features, separated by commas: none, focus, hybrid, x, xy, ..."
        ),
    ] = "none,focus",
    rerank: Annotated[
        str, typer.Option(help="Re-rankings, separated by commas: none, identity, ...")
    ] = NONE,
    impute: Annotated[
        str, typer.Option(help="Imputations, separated by commas: none, blend, ...")
    ] = NONE,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds: 0, 1, ...")] = 1,
    report: ReportFlag = None,
    markdown: MarkdownFlag = None,
    records: RecordsFlag = DEFAULT_RECORDS,
    limit: Annotated[
        float | None, typer.Option(min=0.0, help="Time limit of a run, in seconds.")
    ] = None,
    retry: RetryFlag = False,
    n_jobs: Annotated[int, typer.Option(min=1, help="Number of threads of each run.")] = 1,
    workers: WorkersFlag = 1,
    train_labels: Annotated[
        str | None, typer.Option(metavar="FILE", help="Labels of TRAIN, if it has features only.")
    ] = None,
    test_labels: Annotated[
        str | None, typer.Option(metavar="FILE", help="Labels of TEST, if it has features only.")
    ] = None,
    label_names: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Names of labels for the report, one per line."),
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
            "--label-names": label_names,
        },
    )
    methods = combine(
        classifier or ["label-tree"], _words(agglomerate), _words(rerank), _words(impute)
    )
    store = Store(records)
    halves = read_train_test(
        train,
        test,
        train_labels=train_labels,
        test_labels=test_labels,
        label_names=label_names,
        form=form,
        options=options,
        zero_based=zero_based,
        strict=strict,
        allow_truncated=allow_truncated,
    )
    corpus = Corpus(Path(train).name, halves.train, halves.test)
    jobs = [
        Job(method.name, corpus.facts, method.spec, seed, n_jobs, ("ranking", "rare", "labels"))
        for method in methods
        for seed in range(seeds)
    ]
    pairs = run_with_messages(jobs, corpus, store, limit=limit, retry=retry, workers=workers)
    results = collect(pairs)
    title = f"Methods compared on {corpus.facts.name}"
    write_report(
        report,
        markdown,
        lambda: comparison_page(title, results, command_line(), halves.label_names),
    )
    if as_json:
        table = table_of("", results, ACCURACY)
        print_json({"data": corpus.facts.to_json(), "methods": table.to_json()})
        return
    Console().print(table_of(corpus.facts.name, results, _COLUMNS).to_rich())
    if report is not None:
        typer.echo(f"report: {escaped(str(Path(report).resolve()))}")


def _words(text: str) -> list[str]:
    """Split at commas, except those between the parameters after a colon."""
    words: list[str] = []
    for part in text.split(","):
        if words and ":" in words[-1] and "=" in part and ":" not in part:
            words[-1] += f",{part}"
        elif part.strip():
            words.append(part.strip())
    if not words:
        raise ValueError(f"expected words separated by commas, got {text!r}")
    return words
