"""Accuracy and CPU time of the label trees, one thread, mean of several seeds.

Reads the data sets in the folder DEFRAG_DATA. This is also the check that Bonsai and PLT
reach what is published for them.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from common import cpu_seconds
from defrag import PLT, Bonsai, LabelTree, Parabel, load_dataset
from defrag.metrics import evaluate

MODELS: dict[str, tuple[type, dict[str, Any]]] = {
    "LabelTree": (LabelTree, {}),
    "LabelTree 3 trees": (LabelTree, {"n_trees": 3}),
    "Parabel": (Parabel, {}),
    "Bonsai": (Bonsai, {}),
    "Bonsai y": (Bonsai, {"label_representation": "y"}),
    "Bonsai xy": (Bonsai, {"label_representation": "xy"}),
    "PLT": (PLT, {}),
    "PLT beam": (PLT, {"search": "beam"}),
    "PLT 16-ary": (PLT, {"arity": 16}),
}
COLUMNS = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")


def bench(data: str, names: list[str], seeds: int) -> None:
    dataset = load_dataset(data)
    train, test = dataset.train, dataset.test
    print(f"{data}: {train.X.shape[0]} points, {train.Y.shape[1]} labels, {seeds} seeds")
    print(f"{'':18s}" + "".join(f"{name:>8s}" for name in COLUMNS) + "   train s  predict ms")
    for name in names:
        kind, settings = MODELS[name]
        rows = []
        for seed in range(seeds):
            model = kind(**settings, random_state=seed)
            seconds, _ = cpu_seconds(model.fit, train.X, train.Y)
            search, (labels, _) = cpu_seconds(model.predict_topk, test.X, repeats=3)
            report = evaluate(test.Y, labels, train.Y)
            per_row = 1e3 * search / test.X.shape[0]
            rows.append([*(report[column] for column in COLUMNS), seconds, per_row])
        *scores, seconds, per_row = np.mean(rows, axis=0)
        print(
            f"{name:18s}"
            + "".join(f"{score:8.2f}" for score in scores)
            + f"{seconds:10.1f}{per_row:12.4f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["eurlex-4k", "debian"])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    for data in arguments.data:
        bench(data, arguments.models, arguments.seeds)


if __name__ == "__main__":
    main()
