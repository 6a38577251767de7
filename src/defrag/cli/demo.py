"""``defrag demo``: compare the methods on the bundled data."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console

from defrag._progress import progress_pulse
from defrag.cli._console import JsonFlag, escaped, examples, print_json, print_message
from defrag.cli._demo_tables import best_table, clustering_table, erasure_table, example_table
from defrag.cli._experiments import command_line, write_text
from defrag.cli._models import PRESETS, Preset
from defrag.cli._outputs import check_report_path
from defrag.io import load_dataset
from defrag.io.datasets import Split
from defrag.lab.comparison import winners
from defrag.lab.corpus import Corpus
from defrag.lab.demo import Example, demo_page
from defrag.lab.records import Job, Result
from defrag.lab.runs import attempt, now
from defrag.lab.studies import Line
from defrag.lab.tables import table_of
from defrag.metrics import balance, loss_of_mutual_information
from defrag.specs import FOCUS

if TYPE_CHECKING:
    from defrag.agglomeration import Defrag
    from defrag.io.datasets import Dataset
    from defrag.lab.runs import Attempt
    from defrag.typing import Ids

__all__ = ["HELP", "demo"]

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

_NAMES = {
    Preset.x: "DEFRAG-X",
    Preset.xy: "DEFRAG-XY",
    Preset.n: "DEFRAG-N",
    Preset.hybrid: "Hybrid",
}
_NO_REPORT = "none"
_TASK = "The task: from the words that describe a Debian package, predict what it depends on."
_NEXT = "The same on your data: defrag compare TRAIN TEST --report FILE"
_PLAIN, _GROUPED, _SHOWN = "LabelTree", "LabelTree, DEFRAG-X", "LabelTree, Focus"
_QUICK_TRAIN, _QUICK_TEST = 4000, 1000
_SHARES = (0.0, 0.4, 0.8)
_N_EXAMPLES, _N_WORDS, _N_GROUPS = 10, 4, 8
_COLUMNS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@5", "train_wall", "predict_ms", "model_bytes")


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
    if report != _NO_REPORT:
        check_report_path(Path(report))
    with progress_pulse("loading the bundled data"):
        data = load_dataset("debian")
    if quick:
        data = _slice(data)
    settings = {"random_state": random_state, "n_jobs": n_jobs}
    console = Console()
    pooled = {"max_cluster_size": max_cluster_size, **settings}
    if not as_json:
        typer.echo(_TASK)
    groups = [_measure_groups(preset, data, pooled) for preset in Preset]
    if not as_json:
        console.print(clustering_table(data, groups))
    corpus = Corpus(data.name, data.train, data.test)
    results, models = [], {}
    for line, measures in _lines(max_cluster_size, n_trees):
        result, made = _run(line, measures, corpus, settings)
        results.append(result)
        if line.name in {_GROUPED, _SHOWN}:
            models[line.name] = made
    table = table_of("Methods compared on test packages", results, _COLUMNS)
    shown = _examples(data, models[_SHOWN], random_state)
    if report != _NO_REPORT:
        page = demo_page(results, _sample_groups(data, models[_GROUPED], random_state), shown,
                         shown_method=_SHOWN, command=command_line(),
                         label_names=data.label_names)  # fmt: skip
        write_text(report, page.to_html)
    if as_json:
        print_json({"data": data.name, "methods": groups, "classifiers": table.to_json(),
                    "examples": [asdict(one) for one in shown]})  # fmt: skip
        return
    console.print(table.to_rich())
    console.print(best_table(winners(table, ["peak_memory"])))
    console.print(erasure_table(results))
    console.print(example_table(shown, _SHOWN))
    typer.echo(_NEXT)
    if report != _NO_REPORT:
        typer.echo(f"report: {escaped(str(Path(report).resolve()))}")


def _lines(max_cluster_size: int, n_trees: int) -> list[tuple[Line, tuple[str, ...]]]:
    """Return the methods to compare, each with its additional measures."""
    tree, size = f"label-tree:n_trees={n_trees}", f"max_cluster_size={max_cluster_size}"
    return [
        (Line("Parabel", f"parabel:n_trees={n_trees}"), ("rare",)),
        (Line(_PLAIN, tree), ("rare", "labels", "erasure")),
        (Line(_SHOWN, tree, FOCUS), ("rare", "labels")),
        (Line(_GROUPED, tree, f"defrag:{size}"), ("groups",)),
        (Line("LabelTree, DEFRAG-XY", tree, f"defrag:representation=xy,{size}"), ("groups",)),
        (Line("LabelTree, Hybrid", tree, f"hybrid:{size}"), ("groups",)),
        (Line("LabelTree, REFRAG", tree, rerank="identity:max_loss=1.5"), ("rare", "labels")),
        (Line("LabelTree, FIAT", tree, impute="blend"), ("erasure",)),
    ]


def _run(
    line: Line, measures: tuple[str, ...], corpus: Corpus, settings: dict[str, int]
) -> tuple[Result, Attempt]:
    """Train and measure a method in this process, with progress bars."""
    print_message(line.name)
    method = line.method()
    job = Job(line.name, corpus.facts, method.spec, settings["random_state"],
              settings["n_jobs"], ("ranking", *measures)).to_json()  # fmt: skip
    begin = time.perf_counter()
    made = attempt({**job, "shares": _SHARES}, corpus.train, corpus.test)
    record = {**job, **made[0], "finished": now()}
    print_message(f"{line.name}: {time.perf_counter() - begin:.1f} s")
    return Result(line.name, corpus.facts.name, [record]), made


def _slice(data: Dataset) -> Dataset:
    train, test = data.train, data.test
    return replace(
        data,
        train=Split(train.X[:_QUICK_TRAIN], train.Y[:_QUICK_TRAIN]),
        test=Split(test.X[:_QUICK_TEST], test.Y[:_QUICK_TEST]),
    )


def _measure_groups(preset: Preset, data: Dataset, settings: dict[str, Any]) -> dict[str, Any]:
    X, Y = data.train.X, data.train.Y
    kind, fixed = PRESETS[preset]
    begin = time.process_time()
    method: Defrag = kind(**fixed, **settings, verbose=1).fit(X, Y)
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


def _sample_groups(data: Dataset, made: Attempt, seed: int) -> list[list[str]]:
    """Return the words of some groups without rare words."""
    model = made[1]
    if model is None:
        return []
    groups: Ids = model.members_[0][0].labels_
    seen = np.bincount(data.train.X.indices, minlength=len(groups))
    least = np.full(int(groups.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, groups[groups >= 0], seen[groups >= 0])
    sizes = np.bincount(groups[groups >= 0], minlength=len(least))
    known = np.flatnonzero((sizes >= 3) & (least >= np.quantile(least, 0.9)))
    chosen = np.sort(np.random.default_rng(seed).permutation(known)[:_N_GROUPS])
    return [
        [_name(data.feature_names, word) for word in np.flatnonzero(groups == group).tolist()]
        for group in chosen
    ]


def _examples(data: Dataset, made: Attempt, seed: int) -> list[Example]:
    """Return some labelled test points with their main words and predictions."""
    _, model, found = made
    if model is None:
        return []
    X, Y = data.test.X, data.test.Y
    labelled = np.flatnonzero(np.diff(Y.indptr))
    chosen = np.random.default_rng(seed).permutation(labelled)[:_N_EXAMPLES]
    result = []
    for row in np.sort(chosen):
        words = X.indices[X.indptr[row] : X.indptr[row + 1]]
        weights = X.data[X.indptr[row] : X.indptr[row + 1]]
        true = set(Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist())
        heaviest = words[np.argsort(-weights, kind="stable")[:_N_WORDS]]
        labels = [label for label in found[0][row].tolist() if label >= 0]
        reasons = model.explain(X[[row]], labels[0]).top(_N_WORDS) if labels else []
        result.append(
            Example(
                [_name(data.feature_names, word) for word in heaviest],
                [_name(data.label_names, label) for label in labels],
                [label in true for label in labels],
                [_name(data.feature_names, one.feature) for one in reasons if one.contribution > 0],
                len(true),
            )
        )
    return result


def _name(names: Any, number: int) -> str:
    return str(number) if names is None else str(names[number])
