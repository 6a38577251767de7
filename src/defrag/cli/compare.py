"""``defrag compare``: train, evaluate and compare methods on a user's data.

The flags about runs and reports are shared by ``reproduce``.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from defrag._progress import escaped
from defrag.cli._console import JsonFlag, examples, print_json, print_message
from defrag.cli._data import PropensityA, PropensityB, Reading, check_targets
from defrag.cli._flags import File, argument, option, refuse_flags
from defrag.io import LabelledTexts, Split
from defrag.io.files import atomic_writer, display_name
from defrag.io.points import read_names
from defrag.lab.comparison import ACCURACY, comparison_page
from defrag.lab.corpus import Corpus, corpus_of_texts, split_by_order
from defrag.lab.page import Page, Table, table_of
from defrag.lab.records import Job, Store, collect
from defrag.lab.runs import Messages, predicted, run_all
from defrag.lab.studies import combine, suited
from defrag.metrics import read_any_predictions
from defrag.specs import NONE, describe_foreign, foreign_class

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
    "defrag compare old.jsonl new.jsonl --agglomerate none --order-by date",
    "defrag compare train.txt test.txt --rerank none,identity --impute none,blend --json",
    "defrag compare train.txt test.txt --classifier label-tree --classifier mine.methods:Mine",
    "defrag compare train.txt test.txt --predictions omikuji=omikuji.txt --latex table.tex",
)

_COLUMNS = ("P@1", "P@3", "P@5", "PSP@5", "train_cpu", "predict_ms", "model_bytes")


RecordsFlag = Annotated[str, "Folder for the records of runs.", "FOLDER"]
RetryFlag = Annotated[bool, option("Repeat failed runs.", names="--retry")]
WorkersFlag = Annotated[int, option("Number of concurrent runs.", min=1)]

DEFAULT_RECORDS = "defrag-records"
"""Default of :data:`RecordsFlag`."""

MESSAGES = Messages(print_message, lambda text: typer.echo(f"warning: {escaped(text)}", err=True))


@dataclass(frozen=True)
class Reports:
    """Where reports are written."""

    report: Annotated[File, "Write the report as one HTML page."] = None
    csv: Annotated[File, "Write the first table as CSV."] = None
    latex: Annotated[File, "Write the first table as LaTeX."] = None
    markdown: Annotated[File, "Write the report as Markdown."] = None

    def write(self, page: Callable[[], Page]) -> None:
        """Write a page as HTML, as Markdown or both, where a path is given."""
        if any(path is not None for path in vars(self).values()):
            made = page()
            table = next(b for one in made.sections for b in one.blocks if isinstance(b, Table))
            write_text(self.csv, table.to_csv)
            write_text(self.latex, table.to_latex)
            write_text(self.report, made.to_html)
            write_text(self.markdown, made.to_markdown)

    def tell(self) -> None:
        """Print where the report is."""
        if self.report is not None:
            typer.echo(f"report: {escaped(str(Path(self.report).resolve()))}")


def compare(
    *,
    train: Annotated[str, argument("TRAIN", "Training data.")],
    test: Annotated[str, argument("TEST", "Test data.")],
    classifier: Annotated[
        list[str] | None,
        option(
            "A classifier, as in 'defrag train', or package.module:Class with fit(X, Y); may "
            "be repeated.",
            "WORD[:PARAMETER=VALUE,...]",
            show_default="label-tree",
        ),
    ] = None,
    agglomerate: Annotated[
        str, "Treatments of features, separated by commas: none, focus, hybrid, x, xy, ..."
    ] = "none,focus",
    rerank: Annotated[str, "Re-rankings, separated by commas: none, identity, ..."] = NONE,
    impute: Annotated[str, "Imputations, separated by commas: none, blend, ..."] = NONE,
    predictions: Annotated[
        list[str] | None,
        "Predictions of any program for TEST: ids, names, JSON lines or npz; may be repeated.",
        "NAME=FILE",
    ] = None,
    seeds: Annotated[int, option("Number of seeds: 0, 1, ...", min=1)] = 3,
    reports: Reports,
    records: RecordsFlag = DEFAULT_RECORDS,
    limit: Annotated[float | None, option("Time limit of a run, in seconds.", min=0.0)] = None,
    retry: RetryFlag = False,
    n_jobs: Annotated[int, option("Number of threads of each run.", min=1)] = 1,
    workers: WorkersFlag = 1,
    train_labels: Annotated[File, "Labels of TRAIN, if it has features only."] = None,
    test_labels: Annotated[File, "Labels of TEST, if it has features only."] = None,
    label_names: Annotated[File, "Names of labels for the report, one per line."] = None,
    a: PropensityA = None,
    b: PropensityB = None,
    order_by: Annotated[
        str | None,
        option(
            "A column or key, such as date: of all texts, the last ones become the test.", "TEXT"
        ),
    ] = None,
    reading: Reading,
    as_json: JsonFlag = False,
) -> None:
    """Train, evaluate and compare methods."""
    given = {"TRAIN": train, "TEST": test, "--label-names": label_names}
    of_labels = {"--train-labels": train_labels, "--test-labels": test_labels}
    outputs = {f"--{name}": path for name, path in vars(reports).items()}
    check_targets(outputs, {**given, **of_labels})
    if predictions and order_by:
        raise ValueError("--predictions are those of TEST, which --order-by replaces")
    sys.path.insert(0, "")  # for classes in the current folder
    words = classifier or ["label-tree"]
    foreign = {word: one for word in words if (one := foreign_class(word)) is not None}
    own = [word for word in words if word not in foreign]
    methods = [(name, describe_foreign(model)) for name, model in foreign.values()]
    if own:
        combined = combine(own, _words(agglomerate), _words(rerank), _words(impute))
        methods = [*combined.items(), *methods]
    store = Store(records)
    labels = (train_labels, test_labels)
    corpus, names = read_corpus((train, test), labels, label_names, reading, order_by)
    facts = corpus.with_constants(a, b).facts
    measures = ("ranking", "rare", "labels")
    jobs = [
        Job(name, facts, suited(spec, facts.name, facts.constants), seed, n_jobs, measures)
        for name, spec in methods
        for seed in range(seeds)
    ]
    runs = run_all(
        jobs, corpus, store, messages=MESSAGES, limit=limit, retry=retry, workers=workers
    )
    results = collect((job.method, job.data.name, record) for job, record in runs)
    for text in predictions or ():
        name, _, path = text.partition("=")
        if not name or not path:
            raise ValueError(f"--predictions must be NAME=FILE, got {text!r}")
        results.append(predicted(name, read_any_predictions(path, **reading.checks), corpus, names))
    title = f"Methods compared on {corpus.facts.name}"
    reports.write(lambda: comparison_page(title, results, command_line(), names))
    if as_json:
        table = table_of("", results, ACCURACY)
        print_json({"data": asdict(corpus.facts), "methods": table.to_json()})
        return
    Console().print(table_of(corpus.facts.name, results, _COLUMNS, clear=True).to_rich())
    reports.tell()


def read_corpus(
    paths: tuple[str, str],
    labels: tuple[str | None, str | None],
    label_names: str | None,
    reading: Reading,
    order_by: str | None = None,
) -> tuple[Corpus, list[str] | None]:
    """Return the training and test points of two files, and the names of their labels, if any."""
    train, test = paths
    forms = [reading.texts_form(path) for path in paths]
    if (forms[0] is None) != (forms[1] is None):
        texts, matrix = (train, test) if forms[0] is not None else (test, train)
        raise ValueError(f"{display_name(texts)} has texts, but {display_name(matrix)} a matrix")
    name = Path(train).name
    if forms[0] is not None and forms[1] is not None:
        halves = [
            reading.texts(path, form, of_labels, label_names, required=True)
            for path, form, of_labels in zip(paths, (forms[0], forms[1]), labels, strict=True)
        ]
        if order_by is not None:
            halves = _ordered(paths, halves, order_by, reading)
            name = f"{name} by {order_by}"
        return corpus_of_texts(name, *halves)
    refuse_flags("with matrices", {"--order-by": order_by})
    first = _read_matrix(train, labels[0], reading)
    sizes = {"n_features": first.X.shape[1], "n_labels": first.Y.shape[1]}
    corpus = Corpus(name, first, _read_matrix(test, labels[1], reading, **sizes))
    if label_names is None:
        return corpus, None
    return corpus, read_names(label_names, first.Y.shape[1], "name", "label")


def _ordered(
    paths: tuple[str, str], halves: list[LabelledTexts], order_by: str, reading: Reading
) -> list[LabelledTexts]:
    """Return texts divided by a column, and print how many labels of the later ones are new."""
    # The column is read as a label of each text.
    by_column = replace(reading, labels_column=order_by, label_separator="none")
    keys: list[list[str]] = []
    for path in paths:
        form = by_column.texts_form(path)  # refuses formats without columns
        keys += by_column.texts(path, form or "jsonl", required=True).labels or []
    train, test = split_by_order(halves[0], halves[1], keys)
    known = set(chain(*train.labels or ()))
    given = list(chain(*test.labels or ()))
    new = sum(label not in known for label in given) / max(1, len(given))
    print_message(f"{new:.1%} of the labels of the last {len(test.texts):,} texts are new then")
    return [train, test]


def _read_matrix(path: str, labels: str | None, reading: Reading, **sizes: int) -> Split:
    found = reading.points(path, labels, **sizes)
    if found.Y is None:
        raise ValueError(f"{display_name(path)}: has no labels")
    return Split(found.X, found.Y)


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


def command_line() -> str:
    """Return the current command line."""
    return shlex.join(["defrag", *sys.argv[1:]])


def write_text(path: str | None, content: Callable[[], str]) -> None:
    """Write a text file atomically, if a path is given."""
    if path is not None:
        with atomic_writer(path) as file:
            file.write(content().encode())
