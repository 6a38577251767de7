"""Embeddings and partitions: precision, time and memory, on all features and on groups of them.

CPU seconds, means over seeds. What is measured:

    all     SLEEC, AnnexML and LEML on all features
    rank    LEML at several ranks, and on points that are not unit rows, as in the first papers
    groups  SLEEC on groups of features: the paper's, by both stopping rules, and Hybrid's
    votes   SLEEC and AnnexML with votes by rank and by count
    search  exact and approximate neighbours among more and more points
    lpsr    LPSR over DiSMEC: precision, and time of prediction beside the scorer alone
    file    model files by type of weights

    python benchmarks/bench_embeddings.py all [--seeds 0 1 2] [--data eurlex-4k] [--jobs 1]

Data are `eurlex-4k`, `bibtex` and `debian`; the first two are read from the folder in
`DEFRAG_DATA`.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from common import cpu_seconds, unit
from defrag import (
    LEML,
    LPSR,
    SLEEC,
    Agglomerated,
    AnnexML,
    Defrag,
    DiSMEC,
    Hybrid,
    _native,
    load_dataset,
    metrics,
    read_xmc,
)
from defrag._native import RowPanels
from defrag.classifiers.embeddings._base import select_columns
from defrag.classifiers.embeddings._hnsw import HnswIndex

if TYPE_CHECKING:
    from scipy import sparse

METHODS: dict[str, Any] = {"SLEEC": SLEEC(), "AnnexML": AnnexML(), "LEML": LEML()}
RANKS = (50, 100, 200, 500)
GROUPS: dict[str, Any] = {
    "none": None,
    "x": Defrag(),
    "x-large": Defrag(stop="leaf<2*d0"),
    "hybrid": Hybrid(),
}


def read(name: str) -> tuple[sparse.csr_array, ...]:
    """Return points and labels, first those to train on."""
    folder = Path(os.environ["DEFRAG_DATA"])
    if name == "bibtex":
        parts = [
            read_xmc(folder / "fixtures" / f"bibtex_{part}X.txt",
                     labels_path=folder / "fixtures" / f"bibtex_{part}Y.txt")
            for part in ("train", "test")
        ]  # fmt: skip
        return (*parts[0], *parts[1])
    data = load_dataset(name)
    return data.train.X, data.train.Y, data.test.X, data.test.Y


def print_row(title: str, model: Any, data: Any, seeds: list[int]) -> None:
    """Train and predict with several seeds; print the means."""
    X, Y, X_test, Y_test = data
    runs = []
    for seed in seeds:
        model.set_params(random_state=seed)
        clock = time.perf_counter()
        train, _ = cpu_seconds(model.fit, X, Y)
        clock = time.perf_counter() - clock
        predict, (labels, _) = cpu_seconds(model.predict_topk, X_test)
        report = metrics.evaluate(Y_test, labels, Y)
        names = ("P@1", "P@3", "P@5", "PSP@1", "PSP@5")
        runs.append([*(report[name] for name in names), train, clock, predict])
    p1, p3, p5, psp1, psp5, train, clock, predict = np.mean(runs, axis=0)
    spread = np.std(runs, axis=0, ddof=1)[0] if len(seeds) > 1 else 0.0
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(
        f"{title:<30} {f'{p1:.2f}/{p3:.2f}/{p5:.2f}':<19} {spread:>5.2f} "
        f"{f'{psp1:.2f}/{psp5:.2f}':<13} {train:>8.1f} {clock:>8.1f} "
        f"{1000 * predict / X_test.shape[0]:>8.3f} {megabytes:>8.0f}",
        flush=True,
    )


def print_head(title: str) -> None:
    print(
        f"\n{title:<30} {'P@1/3/5':<19} {'+-':>5} {'PSP@1/5':<13} {'CPU s':>8} {'clock s':>8} "
        f"{'ms/point':>8} {'peak MB':>8}"
    )


def run_all(data: Any, args: argparse.Namespace) -> None:
    for name in args.methods:
        print_row(name, METHODS[name].set_params(n_jobs=args.jobs), data, args.seeds)


def run_rank(data: Any, args: argparse.Namespace) -> None:
    for rank in RANKS:
        print_row(f"LEML, rank {rank}", LEML(rank, n_jobs=args.jobs), data, args.seeds)
    for rounds, steps in ((1, 5), (3, 1), (10, 20)):
        model = LEML(n_rounds=rounds, n_steps=steps, n_jobs=args.jobs)
        print_row(f"LEML, {rounds} rounds of {steps} steps", model, data, args.seeds[:1])
    for l2 in (0.01, 0.1, 10.0, 100.0):
        print_row(f"LEML, l2 {l2:g}", LEML(l2=l2, n_jobs=args.jobs), data, args.seeds[:1])


def run_groups(data: Any, args: argparse.Namespace) -> None:
    for name in args.groups:
        groups = GROUPS[name]
        model = (
            SLEEC(n_jobs=args.jobs)
            if groups is None
            else Agglomerated(SLEEC(), groups, n_jobs=args.jobs)
        )
        print_row(name, model, data, args.seeds)
        size(model)


def run_votes(data: Any, args: argparse.Namespace) -> None:
    """Count the votes of the same learners in two ways."""
    X, Y, X_test, Y_test = data
    for name in args.methods:
        if name == "LEML":
            continue
        found: dict[str, list[list[float]]] = {"rank": [], "count": []}
        for seed in args.seeds:
            model = METHODS[name].set_params(random_state=seed, n_jobs=args.jobs).fit(X, Y)
            for votes, runs in found.items():
                labels, _ = model.set_params(votes=votes).predict_topk(X_test)
                report = metrics.evaluate(Y_test, labels)
                runs.append([report[f"P@{k}"] for k in (1, 3, 5)])
            model.set_params(votes="rank")
        for votes, runs in found.items():
            means = "/".join(f"{mean:.2f}" for mean in np.mean(runs, axis=0))
            print(f"{name}, {votes:<20} {means}", flush=True)


def run_search(data: Any, args: argparse.Namespace) -> None:
    """Search among the vectors of one learner whose only cluster has all points."""
    X, Y, X_test, _ = data
    model = SLEEC(1, cluster_size=X.shape[0], random_state=0, n_jobs=args.jobs).fit(X, Y)
    learner = model.learners_[0]
    queries = _native.sparse_dense(
        select_columns(unit(X_test[:2000]), learner.features), learner.weights, n_threads=1
    )
    vectors = RowPanels(learner.panels, len(learner.points)).unpack()
    order = np.random.default_rng(0).permutation(len(vectors))
    print(f"{'points':>10} {'exact ms':>9} {'hnsw ms':>9} {'build s':>9} {'recall@10':>9}")
    for n in (1000, 3000, 10_000, 30_000, len(vectors)):
        if n > len(vectors):
            continue
        some = np.ascontiguousarray(vectors[order[:n]])
        bias = (-0.5 * np.einsum("ij,ij->i", some, some)).astype(np.float32)
        panels = RowPanels.pack(some, bias)
        exact, (ids, _) = cpu_seconds(
            partial(_native.nearest_rows, queries, panels, n_best=10, n_threads=1), repeats=3
        )
        build, index = cpu_seconds(partial(HnswIndex.build, some, euclidean=True))
        fast, near = cpu_seconds(partial(index.nearest, queries, n_best=10, n_threads=1), repeats=3)
        recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(ids, near, strict=True)])
        ms = 1000 / len(queries)
        print(f"{n:>10} {exact * ms:>9.4f} {fast * ms:>9.4f} {build:>9.2f} {recall:>9.4f}",
              flush=True)  # fmt: skip


def run_lpsr(data: Any, args: argparse.Namespace) -> None:
    """Predict twice with each: the first time, LPSR cuts the weights of its clusters."""
    X, Y, X_test, Y_test = data
    scorer = DiSMEC(random_state=0, n_jobs=args.jobs).fit(X, Y)
    for name, model in {
        "DiSMEC": scorer,
        "LPSR, frequency": LPSR(DiSMEC(), random_state=0, n_jobs=args.jobs),
        "LPSR, optimised": LPSR(DiSMEC(), assignment="optimised", random_state=0, n_jobs=args.jobs),
    }.items():
        train = 0.0 if model is scorer else cpu_seconds(model.fit, X, Y)[0]
        first, (labels, _) = cpu_seconds(model.predict_topk, X_test)
        later, _ = cpu_seconds(model.predict_topk, X_test, repeats=3)
        rows = [X_test[[i]] for i in range(300)]
        single, _ = cpu_seconds(lambda: [model.predict_topk(row) for row in rows], repeats=3)  # noqa: B023 - called here
        report = metrics.evaluate(Y_test, labels)
        found = "/".join(f"{report[f'P@{k}']:.2f}" for k in (1, 3, 5))
        print(f"{name:<30} {found:<19} fit {train:.1f} s, predict {first:.2f} s, "
              f"then {later:.2f} s, single row {single / 0.3:.2f} ms", flush=True)  # fmt: skip


def run_file(data: Any, args: argparse.Namespace) -> None:
    for name in args.methods:
        size(METHODS[name].set_params(n_jobs=args.jobs, random_state=0).fit(*data[:2]))


def size(model: Any) -> None:
    """Print the sizes of a model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        sizes = []
        for weights in ("float32", "float16", "int8"):
            model.save(path, weights=weights)
            sizes.append(f"{weights} {path.stat().st_size / 1e6:.1f} MB")
    print(f"    {type(model).__name__}: {', '.join(sizes)}", flush=True)


RUNS = {
    "all": run_all, "rank": run_rank, "groups": run_groups, "votes": run_votes,
    "search": run_search, "lpsr": run_lpsr, "file": run_file,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=list(RUNS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--data", nargs="+", default=["eurlex-4k"])
    parser.add_argument("--groups", nargs="+", default=list(GROUPS), choices=list(GROUPS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    args = parser.parse_args()
    for name in args.data:
        print_head(name)
        RUNS[args.what](read(name), args)


if __name__ == "__main__":
    main()
