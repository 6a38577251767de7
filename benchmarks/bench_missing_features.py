"""How precision falls when features go missing, and what imputation saves.

Parabel with three trees, trained on complete rows; test rows lose a share of their features.
Compared: rows as they are (Parabel L2-normalises them again, which is the simplest remedy), Fiat
in each mode, from groups and from lists of companions, with one beta and with one per row
("auto"), and the rival that needs another training: Parabel on the rows and an erased copy of
each.

    python benchmarks/bench_missing_features.py [--seeds 3] [--plot curves.png] [eurlex-4k] [debian]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from common import cpu_seconds
from defrag import Defrag, Fiat, Parabel, load_dataset
from defrag.metrics import erase_features, erasure_curve

if TYPE_CHECKING:
    from defrag.metrics import ErasureCurve

SHARES = tuple(round(0.1 * step, 1) for step in range(10))


class Before:
    """A classifier that sees imputed rows; every imputation shares the one that was trained."""

    def __init__(self, model: Any, imputation: Fiat) -> None:
        self.model = model
        self.imputation = imputation

    def predict_topk(self, X: Any, k: int = 5) -> Any:
        """Impute, then rank."""
        return self.model.predict_topk(self.imputation.transform(X), k)


def imputations(X: Any, Y: Any) -> dict[str, Fiat]:
    """Return every way to impute; those that use groups share the same clusterings."""
    default = Defrag("xy", max_cluster_size=32, sample_points=1.0)
    groups = [clone(default).set_params(random_state=seed).fit(X, Y) for seed in range(3)]
    given: dict[str, Any] = {"agglomeration": groups, "prefit": True}
    return {
        "paper": Fiat("paper", **given),
        "cosine": Fiat("cosine", **given),
        "groups, auto": Fiat(**given),
        "lists, beta 0.3": Fiat(beta=0.3),
        "lists, beta 1": Fiat(beta=1.0),
        "lists, auto": Fiat(),
    }


def with_copies(data: Any) -> Any:
    """Train on all rows and a copy of each that has lost a random share of its features."""
    X, Y = data.train.X, data.train.Y
    draw = np.random.default_rng(0).choice(SHARES[1:], X.shape[0])
    copies = sparse.vstack([erase_features(X[draw == share], share) for share in SHARES[1:]])
    labels = sparse.vstack([Y[draw == share] for share in SHARES[1:]])
    both = sparse.vstack([X, copies], format="csr"), sparse.vstack([Y, labels], format="csr")
    return Parabel(3, random_state=0).fit(*both)


def run(name: str, seeds: int) -> dict[str, ErasureCurve]:
    data = load_dataset(name)
    X, Y = data.train.X, data.train.Y
    train, base = cpu_seconds(Parabel(3, random_state=0).fit, X, Y)
    copies, rival = cpu_seconds(with_copies, data)
    models: dict[str, Any] = {"as they are": base, "trained on copies": rival}
    fits = {}
    for mode, fiat in imputations(X, Y).items():
        fits[mode], fitted = cpu_seconds(fiat.set_params(random_state=0).fit, X, Y)
        models[mode] = Before(base, fitted)
    print(f"\n{name}: training {train:.1f} s, on copies {copies / train:.1f} times that; "
          f"Fiat {100 * fits['lists, auto'] / train:.1f}%", flush=True)  # fmt: skip
    show_costs(data, models)
    curves = {}
    print(f"{'P@1/3/5':<18}" + " ".join(f"{f'{100 * share:.0f}%':<17}" for share in SHARES))
    for title, model in models.items():
        curve = erasure_curve(model, data.test.X, data.test.Y, shares=SHARES, seeds=range(seeds))
        curves[title] = curve
        cells = zip(*(curve.mean(f"P@{k}") for k in (1, 3, 5)), strict=True)
        print(f"{title:<18}" + " ".join("/".join(f"{v:.2f}" for v in cell) for cell in cells),
              flush=True)  # fmt: skip
    return curves


def show_costs(data: Any, models: dict[str, Any]) -> None:
    """Print what imputation adds to prediction, on complete rows and on erased ones."""
    for share in (0.0, 0.8):
        rows = erase_features(data.test.X, share)
        plain, _ = cpu_seconds(models["as they are"].predict_topk, rows, repeats=3)
        whole, _ = cpu_seconds(models["lists, auto"].predict_topk, rows, repeats=3)
        print(f"prediction, {100 * share:.0f}% erased: {plain:.2f} s, "
              f"auto {100 * (whole / plain - 1):+.0f}%", flush=True)  # fmt: skip


def plot(found: dict[str, dict[str, ErasureCurve]], path: Path) -> None:
    """Draw what each way gains over rows as they are."""
    import matplotlib as mpl  # noqa: PLC0415 - wanted with --plot only

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - likewise

    figure, panels = plt.subplots(1, len(found), figsize=(6 * len(found), 4.5), squeeze=False)
    for panel, (name, curves) in zip(panels[0], found.items(), strict=True):
        plain = curves["as they are"].mean("P@1")
        for title, curve in curves.items():
            if title != "paper":  # it is far below the others
                panel.plot(
                    100 * np.array(SHARES), curve.mean("P@1") - plain, label=title, marker="."
                )
        panel.set_title(name)
        panel.set_xlabel("features erased, %")
        panel.set_ylabel("gain of P@1 over rows as they are, points")
        panel.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("data", nargs="*", default=["eurlex-4k", "debian"])
    options = parser.parse_args()
    found = {name: run(name, options.seeds) for name in options.data}
    if options.plot is not None:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
