"""Floors beside PECOS and omikuji: how many times as fast, at no lower precision.

One focused tree against PECOS (XR-Linear) in training and batch prediction, three focused trees
against omikuji (Parabel) in training; one thread each, CPU time, the same unit rows. Ours are
the means of the precision and the least of the times over seeds; the programs run once, as
``defrag reproduce peers`` runs them. Ends with code 1 if a floor is missed.

    python benchmarks/bench_peers.py [--data NAME ...] [--seeds N] [--peers-venv FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from common import cpu_seconds
from defrag import Focused, LabelTree, load_dataset
from defrag.metrics import evaluate
from peer_runs import PEERS_VENV, peers_python, run_peer

P = ("P@1", "P@3", "P@5")
REPEATS = 3  # of each batch prediction


@dataclass(frozen=True)
class Floor:
    """How many times as fast as another program, at least; prediction where it is asked."""

    program: str
    n_trees: int
    training: float
    prediction: float | None = None


FLOORS = {
    "eurlex-4k": [Floor("pecos", 1, 15, 9), Floor("omikuji", 3, 15)],
    "debian-deps": [Floor("pecos", 1, 10, 8), Floor("omikuji", 3, 15)],
    "tibkat-core": [Floor("pecos", 1, 15, 9), Floor("omikuji", 3, 15)],
}


@dataclass(frozen=True)
class Line:
    """Training time, batch prediction time and precision of one program."""

    train_cpu: float
    predict_ms: float
    precision: np.ndarray

    def show(self, name: str) -> None:
        """Print the line."""
        scores = "/".join(f"{score:.2f}" for score in self.precision)
        print(f"  {name:<24} {self.train_cpu:>8.2f} {self.predict_ms:>9.4f}   {scores}", flush=True)


def ours(data: object, n_trees: int, n_seeds: int) -> Line:
    """Train and predict with some seeds."""
    times, predictions, scores = [], [], []
    for seed in range(n_seeds):
        model = Focused(LabelTree(n_trees), random_state=seed, n_jobs=1)
        times.append(cpu_seconds(model.fit, data.train.X, data.train.Y)[0])
        seconds, ranked = cpu_seconds(model.predict_topk, data.test.X, repeats=REPEATS)
        predictions.append(1e3 * seconds / data.test.X.shape[0])
        report = evaluate(data.test.Y, ranked[0])
        scores.append([report[metric] for metric in P])
    return Line(min(times), min(predictions), np.mean(scores, axis=0))


def judge(floor: Floor, other: Line, own: Line) -> bool:
    """Print each floor and whether it is met."""
    ratios = [("training", other.train_cpu / own.train_cpu, floor.training)]
    if floor.prediction is not None:
        ratios.append(("prediction", other.predict_ms / own.predict_ms, floor.prediction))
    met = [(f"{name} {ratio:.1f} times as fast (at least {least:g})", ratio >= least)
           for name, ratio, least in ratios]  # fmt: skip
    change = own.precision - other.precision
    shown = "/".join(f"{value:+.2f}" for value in change)
    met.append((f"P@1/3/5 {shown} (no lower)", bool(np.all(change >= 0))))
    for text, is_met in met:
        print(f"    {text}: {'met' if is_met else 'MISSED'}")
    return all(is_met for _, is_met in met)


def run(name: str, n_seeds: int, python: Path) -> bool:
    """Measure one data set."""
    data = load_dataset(name)
    print(f"{name}, seeds: {n_seeds}\n  {'':<24} {'train s':>8} {'ms/point':>9}   P@1/3/5")
    all_met = True
    for floor in FLOORS[name]:
        own = ours(data, floor.n_trees, n_seeds)
        own.show(f"LabelTree, {floor.n_trees}, Focus")
        found = run_peer(floor.program, python, data.train, data.test)
        other = Line(found.train_cpu, found.predict_ms,
                     np.array([found.metrics[metric] for metric in P]))  # fmt: skip
        other.show(floor.program)
        all_met &= judge(floor, other, own)
    return all_met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--data", nargs="+", choices=list(FLOORS), default=list(FLOORS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--peers-venv", type=Path, default=PEERS_VENV)
    arguments = parser.parse_args()
    python = peers_python(arguments.peers_venv)
    met = [run(name, arguments.seeds, python) for name in arguments.data]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
