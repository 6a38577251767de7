"""Runs on splits of training data: what is measured of a model, and paired changes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from common import cpu_seconds
from defrag import load_dataset
from defrag.metrics import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from scipy import sparse

    Trial = Callable[[int], Any]

METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
COSTS = ("train_s", "batch_ms", "entries")
HELD_OUT = 0.2


@dataclass(frozen=True)
class Fold:
    """Points to train on and points to judge by."""

    X: sparse.csr_array
    Y: sparse.csr_array
    X_test: sparse.csr_array
    Y_test: sparse.csr_array


def folds(name: str, numbers: list[int], sample: int) -> Iterator[tuple[int, Fold]]:
    """Yield splits of training data: a fifth held out, of at most ``sample`` points if positive."""
    data = load_dataset(name).train
    for number in numbers:
        order = np.random.default_rng([15, number]).permutation(data.X.shape[0])
        order = order[:sample] if sample else order
        cut = int(len(order) * HELD_OUT)
        held, rest = np.sort(order[:cut]), np.sort(order[cut:])
        yield number, Fold(data.X[rest], data.Y[rest], data.X[held], data.Y[held])


def measure(model: Any, fold: Fold) -> dict[str, float]:
    """Train and predict; CPU seconds, one thread."""
    train, _ = cpu_seconds(model.fit, fold.X, fold.Y)
    batch, (labels, _) = cpu_seconds(model.predict_topk, fold.X_test)
    report = evaluate(fold.Y_test, labels, fold.Y)
    row = {name: report[name] for name in METRICS}
    row |= {"train_s": train, "batch_ms": 1e3 * batch / fold.X_test.shape[0]}
    if hasattr(model, "entries_per_row"):
        row["entries"] = model.entries_per_row
    return row


def compare(
    title: str, trials: dict[str, Trial], runs: list[tuple[int, Fold]], *, out: Any
) -> None:
    """Run every trial on every fold, the first being what the others are compared with."""
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in trials}
    for seed, fold in runs:
        for name, trial in trials.items():
            row = measure(trial(seed), fold)
            rows[name].append(row)
            if out is not None:
                first = next(iter(trials))
                record = {"run": title, "base": first, "trial": name, "seed": seed, **row}
                print(json.dumps(record), file=out, flush=True)
    print_changes(title, rows)


def print_tables(path: Path) -> None:
    """Print the tables of recorded runs, of the splits on which all their trials were run."""
    tables: dict[tuple[str, str], dict[str, dict[int, dict[str, float]]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        key = (row.pop("run"), row.pop("base"))
        trials = tables.setdefault(key, {})
        trials.setdefault(row.pop("trial"), {})[row.pop("seed")] = row
    for (title, base), trials in tables.items():
        shared = sorted(set.intersection(*(set(rows) for rows in trials.values())))
        if shared:
            ordered = [base, *(name for name in trials if name != base)]
            print_changes(title, {name: [trials[name][s] for s in shared] for name in ordered})


def print_changes(title: str, rows: dict[str, list[dict[str, float]]]) -> None:
    """Print the means of the first trial, and the changes of the others with standard errors."""
    first, *others = rows
    base = rows[first]
    n = len(base)
    means = {key: np.mean([row[key] for row in base]) for key in base[0]}
    print(f"\n## {title}, {n} runs; {first}: "
          + ", ".join(f"{key} {value:.4g}" for key, value in means.items()))  # fmt: skip
    print("| | P@1 | P@3 | P@5 | PSP@1 | PSP@3 | PSP@5 | training | batch | entries |")
    print("|---" * 10 + "|")
    for name in others:
        cells = []
        for key in METRICS:
            changes = [a[key] - b[key] for a, b in zip(rows[name], base, strict=True)]
            error = np.std(changes, ddof=1) / np.sqrt(n) if n > 1 else float("nan")
            cells.append(f"{np.mean(changes):+.2f} ({error:.2f})")
        for key in COSTS:
            if key not in base[0]:
                cells.append("")
                continue
            ratio = sum(row[key] for row in rows[name]) / sum(row[key] for row in base)
            cells.append(f"{ratio:.2f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
