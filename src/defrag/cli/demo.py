"""``defrag demo``: compare the methods on the bundled data."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console

from defrag._progress import progress_pulse
from defrag.classifiers import Agglomerated, LabelTree, Parabel
from defrag.cli._console import JsonFlag, examples, print_json, print_message
from defrag.cli._demo_tables import accuracy_table, clustering_table, example_table
from defrag.cli._models import PRESETS, Preset
from defrag.focusing import Focused
from defrag.io import load_dataset
from defrag.io.datasets import Split
from defrag.metrics import balance, evaluate, loss_of_mutual_information

if TYPE_CHECKING:
    from defrag.agglomeration import Defrag
    from defrag.classifiers._base import Classifier
    from defrag.io.datasets import Dataset
    from defrag.typing import Ids

__all__ = ["HELP", "demo"]

HELP = (
    "Compare the methods on the bundled data.\n\n"
    "The data are Debian packages: the words of their descriptions, and the packages they "
    "depend on. The demo groups words, trains classifiers on all words, on groups and on the "
    "words that matter, and shows some predictions. It takes less than two minutes."
) + examples(
    "defrag demo",
    "defrag demo --quick",
    "defrag demo --max-cluster-size 16 --n-trees 3 --seed 7",
    "defrag demo --json",
)

_NAMES = {
    Preset.x: "DEFRAG-X",
    Preset.xy: "DEFRAG-XY",
    Preset.n: "DEFRAG-N",
    Preset.hybrid: "Hybrid",
}
# Each of them costs a training.
_COMPARED = (Preset.x, Preset.xy, Preset.hybrid)
_QUICK_TRAIN, _QUICK_TEST = 4000, 1000
_TOP_K = 5
_N_EXAMPLES, _N_WORDS = 10, 4


def demo(
    *,
    max_cluster_size: Annotated[
        int, typer.Option(help="Maximum number of features in a group.")
    ] = 8,
    n_trees: Annotated[int, typer.Option(min=1, help="Number of trees.")] = 2,
    random_state: Annotated[int, typer.Option("--random-state", "--seed", help="Seed.")] = 0,
    n_jobs: Annotated[int, typer.Option(help="Number of threads; -1 for all.")] = -1,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use a part of the data; takes seconds.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Compare the methods on the bundled data."""
    with progress_pulse("loading the bundled data"):
        data = load_dataset("debian")
    if quick:
        data = _slice(data)
    settings = {"random_state": random_state, "n_jobs": n_jobs}
    console = Console()
    pooled = {"max_cluster_size": max_cluster_size, **settings}
    groups = [_measure_groups(preset, data, pooled) for preset in Preset]
    if not as_json:
        console.print(clustering_table(data, groups))
    rows, best = [], np.empty((0, 0), np.int32)
    for name, model in _classifiers(max_cluster_size, n_trees, settings).items():
        row, best = _measure(name, model, data)
        rows.append(row)
    examples_ = _examples(data, best, random_state)
    if as_json:
        print_json(
            {"data": data.name, "methods": groups, "classifiers": rows, "examples": examples_}
        )
        return
    console.print(accuracy_table(rows, n_trees))
    console.print(example_table(examples_, rows[-1]["method"]))


def _slice(data: Dataset) -> Dataset:
    train, test = data.train, data.test
    return replace(
        data,
        train=Split(train.X[:_QUICK_TRAIN], train.Y[:_QUICK_TRAIN]),
        test=Split(test.X[:_QUICK_TEST], test.Y[:_QUICK_TEST]),
    )


def _groups(preset: Preset, **settings: Any) -> Defrag:
    kind, fixed = PRESETS[preset]
    return kind(**fixed, **settings, verbose=1)


def _measure_groups(preset: Preset, data: Dataset, settings: dict[str, Any]) -> dict[str, Any]:
    X, Y = data.train.X, data.train.Y
    begin = time.process_time()
    method = _groups(preset, **settings).fit(X, Y)
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


def _classifiers(
    max_cluster_size: int, n_trees: int, settings: dict[str, Any]
) -> dict[str, Classifier]:
    """Return the classifiers to compare; predictions of the last are shown."""
    plain: dict[str, Classifier] = {
        "Parabel, all words": Parabel(n_trees, **settings, verbose=1),
        "LabelTree, all words": LabelTree(n_trees, **settings, verbose=1),
    }
    for preset in _COMPARED:
        groups = _groups(preset, max_cluster_size=max_cluster_size)
        base = LabelTree(n_trees, verbose=1)
        plain[f"LabelTree, {_NAMES[preset]}"] = Agglomerated(base, groups, **settings)
    plain["LabelTree, focused"] = Focused(LabelTree(n_trees, verbose=1), **settings)
    return plain


def _measure(name: str, model: Classifier, data: Dataset) -> tuple[dict[str, Any], Ids]:
    print_message(name)
    begin = time.perf_counter()
    model.fit(data.train.X, data.train.Y)
    trained = time.perf_counter()
    with progress_pulse(f"predicting with {name}"):
        labels, _ = model.predict_topk(data.test.X, k=_TOP_K)
    predicted = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, progress_pulse(f"measuring {name}"):
        path = Path(folder) / "model.safetensors"
        model.save(path)
        size = path.stat().st_size
        values = evaluate(data.test.Y, labels, data.train.Y)
    return {
        "method": name,
        **{key: values[key] for key in values if key.startswith(("P@", "PSP@"))},
        "training seconds": trained - begin,
        "prediction seconds": predicted - trained,
        "bytes": size,
    }, labels


def _examples(data: Dataset, labels: Ids, seed: int) -> list[dict[str, Any]]:
    """Return some labelled test points with their main words and predictions."""
    X, Y = data.test.X, data.test.Y
    labelled = np.flatnonzero(np.diff(Y.indptr))
    chosen = np.random.default_rng(seed).permutation(labelled)[:_N_EXAMPLES]
    result = []
    for row in np.sort(chosen):
        words = X.indices[X.indptr[row] : X.indptr[row + 1]]
        weights = X.data[X.indptr[row] : X.indptr[row + 1]]
        true = set(Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist())
        heaviest = words[np.argsort(-weights, kind="stable")[:_N_WORDS]]
        found = [label for label in labels[row].tolist() if label >= 0]
        result.append(
            {
                "words": [_name(data.feature_names, word) for word in heaviest],
                "predicted": [_name(data.label_names, label) for label in found],
                "right": [label in true for label in found],
                "labels": len(true),
            }
        )
    return result


def _name(names: Any, number: int) -> str:
    return str(number) if names is None else str(names[number])
