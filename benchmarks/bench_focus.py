"""Fewer entries per row: what `Focus` gains, where the gain comes from, and its defaults.

One thread, CPU time. Everything but `test` runs on splits of the training data, a fifth of it
held out, with the number of the split as seed; changes are paired with the first method of the
table, with their standard errors in parentheses.

    budgets   one and three trees, plain, with several budgets, and on groups of Hybrid
    bases     other classifiers with and without Focus
    where     whether the gain comes from the clusters of labels or from the classifiers
    weights   importances of features: the pilot, a second round, and others
    powers    how strongly features are re-weighted
    energy    rows cut at a share of their energy instead of a multiple of a square root
    levels    different budgets for the clusters of labels, the upper nodes and the leaves
    tail      what is dropped, summed in groups
    test      the default against plain on the test sets, one and three trees

    python benchmarks/bench_focus.py budgets --data eurlex-4k [--splits 0 1 2 3 4]

`--json FILE` appends every run to a file of JSON lines, of which `tables` prints the tables: a long
benchmark can be run split by split.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import common  # noqa: F401 - says where the data sets are
from defrag import (
    LEML,
    SLEEC,
    Agglomerated,
    DiSMEC,
    FastXML,
    Focus,
    Focused,
    Hybrid,
    LabelTree,
    Parabel,
    PPDSparse,
)
from focus_runs import compare, folds, print_tables, test_fold
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

if TYPE_CHECKING:
    from focus_runs import Fold, Trial


def focused(base: Any, budget: Any = "auto") -> Trial:
    """Return a trial of a classifier behind Focus."""
    return lambda seed: Focused(base, Focus(budget), random_state=seed, n_jobs=1)


def plain(base: Any) -> Trial:
    """Return a trial of a classifier on all entries."""
    return lambda seed: base.set_params(random_state=seed, n_jobs=1)


def on_groups(base: Any) -> Trial:
    """Return a trial of a classifier on the groups of Hybrid."""
    return lambda seed: Agglomerated(base, Hybrid(), random_state=seed, n_jobs=1)


def trees(n_trees: int, budgets: list[Any]) -> dict[str, Trial]:
    """Return trials of label trees."""
    name = f"{n_trees} tree{'s' if n_trees > 1 else ''}"
    trials = {f"{name}, plain": plain(LabelTree(n_trees))}
    for budget in budgets:
        trials[f"{name}, budget {budget}"] = focused(LabelTree(n_trees), budget)
    return trials


def run_budgets(runs: list[tuple[int, Fold]], title: str, args: argparse.Namespace) -> None:
    trials = trees(1, [4.0, 6.0, 8.0, None])
    trials["1 tree, Hybrid"] = on_groups(LabelTree())
    compare(title, trials, runs, costs=False, out=args.json)
    trials = trees(3, [4.0, 8.0])
    trials["3 trees, Hybrid"] = on_groups(LabelTree(3))
    compare(title, trials, runs, costs=False, out=args.json)


BASES = {
    "Parabel": Parabel(), "DiSMEC": DiSMEC(), "PPDSparse": PPDSparse(), "FastXML": FastXML(5),
    "SLEEC": SLEEC(3), "LEML": LEML(100),
}  # fmt: skip


def run_bases(runs: list[tuple[int, Fold]], title: str, args: argparse.Namespace) -> None:
    for name in args.bases:
        base = BASES[name]
        trials = {
            name: plain(base),
            f"{name}, Focus": focused(base),
            f"{name}, Hybrid": on_groups(base),
        }
        compare(title, trials, runs, costs=False, out=args.json)


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
        runs, costs=False, out=args.json,
    )  # fmt: skip


def run_weights(runs: list[tuple[int, Fold]], title: str, args: argparse.Namespace) -> None:
    trials: dict[str, Trial] = {"plain": lambda seed: Reduced(seed, everything)}
    for name, importance in WEIGHTS.items():
        trials[name] = partial(Reduced, reduction=by(importance))
    compare(title, trials, runs, costs=False, out=args.json)


def run_powers(runs: list[tuple[int, Fold]], title: str, args: argparse.Namespace) -> None:
    trials: dict[str, Trial] = {"plain": lambda seed: Reduced(seed, everything)}
    for power in (0.0, 0.25, 0.5, 0.75, 1.0):
        trials[f"power {power}"] = partial(Reduced, reduction=by(pilot, power=power))
    compare(title, trials, runs, costs=False, out=args.json)


def run_energy(runs: list[tuple[int, Fold]], title: str, args: argparse.Namespace) -> None:
    trials: dict[str, Trial] = {"plain": lambda seed: Reduced(seed, everything)}
    for budget in (4.0, 6.0, 8.0):
        trials[f"budget {budget}"] = partial(Reduced, reduction=by(pilot, budget))
    for share in (0.9, 0.95, 0.98, 0.99):
        trials[f"energy {share}"] = partial(Reduced, reduction=by_energy(share))
    compare(title, trials, runs, costs=False, out=args.json)


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
        runs, costs=False, out=args.json,
    )  # fmt: skip


def run_tail(runs: list[tuple[int, Fold]], title: str, args: argparse.Namespace) -> None:
    trials: dict[str, Trial] = {"plain": lambda seed: Reduced(seed, everything)}
    for budget in (4.0, 6.0, 8.0):
        trials[f"budget {budget}"] = partial(Reduced, reduction=by(pilot, budget))
    for budget, n_groups in ((4.0, 16), (4.0, 128), (4.0, 1024), (6.0, 128)):
        name = f"budget {budget}, tail in {n_groups} groups"
        trials[name] = partial(Reduced, reduction=with_tail(budget, n_groups))
    compare(title, trials, runs, costs=False, out=args.json)


def run_test(runs: list[tuple[int, Fold]], title: str, args: argparse.Namespace) -> None:
    for n_trees in args.trees:
        compare(title, trees(n_trees, ["auto"]), runs, costs=True, out=args.json)


RUNS = {
    "budgets": run_budgets, "bases": run_bases, "where": run_where, "weights": run_weights,
    "powers": run_powers, "energy": run_energy, "levels": run_levels, "tail": run_tail,
    "test": run_test,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=[*RUNS, "tables"])
    parser.add_argument("--data", nargs="+", default=["eurlex-4k"])
    parser.add_argument("--splits", type=int, nargs="+", default=list(range(5)),
                        help="numbers of the splits, or seeds of `test`")  # fmt: skip
    parser.add_argument("--sample", type=int, default=0, help="points of a split; 0 for all")
    parser.add_argument("--trees", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--bases", nargs="+", default=list(BASES), choices=list(BASES))
    parser.add_argument("--json", type=Path, help="append the runs to this file")
    args = parser.parse_args()
    if args.what == "tables":
        print_tables(args.json)
        return
    with nullcontext() if args.json is None else args.json.open("a", encoding="utf-8") as args.json:
        for name in args.data:
            if args.what == "test":
                fold = test_fold(name)
                runs = [(number, fold) for number in args.splits]
            else:
                runs = list(folds(name, args.splits, args.sample))
            RUNS[args.what](runs, f"{args.what} {name}", args)


if __name__ == "__main__":
    main()
