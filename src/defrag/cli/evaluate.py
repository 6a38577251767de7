"""``defrag evaluate``: evaluate predictions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from defrag.cli._console import JsonFlag, examples, print_json
from defrag.cli._data import LabelsFlag, PropensityA, PropensityB, Reading
from defrag.cli._flags import File, Words, argument
from defrag.exceptions import FormatWarning
from defrag.io.files import display_name
from defrag.io.points import form_of_name, read_names
from defrag.metrics import MacroPrecision, Truth, align, macro_precision, read_any_predictions
from defrag.metrics import evaluate as evaluate_ranking
from defrag.typing import Csr

HELP = (
    "Evaluate predictions against true labels; all metrics are percentages.\n\n"
    "P: precision, nDCG: normalised discounted cumulative gain, R: recall, coverage: fraction of "
    "labels that are found for some point. PSP and PSnDCG weight rare labels more and require "
    "--train, as does the second table, the mean precision of labels from frequent to rare. Points "
    "without true labels count as zero. Predictions have ids, names or JSON lines, as 'defrag "
    "predict' writes them; names are compared with those of texts, or with --label-names."
) + examples(
    "defrag evaluate docs.jsonl predictions.txt",
    "defrag evaluate test.txt predictions.txt",
    "defrag evaluate test.txt predictions.txt --train train.txt",
    "defrag evaluate test.txt predictions.txt --train train.txt --A 0.6 --B 2.6 --top-k 1,5,10",
    "defrag predict model.safetensors test.txt | defrag evaluate test.txt - --json",
)

# Length of the bar for a precision of 100.
_BAR = 24

_METRICS = ("P", "nDCG", "R", "PSP", "PSnDCG", "coverage")


def evaluate(
    *,
    data: Annotated[str, argument("DATA", "The points with their labels.")],
    predictions: Annotated[str, argument("PREDICTIONS", "Output of 'defrag predict'; - is stdin.")],
    train: Annotated[File, "Training data, for PSP and PSnDCG."] = None,
    train_labels: Annotated[File, "Label file of --train, if it has features only."] = None,
    top_k: Annotated[str, "Numbers of labels per point, separated by commas."] = "1,3,5",
    a: PropensityA = None,
    b: PropensityB = None,
    psndcg: Annotated[
        str,
        Words(("xmc", "pyxclib")),
        "Normalisation of PSnDCG: as the tool of the Extreme Classification Repository, or as "
        "pyxclib and napkinXC.",
    ] = "xmc",
    label_names: Annotated[
        File, "Names of the labels of a matrix, for predictions with names."
    ] = None,
    reading: Reading,
    labels: LabelsFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Evaluate predictions against true labels."""
    depths = _depths(top_k)
    given: dict[str, Any] = {"A": a, "B": b}
    constants = {name: value for name, value in given.items() if value is not None}
    if psndcg != "xmc":
        constants["normalisation"] = psndcg
    if train is None and (constants or train_labels):
        flag = "--train-labels" if train_labels else f"--{next(iter(constants))}"
        flag = flag.replace("--normalisation", "--psndcg")
        raise ValueError(f"{flag} changes nothing without --train")
    if [data, predictions, train].count("-") > 1:
        raise ValueError("only one of DATA, PREDICTIONS and --train can be standard input")
    found = read_any_predictions(predictions, **reading.checks)

    def labels_of(path: str, label_file: str | None) -> Truth:
        known: Any
        corpus = reading.texts_form(path)
        if corpus is not None:
            known = reading.texts(path, corpus, label_file, label_names, required=True).labels
        else:
            # svmlight text has no number of labels; the header of predictions does.
            unsaid = (reading.form or form_of_name(path)) == "svmlight"
            known = reading.points(path, label_file, n_labels=found.n_labels if unsaid else None).Y
        if known is None:
            raise ValueError(f"{display_name(path)}: has no labels to compare with")
        return Truth(display_name(path), known)

    named = labels_of(data, labels)
    names = None
    if label_names is not None and not named.have_names:
        names = read_names(label_names, named.labels.shape[1], "name", "label")
    truth, scores, seen = align(
        found, named, None if train is None else labels_of(train, train_labels), names
    )
    depths = _check_depths(predictions, scores, depths)
    values = evaluate_ranking(truth, scores, seen, depths, **constants)
    rare = None if seen is None else macro_precision(truth, scores, seen, depths[0])
    if as_json:
        extra = {} if rare is None else {"by_frequency": _bins(rare, depths[0])}
        print_json({**values, **extra})
        return
    console = Console()
    console.print(_table(values, depths))
    if rare is not None:
        console.print(_rare_table(rare, depths[0]))


def _depths(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.strip().isdecimal() and int(word) > 0 for word in words):
        raise ValueError(f"--top-k must be positive numbers separated by commas, got {text!r}")
    return sorted({int(word) for word in words})


def _check_depths(predictions: str, scores: Csr, depths: list[int]) -> list[int]:
    """Return the depths that the predictions reach, and warn about the others."""
    most = int(np.diff(scores.indptr).max(initial=0))
    reached = [depth for depth in depths if depth <= most or most == scores.shape[1]]
    if reached == depths:
        return depths
    name = display_name(predictions)
    message = f"{name}: no point has more than {most} predictions"
    if not reached:
        raise ValueError(f"{message}: --top-k must be at most that, got {min(depths)}")
    cut = ", ".join(str(depth) for depth in depths if depth not in reached)
    warnings.warn(f"{message}: left out k = {cut}", FormatWarning, stacklevel=2)
    return reached


def _table(values: dict[str, float], depths: Sequence[int]) -> Table:
    table = Table()
    metrics = [name for name in _METRICS if f"{name}@{depths[0]}" in values]
    for title in ("k", *(f"{name}@k" for name in metrics)):
        table.add_column(title, justify="right")
    for depth in depths:
        table.add_row(str(depth), *(f"{values[f'{name}@{depth}']:.2f}" for name in metrics))
    return table


def _bins(rare: MacroPrecision, depth: int) -> list[dict[str, float | None]]:
    """Return the metrics of each bin of labels, from frequent to rare."""
    numbers = (rare.n_labels.tolist(), rare.precision.tolist(), rare.predicted.tolist())
    return [
        {
            "from": low,
            "to": high,
            "labels": n_labels,
            f"macro_P@{depth}": None if math.isnan(value) else value,
            "predicted": None if math.isnan(share) else share,
        }
        for (low, high), n_labels, value, share in zip(pairwise(rare.edges), *numbers, strict=True)
    ]


def _rare_table(rare: MacroPrecision, depth: int) -> Table:
    """Return the table of the bins, with bars."""
    table = Table(title="labels from frequent to rare")
    for title in ("percent", "labels", f"macro P@{depth}", "predicted %"):
        table.add_column(title, justify="right")
    table.add_column("")
    for one in _bins(rare, depth):
        value, share = one[f"macro_P@{depth}"], one["predicted"]
        table.add_row(
            f"{one['from']}-{one['to']}",
            f"{one['labels']:,}",
            "-" if value is None else f"{value:.2f}",
            "-" if share is None else f"{share:.2f}",
            "" if value is None else "#" * round(value / 100 * _BAR),
        )
    return table
