"""Every way to make training cheaper, in one picture: precision against time and size.

A fifth of the training points of EURLex-4K is held out. One run each, one thread, CPU time.

    python benchmarks/bench_pareto.py run FILE [--bases LabelTree Parabel DiSMEC PECOS]
    python benchmarks/bench_pareto.py draw FILE docs/pictures/pareto.svg

`run` appends JSON lines to FILE; `draw` needs matplotlib. PECOS runs in the environment of
`defrag reproduce peers`.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import common  # noqa: F401 - says where the data sets are
from common import cpu_seconds
from defrag import Defrag, DiSMEC, Focus, Hybrid, LabelTree, Parabel
from defrag.io.datasets import Split
from defrag.metrics import evaluate
from defrag.rivals import RandomGroups, TopFeatures
from focus_runs import Fold, folds, model_bytes
from focus_trials import by, constant
from peer_runs import PEERS_VENV, peers_python, run_peer

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = "eurlex-4k"
BASES: dict[str, Any] = {"LabelTree": LabelTree(3), "Parabel": Parabel(1), "DiSMEC": DiSMEC()}
FAST = {"LabelTree": LabelTree(3, preset="fast"), "DiSMEC": DiSMEC(preset="fast")}


class TopValues:
    """Keep the largest values of a row, as many as Focus keeps at a budget of 8."""

    def fit(self, X: Any, Y: Any) -> TopValues:
        """Learn nothing."""
        self.transform = by(constant, power=0.0)(X, Y, 0)
        return self


REDUCTIONS: dict[str, Callable[[], Any] | None] = {
    "all features": None,
    "Focus": lambda: Focus(random_state=0, n_jobs=1),
    "Focus, budget 4": lambda: Focus(4.0, random_state=0, n_jobs=1),
    "top values of a row": TopValues,
    "Hybrid": lambda: Hybrid(random_state=0, n_jobs=1),
    "DEFRAG-X": lambda: Defrag(random_state=0, n_jobs=1),
    "DEFRAG-XY": lambda: Defrag("xy", random_state=0, n_jobs=1),
    "random groups": lambda: RandomGroups(random_state=0, n_jobs=1),
    "top features": lambda: TopFeatures(random_state=0, n_jobs=1),
}


@dataclass(frozen=True)
class Reduced:
    """Reduced points, and the CPU seconds that the reduction took."""

    fold: Fold
    train_s: float
    predict_s: float


def reduce(fold: Fold, make: Callable[[], Any] | None) -> Reduced:
    """Learn a reduction and apply it to both parts."""
    if make is None:
        return Reduced(fold, 0.0, 0.0)
    learn_s, reduction = cpu_seconds(make().fit, fold.X, fold.Y)
    train_s, X = cpu_seconds(reduction.transform, fold.X)
    predict_s, X_test = cpu_seconds(reduction.transform, fold.X_test, repeats=3)
    return Reduced(Fold(X, fold.Y, X_test, fold.Y_test), learn_s + train_s, predict_s)


def run_base(model: Any, reduced: Reduced) -> dict[str, float]:
    """Train a classifier of ours on reduced points."""
    fold = reduced.fold
    train, _ = cpu_seconds(model.set_params(random_state=0, n_jobs=1).fit, fold.X, fold.Y)
    predict, (labels, _) = cpu_seconds(model.predict_topk, fold.X_test, repeats=3)
    return {
        "P@1": evaluate(fold.Y_test, labels)["P@1"],
        "P@5": evaluate(fold.Y_test, labels)["P@5"],
        "train_s": train + reduced.train_s,
        "predict_ms": 1e3 * (predict + reduced.predict_s) / fold.X_test.shape[0],
        "MB": model_bytes(model) / 1e6,
    }


def run_pecos(reduced: Reduced) -> dict[str, float]:
    """Train PECOS on reduced points."""
    fold = reduced.fold
    halves = Split(fold.X, fold.Y), Split(fold.X_test, fold.Y_test)
    found = run_peer("pecos", peers_python(PEERS_VENV), *halves)
    n_rows = fold.X_test.shape[0]
    return {
        "P@1": found.metrics["P@1"],
        "P@5": found.metrics["P@5"],
        "train_s": found.train_cpu + reduced.train_s,
        "predict_ms": found.predict_ms + 1e3 * reduced.predict_s / n_rows,
        "MB": found.model_bytes / 1e6,
    }


def run(path: Path, bases: list[str], reductions: list[str]) -> None:
    """Measure, and append a line for each method."""
    ((_, fold),) = folds(DATA, [0], 0)
    with path.open("a", encoding="utf-8") as out:
        for name in reductions:
            reduced = reduce(fold, REDUCTIONS[name])
            for base in bases:
                row = run_pecos(reduced) if base == "PECOS" else run_base(BASES[base], reduced)
                print(json.dumps({"base": base, "reduction": name, **row}), file=out, flush=True)
        for base, model in FAST.items():
            if base in bases and "all features" in reductions:
                row = run_base(model, Reduced(fold, 0.0, 0.0))
                print(json.dumps({"base": base, "reduction": "preset fast", **row}), file=out)


AXES = {"train_s": "training, CPU s", "predict_ms": "prediction, ms per point", "MB": "model, MB"}
MARKS = {
    "all features": ("#222222", "o"), "preset fast": ("#222222", "^"), "Focus": ("#d62728", "D"),
    "Focus, budget 4": ("#d62728", "s"), "top values of a row": ("#ff9896", "v"),
    "Hybrid": ("#1f77b4", "D"), "DEFRAG-X": ("#1f77b4", "s"), "DEFRAG-XY": ("#1f77b4", "v"),
    "random groups": ("#9edae5", "P"), "top features": ("#2ca02c", "X"),
}  # fmt: skip


def draw(path: Path, picture: Path) -> None:
    """Draw a row of three panels for each classifier."""
    import matplotlib as mpl  # noqa: PLC0415 - only for this

    mpl.use("svg")
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "pareto", "font.size": 9})
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the backend is chosen

    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    bases = list(dict.fromkeys(row["base"] for row in rows))
    figure, panels = plt.subplots(
        len(bases), len(AXES), figsize=(9, 2.4 * len(bases) + 0.8), squeeze=False, sharey="row"
    )
    for line, base in zip(panels, bases, strict=True):
        for panel, (key, title) in zip(line, AXES.items(), strict=True):
            for row in [row for row in rows if row["base"] == base]:
                colour, mark = MARKS[row["reduction"]]
                panel.scatter(row[key], row["P@1"], c=colour, marker=mark, s=38, zorder=3,
                              label=row["reduction"])  # fmt: skip
            panel.set_xlim(left=0)
            panel.grid(alpha=0.3)
            panel.set_xlabel(title)
        line[0].set_ylabel(f"{base}\nP@1")
    handles = {
        label: handle
        for panel in panels.ravel()
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=5, frameon=False)
    figure.tight_layout(rect=(0, 0.8 / figure.get_figheight(), 1, 1))
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=["run", "draw"])
    parser.add_argument("file", type=Path)
    parser.add_argument("picture", type=Path, nargs="?", default=Path("docs/pictures/pareto.svg"))
    parser.add_argument("--bases", nargs="+", default=[*BASES, "PECOS"])
    parser.add_argument("--reductions", nargs="+", default=list(REDUCTIONS))
    args = parser.parse_args()
    if args.what == "run":
        run(args.file, args.bases, args.reductions)
    else:
        draw(args.file, args.picture)


if __name__ == "__main__":
    main()
