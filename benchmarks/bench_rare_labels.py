"""What re-ranking finds of rare labels, and what it costs.

Parabel with three trees, alone and under Refrag: prototypes alone (of each kind), the
propensity weight alone, and both, each with the setting that held-out training rows say is the
best at a loss of P@1 of at most 0.5 and 1.5 points; the test set is looked at once.

    python benchmarks/bench_rare_labels.py [--losses 0.5 1.5] [eurlex-4k] [debian]
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from common import cpu_seconds
from defrag import Parabel, Refrag, load_dataset, metrics

if TYPE_CHECKING:
    import numpy as np

KINDS = ("block", "cosine", "identity")
MEASURES = ("P", "nDCG", "PSP", "PSnDCG", "coverage")


def show(
    name: str, data: Any, labels: np.ndarray, base: dict[str, float] | None
) -> dict[str, float]:
    """Print a row of the table, and what it loses of P@1."""
    found = metrics.evaluate(data.test.Y, labels, data.train.Y)
    cells = ["/".join(f"{found[f'{m}@{k}']:.2f}" for k in (1, 3, 5)) for m in MEASURES]
    loss = "" if base is None else f"{base['P@1'] - found['P@1']:+.2f}"
    print(f"{name:<34}" + " ".join(f"{cell:<18}" for cell in cells) + loss, flush=True)
    return found


def restrict(table: Any, wanted: np.ndarray) -> Any:
    """Give the settings that are wanted, and the first, which changes nothing."""
    wanted = wanted.copy()
    wanted[0] = True
    measures = {name: values[wanted] for name, values in table.measures.items()}
    return replace(
        table,
        alpha=table.alpha[wanted],
        gamma=table.gamma[wanted],
        propensity_weight=table.propensity_weight[wanted],
        measures=measures,
        errors={name: values[wanted] for name, values in table.errors.items()},
    )


def bars(data: Any, rankings: dict[str, np.ndarray]) -> None:
    """Print macro precision at 1 by percentiles of labels, from frequent to rare."""
    results = {
        name: metrics.macro_precision(data.test.Y, labels, data.train.Y)
        for name, labels in rankings.items()
    }
    edges = next(iter(results.values())).edges
    print(f"{'macro P@1 by percentile':<34}" + " ".join(f"{f'-{edge}%':>7}" for edge in edges[1:]))
    for name, found in results.items():
        print(f"{name:<34}" + " ".join(f"{value:>7.2f}" for value in found.precision))
        print(f"{'  share of labels predicted':<34}"
              + " ".join(f"{value:>7.2f}" for value in found.predicted))  # fmt: skip


def run(name: str, losses: list[float]) -> None:
    data = load_dataset(name)
    X, Y, points = data.train.X, data.train.Y, data.test.X
    train, base = cpu_seconds(Parabel(3, random_state=0).fit, X, Y)
    predict, (labels, _) = cpu_seconds(base.predict_topk, points, repeats=3)
    print(f"\n{name:<34}" + " ".join(f"{m + '@1/3/5':<18}" for m in MEASURES) + "loss of P@1")
    plain = show("Parabel", data, labels, None)
    rankings = {"Parabel": labels}
    for kind in KINDS:
        model = Refrag(Parabel(3), co_occurrence=kind, random_state=0)
        chosen, _ = cpu_seconds(model.fit, X, Y)
        table = model.trade_off_
        model.alpha_, model.gamma_, model.propensity_weight_ = 0.8, 30.0, 0.0
        show(f"{kind}, gamma 30, alpha .8", data, model.predict_topk(points)[0], plain)
        parts = {f"{kind} alone": restrict(table, table.propensity_weight == 0)}
        if kind == KINDS[-1]:
            parts["propensity alone"] = restrict(table, table.gamma == 0)
        parts[f"{kind} and propensity"] = table
        for loss in losses:
            for part, settings in parts.items():
                model.trade_off_ = settings
                model.choose(max_loss=loss)
                title = f"{part}, loss {loss:g}"
                labels = model.predict_topk(points)[0]
                show(title, data, labels, plain)
                print(f"{'':<34}gamma {model.gamma_:g}, weight {model.propensity_weight_:g}; "
                      f"said on {table.n_rows} held-out rows")  # fmt: skip
                if part.startswith(("identity and", "propensity")):
                    rankings[title] = labels
        print(f"{'':<34}choosing: {chosen / train:.1f} times the training of Parabel")
    bars(data, rankings)
    costs(data, train, predict)


def costs(data: Any, train: float, predict: float) -> None:
    """Compare fixed settings with Parabel alone, training and prediction."""
    for kind in KINDS:
        model = Refrag(Parabel(3), co_occurrence=kind, gamma=4, propensity_weight=0.5,
                       random_state=0)  # fmt: skip
        model.fit(data.train.X, data.train.Y)
        rows = data.train.X
        prototypes, _ = cpu_seconds(model._find_prototypes, rows, data.train.Y, 0)  # noqa: SLF001 - its share of fit
        ranked, _ = cpu_seconds(model.predict_topk, data.test.X, repeats=3)
        print(f"{kind:<12} training {100 * prototypes / train:+.1f}%, "
              f"prediction {100 * (ranked / predict - 1):+.1f}%", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--losses", type=float, nargs="*", default=[0.5, 1.5])
    parser.add_argument("data", nargs="*", default=["eurlex-4k", "debian"])
    options = parser.parse_args()
    for name in options.data:
        run(name, options.losses)


if __name__ == "__main__":
    main()
