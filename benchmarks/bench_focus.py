"""Fewer entries per row: where the gain of `Focus` comes from, and what it could be instead.

What is tried here is no part of the package; `defrag reproduce focus` compares budgets. One
thread, CPU time, splits of the training data, a fifth of it held out, with the number of the split
as seed; changes are paired with the first method of the table, with their standard errors in
parentheses.

    where     whether the gain comes from the clusters of labels or from the classifiers
    weights   importances of features: the pilot, a second round, and others
    powers    how strongly features are re-weighted
    energy    rows cut at a share of their energy instead of a multiple of a square root
    levels    different budgets for the clusters of labels, the upper nodes and the leaves
    tail      what is dropped, summed in groups

    python benchmarks/bench_focus.py where --data eurlex-4k [--splits 0 1 2 3 4]

`--json FILE` appends every run to a file of JSON lines, of which `tables` prints the tables: a long
benchmark can be run split by split.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import common  # noqa: F401 - says where the data sets are
from focus_trials import (
    WEIGHTS,
    Reduced,
    TwoBudgets,
    by,
    by_energy,
    everything,
    pilot,
    with_tail,
)
from split_runs import compare, folds, print_tables

if TYPE_CHECKING:
    from split_runs import Fold, Trial


def run_where(runs: list[tuple[int, Fold]], title: str, args: argparse.Namespace) -> None:
    focus, weights = by(pilot), by(pilot, None)
    compare(
        title,
        {
            "neither": lambda seed: Reduced(seed, everything),
            "clusters only": lambda seed: Reduced(seed, everything, focus),
            "classifiers only": lambda seed: Reduced(seed, focus, everything),
            "both": lambda seed: Reduced(seed, focus),
            "clusters re-weighted only": lambda seed: Reduced(seed, everything, weights),
            "classifiers re-weighted only": lambda seed: Reduced(seed, weights, everything),
        },
        runs, out=args.json,
    )  # fmt: skip


def run_weights(runs: list[tuple[int, Fold]], title: str, args: argparse.Namespace) -> None:
    trials: dict[str, Trial] = {"plain": lambda seed: Reduced(seed, everything)}
    for name, importance in WEIGHTS.items():
        trials[name] = partial(Reduced, reduction=by(importance))
    compare(title, trials, runs, out=args.json)


def run_powers(runs: list[tuple[int, Fold]], title: str, args: argparse.Namespace) -> None:
    trials: dict[str, Trial] = {"plain": lambda seed: Reduced(seed, everything)}
    for power in (0.0, 0.25, 0.5, 0.75, 1.0):
        trials[f"power {power}"] = partial(Reduced, reduction=by(pilot, power=power))
    compare(title, trials, runs, out=args.json)


def run_energy(runs: list[tuple[int, Fold]], title: str, args: argparse.Namespace) -> None:
    trials: dict[str, Trial] = {"plain": lambda seed: Reduced(seed, everything)}
    for budget in (4.0, 6.0, 8.0):
        trials[f"budget {budget}"] = partial(Reduced, reduction=by(pilot, budget))
    for share in (0.9, 0.95, 0.98, 0.99):
        trials[f"energy {share}"] = partial(Reduced, reduction=by_energy(share))
    compare(title, trials, runs, out=args.json)


def run_levels(runs: list[tuple[int, Fold]], title: str, args: argparse.Namespace) -> None:
    low, high, all_ = by(pilot, 4.0), by(pilot, 8.0), by(pilot, None)
    compare(
        title,
        {
            "8 everywhere": lambda seed: Reduced(seed, high),
            "clusters 4, classifiers 8": lambda seed: Reduced(seed, high, low),
            "clusters all, classifiers 8": lambda seed: Reduced(seed, high, all_),
            "upper 4, leaves 8": lambda seed: TwoBudgets(seed, low, high),
            "upper 8, leaves 4": lambda seed: TwoBudgets(seed, high, low),
            "upper 4, leaves all": lambda seed: TwoBudgets(seed, low, all_),
            "4 everywhere": lambda seed: Reduced(seed, low),
        },
        runs, out=args.json,
    )  # fmt: skip


def run_tail(runs: list[tuple[int, Fold]], title: str, args: argparse.Namespace) -> None:
    trials: dict[str, Trial] = {"plain": lambda seed: Reduced(seed, everything)}
    for budget in (4.0, 6.0, 8.0):
        trials[f"budget {budget}"] = partial(Reduced, reduction=by(pilot, budget))
    for budget, n_groups in ((4.0, 16), (4.0, 128), (4.0, 1024), (6.0, 128)):
        name = f"budget {budget}, tail in {n_groups} groups"
        trials[name] = partial(Reduced, reduction=with_tail(budget, n_groups))
    compare(title, trials, runs, out=args.json)


RUNS = {
    "where": run_where, "weights": run_weights, "powers": run_powers, "energy": run_energy,
    "levels": run_levels, "tail": run_tail,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=[*RUNS, "tables"])
    parser.add_argument("--data", nargs="+", default=["eurlex-4k"])
    parser.add_argument("--splits", type=int, nargs="+", default=list(range(5)),
                        help="numbers of the splits")  # fmt: skip
    parser.add_argument("--sample", type=int, default=0, help="points of a split; 0 for all")
    parser.add_argument("--json", type=Path, help="append the runs to this file")
    args = parser.parse_args()
    if args.what == "tables":
        print_tables(args.json)
        return
    with nullcontext() if args.json is None else args.json.open("a", encoding="utf-8") as args.json:
        for name in args.data:
            runs = list(folds(name, args.splits, args.sample))
            RUNS[args.what](runs, f"{args.what} {name}", args)


if __name__ == "__main__":
    main()
