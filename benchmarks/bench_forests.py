"""Forests over points: precision, speed and size, on all features and on groups of them.

CPU seconds; means over seeds. What is measured:

    all     FastXML, PfastreXML and CRAFTML (and LabelTree, with --methods) on all features
    groups  PfastreXML on groups of features, beside the paper's Table 2
    speed   training on one and on two threads, prediction in a batch and of single rows
    file    model files by type of weights, and what rounding changes

    python benchmarks/bench_forests.py all [--seeds 0 1 2] [--data eurlex-4k] [--jobs 1]

Data are `eurlex-4k`, `bibtex` and `debian`; the first two are read from the folder in
`DEFRAG_DATA`.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench_embeddings import read
from common import cpu_seconds
from defrag import (
    CRAFTML,
    Agglomerated,
    Defrag,
    FastXML,
    Hybrid,
    LabelTree,
    PfastreXML,
    load,
    metrics,
)
from focus_runs import model_bytes, single_row_ms

if TYPE_CHECKING:
    from scipy import sparse

    Data = tuple[sparse.csr_array, ...]

METHODS: dict[str, Any] = {
    "FastXML": FastXML(),
    "PfastreXML": PfastreXML(),
    "CRAFTML": CRAFTML(),
    "LabelTree": LabelTree(),
}
FORESTS = ("FastXML", "PfastreXML", "CRAFTML")
GROUPS: dict[str, Any] = {
    "none": None,
    "strict": Defrag(),
    "table": Defrag(stop="leaf<2*d0"),
    "hybrid": Hybrid(),
}
PAPER = {"none": "70.41/59.22/50.56, 0.26 GB", "table": "68.50/56.57/47.78, 0.19 GB"}
MEASURES = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")


def print_row(title: str, model: Any, data: Data, seeds: list[int]) -> None:
    """Train and predict with several seeds; print the means, and the spread of P@1."""
    X, Y, X_test, Y_test = data
    runs = []
    for seed in seeds:
        model.set_params(random_state=seed)
        train, _ = cpu_seconds(model.fit, X, Y)
        predict, (labels, _) = cpu_seconds(model.predict_topk, X_test)
        report = metrics.evaluate(Y_test, labels, Y)
        runs.append([*(report[name] for name in MEASURES), train, 1e3 * predict / X_test.shape[0]])
    found = np.mean(runs, axis=0)
    spread = np.std(runs, axis=0, ddof=1)[0] if len(seeds) > 1 else 0.0
    p, psp = ("/".join(f"{one:.2f}" for one in part) for part in (found[:3], found[3:6]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"{title:<14} P {p} (+-{spread:.2f}) PSP {psp}, training {found[6]:.1f} s, "
          f"{found[7]:.3f} ms/point, peak {peak:.0f} MB", flush=True)  # fmt: skip


def run_all(data: Data, args: argparse.Namespace) -> None:
    for name in args.methods:
        print_row(name, METHODS[name].set_params(n_jobs=args.jobs), data, args.seeds)


def run_groups(data: Data, args: argparse.Namespace) -> None:
    for name in args.groups:
        base, groups = PfastreXML(), GROUPS[name]
        model = base if groups is None else Agglomerated(base, groups)
        print_row(name, model.set_params(n_jobs=args.jobs), data, args.seeds)
        paper = f"; paper {PAPER[name]}" if name in PAPER else ""
        print(f"    file {model_bytes(model) / 1e6:.1f} MB{paper}", flush=True)


def run_speed(data: Data, args: argparse.Namespace) -> None:
    X, Y, X_test, _ = data
    for name in args.methods:
        model = METHODS[name].set_params(random_state=0)
        clocks = []
        for jobs in (1, 2):
            begin = time.perf_counter()
            cpu, _ = cpu_seconds(model.set_params(n_jobs=jobs).fit, X, Y)
            clocks.append(time.perf_counter() - begin)
            print(f"{name:<12} training on {jobs}: CPU {cpu:.1f} s, clock {clocks[-1]:.1f} s")
        model.set_params(n_jobs=1)
        batch, _ = cpu_seconds(model.predict_topk, X_test, repeats=3)
        print(f"{name:<12} two threads {clocks[0] / clocks[1]:.2f} times as fast; batch "
              f"{1e3 * batch / X_test.shape[0]:.3f} ms/point, single row "
              f"{single_row_ms(model, X_test):.3f} ms", flush=True)  # fmt: skip


def run_file(data: Data, args: argparse.Namespace) -> None:
    X, Y, X_test, Y_test = data
    for name in args.methods:
        model = METHODS[name].set_params(n_jobs=args.jobs, random_state=0).fit(X, Y)
        for weights in ("float32", "float16", "int8"):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model"
                model.save(path, weights=weights)
                labels, _ = load(path).predict_topk(X_test)
                size = path.stat().st_size / 1e6
            report = metrics.evaluate(Y_test, labels)
            found = "/".join(f"{report[f'P@{k}']:.2f}" for k in (1, 3, 5))
            print(f"{name:<12} {weights:<8} {size:7.1f} MB  P {found}", flush=True)


RUNS = {"all": run_all, "groups": run_groups, "speed": run_speed, "file": run_file}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=list(RUNS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--data", nargs="+", default=["eurlex-4k"])
    parser.add_argument("--methods", nargs="+", default=list(FORESTS), choices=list(METHODS))
    parser.add_argument("--groups", nargs="+", default=list(GROUPS), choices=list(GROUPS))
    args = parser.parse_args()
    for name in args.data:
        print(f"\n{name}")
        RUNS[args.what](read(name), args)


if __name__ == "__main__":
    main()
