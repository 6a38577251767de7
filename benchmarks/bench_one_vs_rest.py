"""One-vs-rest: precision, time and memory; beside other libraries; and on groups of features.

CPU seconds, one thread, means over seeds. What is measured:

    all     DiSMEC on all features, with its presets and its kinds of weights in a file
    peers   beside scikit-learn's LinearSVC on a sample of the labels, scaled up, and napkinXC's BR
    groups  on groups of features: the paper's, random ones at the same number of groups, Hybrid's;
            the sum of a group or its mean

    python benchmarks/bench_one_vs_rest.py all [--seeds 3] [--data eurlex-4k debian]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from common import cpu_seconds, unit
from defrag import (
    Agglomerated,
    Defrag,
    DiSMEC,
    Hybrid,
    PPDSparse,
    ProXML,
    load,
    load_dataset,
    metrics,
)
from peer_runs import PEERS_VENV, peers_python, run_peer

if TYPE_CHECKING:
    from collections.abc import Sequence

METHODS: dict[str, Any] = {
    "DiSMEC": DiSMEC,
    "PPDSparse": PPDSparse,
    "ProXML": ProXML,
}
PRESETS = ("fast", "default", "exact")
# Groups of features at one number of groups K, that of the paper's rule "at most d0 members".
GROUPS: dict[str, tuple[type[Defrag], dict[str, Any]]] = {
    "DEFRAG-X": (Defrag, {}),
    "DEFRAG-XY": (Defrag, {"representation": "xy"}),
    "random": (Defrag, {"rest": "hash"}),
    "Hybrid": (Hybrid, {}),
}
TABLE_RULE = {"stop": "leaf<2*d0"}


def judged(model: Any, data: Any, seed: int) -> list[float]:
    """Train and predict once; give P@1, 3, 5, PSP@1, 5 and the seconds of both."""
    model.set_params(random_state=seed)
    train, _ = cpu_seconds(model.fit, data.train.X, data.train.Y)
    predict, (labels, _) = cpu_seconds(model.predict_topk, data.test.X)
    report = metrics.evaluate(data.test.Y, labels, data.train.Y)
    return [report[name] for name in ("P@1", "P@3", "P@5", "PSP@1", "PSP@5")] + [train, predict]


def print_rows(title: str, models: dict[str, Any], data: Any, n_seeds: int) -> None:
    """Print a table, a row per model, each as it ends."""
    print(
        f"\n{title:<34} {'P@1/3/5':<19} {'+-':>5} {'PSP@1/5':<13} {'train s':>8} {'predict s':>9}"
    )
    for name, model in models.items():
        runs = np.array([judged(model, data, seed) for seed in range(n_seeds)])
        p1, p3, p5, psp1, psp5, train, predict = runs.mean(axis=0)
        spread = runs[:, 0].std(ddof=1) if n_seeds > 1 else 0.0
        print(
            f"{name:<34} {f'{p1:.2f}/{p3:.2f}/{p5:.2f}':<19} {spread:>5.2f} "
            f"{f'{psp1:.2f}/{psp5:.2f}':<13} {train:>8.1f} {predict:>9.2f}",
            flush=True,
        )


def bench_all(method: str, name: str, data: Any, n_seeds: int) -> None:
    """Print precision and time of the presets, and what small weights cost."""
    kind = METHODS[method]
    presets = PRESETS if "preset" in kind().get_params() else ()
    models = {f"{method}, {preset}": kind(preset) for preset in presets} or {method: kind()}
    print_rows(name, models, data, n_seeds)
    model = models.get(f"{method}, default", next(iter(models.values())))
    X, Y = data.test.X, data.test.Y
    rows = [X[[i]] for i in range(500)]
    alone, _ = cpu_seconds(lambda: [model.predict_topk(row) for row in rows], repeats=3)
    n_weights = len(model.weights_.weights)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(
        f"a row alone {1e3 * alone / len(rows):.3f} ms; {n_weights:,} weights; "
        f"peak memory {memory:.0f} MB"
    )
    with tempfile.TemporaryDirectory() as folder:
        for weights in ("float32", "float16", "int8"):
            path = Path(folder) / weights
            model.save(path, weights=weights)
            report = metrics.evaluate(Y, load(path).predict_topk(X)[0])
            found = "/".join(f"{report[f'P@{k}']:.2f}" for k in (1, 3, 5))
            print(f"{weights:<8} {path.stat().st_size / 1e6:>7.1f} MB  {found}", flush=True)


def bench_peers(method: str, name: str, data: Any, n_labels: int, venv: Path) -> None:
    """Print the time of scikit-learn on a sample of labels, scaled to all, and napkinXC's."""
    ours, _ = cpu_seconds(METHODS[method](random_state=0).fit, data.train.X, data.train.Y)
    print(f"\n{name}: {method} {ours:.1f} s")
    X = unit(data.train.X)
    seen = np.flatnonzero(np.bincount(data.train.Y.indices, minlength=data.train.Y.shape[1]))
    sample = np.random.default_rng(0).choice(seen, n_labels, replace=False)
    Y = data.train.Y[:, np.sort(sample)].toarray().astype(int)
    theirs, _ = cpu_seconds(OneVsRestClassifier(LinearSVC()).fit, X, Y)
    scaled = theirs * len(seen) / n_labels
    print(
        f"scikit-learn OneVsRest(LinearSVC): {theirs:.1f} s for {n_labels} of {len(seen)} labels, "
        f"{scaled:.0f} s for all: {scaled / ours:.1f} times ours",
        flush=True,
    )
    found = run_peer("napkinxc-br", peers_python(venv), data.train, data.test)
    precisions = "/".join(f"{found.metrics[f'P@{k}']:.2f}" for k in (1, 3, 5))
    print(
        f"napkinXC BR: {found.train_cpu:.1f} s, {found.train_cpu / ours:.1f} times ours, "
        f"{precisions}, {found.predict_ms:.3f} ms a row, {found.model_bytes / 1e6:.0f} MB"
    )


def bench_groups(method: str, name: str, data: Any, n_seeds: int, poolings: Sequence[str]) -> None:
    """Print how a flat learner does on groups of features, all tables at one number of groups."""
    base = METHODS[method]()
    n_clusters = Defrag(random_state=0).fit(data.train.X).n_clusters_
    models = {
        f"{groups}, {pooling}": Agglomerated(
            base, kind(n_clusters=n_clusters, pooling=pooling, **options)
        )
        for pooling in poolings
        for groups, (kind, options) in GROUPS.items()
    }
    for pooling in poolings:
        models[f"DEFRAG-X, table rule, {pooling}"] = Agglomerated(
            base, Defrag(pooling=pooling, **TABLE_RULE)
        )
    print_rows(f"{name}, {method}, {n_clusters} groups", models, data, n_seeds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("all", "peers", "groups"))
    parser.add_argument("--method", choices=METHODS, default="DiSMEC")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--labels", type=int, default=100, help="labels of scikit-learn's sample")
    parser.add_argument("--peers-venv", type=Path, default=PEERS_VENV)
    parser.add_argument("--poolings", nargs="+", default=["sum", "mean"])
    parser.add_argument("--data", nargs="+", default=["eurlex-4k", "debian"])
    options = parser.parse_args()
    for name in options.data:
        data = load_dataset(name)
        if options.what == "all":
            bench_all(options.method, name, data, options.seeds)
        elif options.what == "peers":
            bench_peers(options.method, name, data, options.labels, options.peers_venv)
        else:
            bench_groups(options.method, name, data, options.seeds, options.poolings)


if __name__ == "__main__":
    main()
