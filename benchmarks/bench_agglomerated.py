"""What agglomeration costs in precision and buys in time, and how small a model can be.

Classifiers of three trees on all features, on the paper's groups by both stopping rules, and on
Hybrid's; then the small model: two fast trees, higher threshold, int8 weights.

    python benchmarks/bench_agglomerated.py [--seeds 3] [eurlex-4k] [debian]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from common import cpu_seconds
from defrag import Agglomerated, Defrag, Hybrid, LabelTree, Parabel, load_dataset, metrics

TABLE_RULE = {"stop": "leaf<2*d0"}
METHODS: list[tuple[str, Any, str]] = [
    ("Parabel, all features", Parabel(3), "float32"),
    ("Parabel, DEFRAG-X", Agglomerated(Parabel(3), Defrag()), "float32"),
    ("Parabel, DEFRAG-XY", Agglomerated(Parabel(3), Defrag("xy")), "float32"),
    ("Parabel, DEFRAG-X, table rule", Agglomerated(Parabel(3), Defrag(**TABLE_RULE)), "float32"),
    ("Parabel, DEFRAG-XY, table rule", Agglomerated(Parabel(3), Defrag("xy", **TABLE_RULE)),
     "float32"),
    ("Parabel, Hybrid", Agglomerated(Parabel(3), Hybrid()), "float32"),
    ("LabelTree, all features", LabelTree(3), "float32"),
    ("LabelTree, DEFRAG-X", Agglomerated(LabelTree(3), Defrag()), "float32"),
    ("LabelTree, Hybrid", Agglomerated(LabelTree(3), Hybrid()), "float32"),
    ("LabelTree, small", LabelTree(2, preset="fast", weight_threshold=0.15), "int8"),
]  # fmt: skip


def measure(model: Any, data: Any, seed: int, weights: str) -> list[float]:
    """Train, save and predict once; give precisions, seconds and megabytes."""
    model.set_params(random_state=seed)
    train, _ = cpu_seconds(model.fit, data.train.X, data.train.Y)
    predict, (labels, _) = cpu_seconds(model.predict_topk, data.test.X)
    report = metrics.evaluate(data.test.Y, labels)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path, weights=weights)
        size = path.stat().st_size / 1e6
    return [report["P@1"], report["P@3"], report["P@5"], train, predict, size]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("data", nargs="*", default=["eurlex-4k", "debian"])
    options = parser.parse_args()
    for name in options.data:
        data = load_dataset(name)
        print(f"\n{name:<32} {'P@1/3/5':<20} {'train s':>8} {'predict s':>10} {'MB':>7}")
        for label, model, weights in METHODS:
            runs = [measure(model, data, seed, weights) for seed in range(options.seeds)]
            p1, p3, p5, train, predict, size = np.mean(runs, axis=0)
            precisions = f"{p1:.2f}/{p3:.2f}/{p5:.2f}"
            print(
                f"{label:<32} {precisions:<20} {train:>8.2f} {predict:>10.2f} {size:>7.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
