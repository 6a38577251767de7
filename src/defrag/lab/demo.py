"""What ``defrag demo`` shows: groups of words, methods, missing words, and examples, as a page.

The command calls :func:`demo_data`, :func:`measure_groups` and :func:`run_methods`, prints the
tables and writes the page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from defrag._progress import progress_pulse
from defrag.io import Split, load_dataset
from defrag.lab.comparison import (
    ACCURACY,
    COST,
    FIGURES,
    cost_plots,
    label_plots,
    label_tables,
    rare_plot,
    run_facts,
    winners,
)
from defrag.lab.corpus import Corpus
from defrag.lab.page import Facts, Html, Page, Section, table_of
from defrag.lab.plots import NO_PLOTS, can_plot
from defrag.lab.records import Job, Result
from defrag.lab.runs import attempt, now
from defrag.lab.studies import Line
from defrag.metrics import balance, loss_of_mutual_information
from defrag.specs import FOCUS, VARIANTS

if TYPE_CHECKING:
    from defrag.io import Dataset
    from defrag.lab.comparison import Names
    from defrag.lab.runs import Attempt
    from defrag.typing import Ids


COLUMNS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@5", "train_wall", "predict_ms", "model_bytes")
"""Columns of the table of methods."""

SHOWN = "LabelTree, Focus"
"""The method whose predictions are shown."""

_PLAIN, _GROUPED = "LabelTree", "LabelTree, DEFRAG-X"
_QUICK_TRAIN, _QUICK_TEST = 4000, 1000
_SHARES = (0.0, 0.4, 0.8)
_N_EXAMPLES, _N_WORDS, _N_GROUPS = 10, 4, 8

# --- What is run.


@dataclass(frozen=True)
class Example:
    """A point with its best labels.

    ``words`` are its features with the largest values, ``predicted`` the names of the best labels,
    ``right`` which of them are true, ``because`` the features that contribute most to the score of
    the first one, and ``labels`` the number of true labels.
    """

    words: list[str]
    predicted: list[str]
    right: list[bool]
    because: list[str]
    labels: int


@dataclass(frozen=True)
class Trials:
    """Results of the methods, words of some groups, and points with predictions."""

    results: list[Result]
    groups: list[list[str]]
    examples: list[Example]


def demo_data(*, quick: bool) -> Dataset:
    """Return the bundled data, or part of them."""
    data = load_dataset("debian")
    if not quick:
        return data
    train, test = data.train, data.test
    return replace(
        data,
        train=Split(train.X[:_QUICK_TRAIN], train.Y[:_QUICK_TRAIN]),
        test=Split(test.X[:_QUICK_TEST], test.Y[:_QUICK_TEST]),
    )


def measure_groups(data: Dataset, **settings: Any) -> list[dict[str, Any]]:
    """Return sizes, cost and loss of each grouping of words; ``settings`` are its parameters."""
    X, Y = data.train.X, data.train.Y
    rows = []
    for variant in VARIANTS.values():
        begin = time.process_time()
        method = variant.kind(**variant.fixed, **settings, verbose=1).fit(X, Y)
        small = method.transform(X)
        seconds = time.process_time() - begin
        with progress_pulse(f"information of {variant.name}"):
            loss = loss_of_mutual_information(X, Y, method.labels_)
        rows.append({
            "method": variant.name,
            "groups": method.n_clusters_,
            "cpu seconds": seconds,
            "loss of mutual information": loss,
            "balance": balance(method.labels_, method.n_clusters_),
            "non-zeros per point before": X.nnz / X.shape[0],
            "non-zeros per point after": small.nnz / X.shape[0],
        })  # fmt: skip
    return rows


def run_methods(
    data: Dataset,
    *,
    max_cluster_size: int,
    n_trees: int,
    random_state: int,
    n_jobs: int,
    say: Callable[[str], None],
) -> Trials:
    """Train and measure every method; ``say`` is told which one, and how long it took."""
    corpus = Corpus(data.name, data.train, data.test)
    settings = {"random_state": random_state, "n_jobs": n_jobs}
    results, models = [], {}
    for line, measures in _methods(max_cluster_size, n_trees):
        result, models[line.name] = _run(line, measures, corpus, settings, say)
        results.append(result)
    return Trials(
        results,
        _sample_groups(data, models[_GROUPED], random_state),
        _examples(data, models[SHOWN], random_state),
    )


def _methods(max_cluster_size: int, n_trees: int) -> list[tuple[Line, tuple[str, ...]]]:
    """Return the methods to compare, each with its additional measures."""
    tree, size = f"label-tree:n_trees={n_trees}", f"max_cluster_size={max_cluster_size}"
    return [
        (Line("Parabel", f"parabel:n_trees={n_trees}"), ("rare",)),
        (Line(_PLAIN, tree), ("rare", "labels", "erasure")),
        (Line(SHOWN, tree, FOCUS), ("rare", "labels")),
        (Line(_GROUPED, tree, f"defrag:{size}"), ("groups",)),
        (Line("LabelTree, DEFRAG-XY", tree, f"defrag:representation=xy,{size}"), ("groups",)),
        (Line("LabelTree, Hybrid", tree, f"hybrid:{size}"), ("groups",)),
        (Line("LabelTree, REFRAG", tree, rerank="identity:max_loss=1.5"), ("rare", "labels")),
        (Line("LabelTree, FIAT", tree, impute="blend"), ("erasure",)),
    ]


def _run(
    line: Line,
    measures: tuple[str, ...],
    corpus: Corpus,
    settings: dict[str, int],
    say: Callable[[str], None],
) -> tuple[Result, Attempt]:
    """Train and measure a method in this process, with progress bars."""
    say(line.name)
    method = line.method()
    job = Job(line.name, corpus.facts, method.spec, settings["random_state"],
              settings["n_jobs"], ("ranking", *measures)).to_json()  # fmt: skip
    begin = time.perf_counter()
    made = attempt({**job, "shares": _SHARES}, corpus.train, corpus.test)
    record = {**job, **made[0], "finished": now()}
    say(f"{line.name}: {time.perf_counter() - begin:.1f} s")
    return Result(line.name, corpus.facts.name, [record]), made


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


# --- Tables on a terminal.

# The signs are needed where there is no colour.
_RIGHT, _WRONG = ("+", "green"), ("-", "red")


def clustering_table(data: Dataset, rows: list[dict[str, Any]]) -> Table:
    """Return the table of groupings of features."""
    X, Y = data.train.X, data.train.Y
    table = Table(
        title=f"{X.shape[0]:,} Debian packages, {X.shape[1]:,} words, {Y.shape[1]:,} labels",
        caption="Words are put into groups, and each group counts as one word.\n"
        "LMI: fraction of the mutual information between words and labels that is lost.\n"
        "Balance: largest group divided by smallest.",
    )
    table.add_column("method")
    for name in ("groups", "CPU s", "LMI", "balance", "words per\npackage", "groups per\npackage"):
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


def best_table(winners: dict[str, str]) -> Table:
    """Return the table of the best method by each measure."""
    table = Table(title="Best method by measure", show_header=False)
    for question, answer in winners.items():
        table.add_row(question, Text(answer))
    return table


def erasure_table(results: Sequence[Result]) -> Table:
    """Return the table of P@1 on points with missing features."""
    tried = [(result.method, result.records[0].get("erasure")) for result in results]
    found = [(name, erasure) for name, erasure in tried if erasure]
    table = Table(title="P@1 when words are missing from test packages")
    table.add_column("method")
    for share in found[0][1]["shares"] if found else ():
        table.add_column(f"{share:.0%} missing", justify="right")
    for name, erasure in found:
        table.add_row(name, *(f"{value:.1f}" for value in erasure["P@1"]))
    return table


def example_table(examples: Sequence[Example]) -> Table:
    """Return the table of packages and their predicted labels."""
    table = Table(
        title=f"Dependencies predicted by {SHOWN}",
        caption=f"{_RIGHT[0]} right, {_WRONG[0]} wrong; packages are shown by their main words.",
        show_lines=True,
    )
    table.add_column("package")
    table.add_column("predicted dependencies, best first")
    table.add_column("the first because of")
    for one in examples:
        predicted = Text()
        for name, right in zip(one.predicted, one.right, strict=True):
            sign, colour = _RIGHT if right else _WRONG
            predicted.append(f"{sign}{name} ", style=colour)
        table.add_row(Text(" ".join(one.words)), predicted, Text(", ".join(one.because)))
    return table


# --- The page.


def demo_page(trials: Trials, *, command: str, label_names: Names = None) -> Page:
    """Return the page of the demonstration; ``command`` reproduces it."""
    results = trials.results
    accuracy = table_of("Accuracy on test packages", results, ACCURACY)
    cost = table_of("Cost", results, [key for key in COST if key != "peak_memory"])
    done = [result for result in results if result.statistics]
    erased = [r for r in done if any(record.get("erasure") for record in r.records)]
    rare = [r for r in done if any(record.get("rare") for record in r.records)]
    counted = [r for r in done if any(record.get("labels") for record in r.records)]
    drawn = can_plot() and bool(done)
    plain = () if can_plot() else (NO_PLOTS,)
    return Page(
        "defrag demo",
        "Debian packages: the words of their names and descriptions predict the packages that they "
        "depend on, recommend or suggest. Everything below was just trained and measured on this "
        "machine.",
        [
            Section("Best method by measure", plain, [Facts(winners(accuracy, ["peak_memory"]))]),
            Section("Methods", (), [accuracy, cost], cost_plots(done) if drawn else ()),
            Section(
                "Rare labels",
                ["Re-ranking (REFRAG) raises labels that few training packages have."],
                (),
                rare_plot(rare) if drawn else (),
            ),
            Section(
                "Labels that gain and lose",
                ["Among the most frequent labels of the test packages."],
                label_tables(counted, label_names),
                label_plots(counted, label_names) if drawn else (),
            ),
            Section(
                "Missing words",
                ["Test packages lose some of their words; FIAT imputes them before prediction."],
                (),
                FIGURES["erasure"](erased)[:2] if drawn and erased else (),
            ),
            Section(
                "Groups of words",
                ["Words that DEFRAG-X put into one group, because the same packages use them."],
                [_groups(trials.groups)],
                FIGURES["sizes"](done) if drawn else (),
            ),
            Section(
                "Ten packages",
                [f"Predicted by {SHOWN}, best first: ✓ right, ✗ wrong."],
                [_examples_block(trials.examples)],
            ),
            Section("What was run", (), [Facts({"command": command, **run_facts(results)})]),
        ],
    )


def _groups(groups: Sequence[list[str]]) -> Html:
    items = "".join(f"<li>{escape(' · '.join(words))}</li>" for words in groups)
    return Html(f"<ul>{items}</ul>", "".join(f"- {', '.join(words)}\n" for words in groups))


def _examples_block(examples: Sequence[Example]) -> Html:
    rows, lines = [], ["| package | predicted | because of |", "|---|---|---|"]
    for one in examples:
        marks = [("✓", "right") if right else ("✗", "wrong") for right in one.right]
        pairs = list(zip(one.predicted, marks, strict=True))
        labels = "".join(
            f'<span class="{kind}">{sign} {escape(name)}</span>' for name, (sign, kind) in pairs
        )
        rows.append(
            f'<tr><th scope="row">{escape(" ".join(one.words))}</th>'
            f'<td class="text"><span class="labels">{labels}</span></td>'
            f'<td class="text">{escape(", ".join(one.because))}</td></tr>'
        )
        shown = ", ".join(f"{sign} {name}" for name, (sign, _) in pairs)
        lines.append(f"| {' '.join(one.words)} | {shown} | {', '.join(one.because)} |")
    html = (
        '<div class="scroll" tabindex="0" role="region" aria-label="Ten packages"><table>'
        '<thead><tr><th scope="col">package</th><th scope="col" class="text">predicted</th>'
        '<th scope="col" class="text">the first because of</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    return Html(html, "\n".join(lines) + "\n")
