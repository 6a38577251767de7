"""What Ray costs on one machine: training and prediction against the same number of threads.

DiSMEC on debian's first points, by ``fit`` and by ``fit_ray`` once the workers are up; and
prediction of short documents, by ``predict_topk`` in blocks and by ``predict_ray``, both with the
lines that are written. Wall times of alternating runs, the least of each; on a busy machine they
say little. Ray listens on the loopback interface and ends with the script.

    python benchmarks/bench_ray.py [--points N] [--documents N] [--cpus N] [--repeats N]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import ray

import common  # noqa: F401 - says where the data sets are
from defrag import DiSMEC, LabelTree, load_dataset
from defrag.distributed import fit_ray, predict_ray
from defrag.io.predictions import format_ranking
from synthetic import power_law

ROWS_PER_BLOCK = 20_000


def seconds(work) -> np.ndarray:  # noqa: ANN001 - a callable without arguments
    """Return the wall time of a call, and the CPU times of this process, workers and Ray."""
    before, start = cpu_seconds(), time.perf_counter()
    work()
    return np.array([time.perf_counter() - start, *(cpu_seconds() - before)])


def cpu_seconds() -> np.ndarray:
    """Return the CPU times of this process, of workers, and of the other processes of Ray."""
    times = np.array([time.process_time(), 0.0, 0.0])
    parents, found = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            before, _, after = path.read_text().rpartition(") ")
            number, name = before.split(" (", 1)
            fields = after.split()
            parents[int(number)] = int(fields[1])
            ticks = int(fields[11]) + int(fields[12])
            found[int(number)] = name.startswith("ray::"), ticks / os.sysconf("SC_CLK_TCK")
    for number, (is_worker, used) in found.items():
        ancestor = number
        while ancestor in parents and ancestor != os.getpid():
            ancestor = parents[ancestor]
        if ancestor == os.getpid() != number:
            times[1 if is_worker else 2] += used
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--points", type=int, default=57_024)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    train = load_dataset("debian-deps").train
    X, Y = train.X[: options.points], train.Y[: options.points]
    documents = power_law(X.shape[1], 12 * options.documents, per_row=12)
    blocks = [documents[i : i + ROWS_PER_BLOCK]
              for i in range(0, documents.shape[0], ROWS_PER_BLOCK)]  # fmt: skip
    ray.init(num_cpus=options.cpus, include_dashboard=False, _node_ip_address="127.0.0.1",
             log_to_driver=False)  # fmt: skip
    try:
        with tempfile.TemporaryDirectory() as name:
            run(X, Y, blocks, Path(name), options)
    finally:
        ray.shutdown()


def run(X, Y, blocks, folder: Path, options: argparse.Namespace) -> None:  # noqa: ANN001 - matrices
    model = LabelTree(random_state=0, n_jobs=options.cpus).fit(X, Y)
    model.save(folder / "model")

    def predict() -> None:
        with (folder / "whole").open("wb") as file:
            for block in blocks:
                file.writelines(format_ranking(*model.predict_topk(block), model.n_labels_))

    flat = DiSMEC(random_state=0, n_jobs=options.cpus)
    fit_ray(DiSMEC(random_state=0), X[:2000], Y[:2000])  # starts the workers
    predict_ray(folder / "model", blocks[:4], folder / "first")
    times: dict[str, list[np.ndarray]] = {}
    for number in range(options.repeats):
        parts = folder / f"parts-{number}"
        for name, work in {
            "fit": lambda: flat.fit(X, Y),
            "fit_ray": lambda: fit_ray(flat, X, Y),
            "predict": predict,
            "predict_ray": lambda parts=parts: predict_ray(folder / "model", blocks, parts),
        }.items():
            times.setdefault(name, []).append(seconds(work))
    best = {name: np.min(found, axis=0) for name, found in times.items()}
    say = sys.stdout.write
    n_documents = sum(block.shape[0] for block in blocks)
    say(f"{X.shape[0]} points, {n_documents} documents, {options.cpus} processors\n")
    say("| | wall, s | CPU of this process, s | of workers, s | of Ray, s |\n")
    say("|---|---|---|---|---|\n")
    for name, values in best.items():
        say(f"| {name} | " + " | ".join(f"{value:.2f}" for value in values) + " |\n")
    for local, word in (("fit", "training"), ("predict", "prediction")):
        wall = best[f"{local}_ray"][0] / best[local][0]
        cpu = best[f"{local}_ray"][1:3].sum() / best[local][1]
        say(f"{word} on Ray: {wall:.2f} of the wall time, {cpu:.2f} of the CPU time")
        say(f", {1 / wall:.2f} of the throughput\n")


if __name__ == "__main__":
    main()
