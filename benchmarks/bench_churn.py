"""Churn: how many predictions change when a model is trained again with more data.

A model is trained on a part of the points, and again on all of them: with new trees, with the
trees of the first model (``fit(..., shape=previous)``), and with new trees and another seed. Each
new model is compared with the first one on the test points. ``--affected`` prints instead which
share of the training of a tree a few new points touch: the nodes that contain their labels.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.base import clone

from common import cpu_seconds, precision
from defrag import Focused, LabelTree, load_dataset

MODELS = {
    "LabelTree": LabelTree(),
    "LabelTree 3 trees": LabelTree(3),
    "Focused(LabelTree(3))": Focused(LabelTree(3)),
}


def changed(old: np.ndarray, new: np.ndarray) -> tuple[float, float]:
    """Return the shares of other best labels, and of new labels among the best five."""
    kept = [len(set(a[a >= 0]) & set(b[b >= 0])) for a, b in zip(old, new, strict=True)]
    return float(np.mean(old[:, 0] != new[:, 0])), 1.0 - sum(kept) / np.count_nonzero(new >= 0)


def bench(data: str, name: str, more: float, seeds: int) -> None:
    dataset = load_dataset(data)
    X, Y, test = dataset.train.X, dataset.train.Y, dataset.test
    kept = np.random.default_rng(0).permutation(X.shape[0])
    part = np.sort(kept[: round(X.shape[0] / (1 + more))])
    print(f"{data}, {name}: {len(part)} points, then {X.shape[0]}; {seeds} seeds")
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for seed in range(seeds):
        blank = MODELS[name]
        first = clone(blank).set_params(random_state=seed).fit(X[part], Y[part])
        before = first.predict_topk(test.X)[0]
        print(f"  seed {seed}: first model {precision(before, test.Y)}", flush=True)
        for what, options, own in (
            ("new trees", {}, seed),
            ("shape", {"shape": first}, seed),
            ("another seed", {}, seed + 1000),
        ):
            model = clone(blank).set_params(random_state=own)
            seconds, _ = cpu_seconds(lambda m=model, o=options: m.fit(X, Y, **o))
            after = model.predict_topk(test.X)[0]
            one, five = changed(before, after)
            rows.setdefault(what, []).append((one, five, seconds))
            print(f"    {what:14s} {precision(after, test.Y)}  top-1 {one:6.1%}  top-5 {five:6.1%}"
                  f"  {seconds:5.1f} s", flush=True)  # fmt: skip
    for what, found in rows.items():
        one, five, seconds = np.mean(found, axis=0)
        print(f"  {what:14s} top-1 {one:6.1%}  top-5 {five:6.1%}  {seconds:5.1f} s")


def affected(data: str) -> None:
    train = load_dataset(data).train
    tree = LabelTree(random_state=0).fit(train.X, train.Y).trees_[0].tree
    labels = np.diff(train.Y.indptr)
    rows = np.repeat(np.arange(train.Y.shape[0]), labels)
    place = np.full(train.Y.shape[1], -1)
    place[tree.order] = np.arange(len(tree.order))
    positions = place[train.Y.indices]
    outputs = np.where(tree.n_children > 0, tree.n_children, tree.end - tree.begin)
    n_points = np.array([
        len(np.unique(rows[(positions >= begin) & (positions < end)]))
        for begin, end in zip(tree.begin, tree.end, strict=True)
    ])  # fmt: skip
    work = n_points * -(-outputs // 16)
    for n_new in (1, 10, 100, 570):
        shares = []
        for seed in range(20):
            new = np.random.default_rng(seed).choice(train.X.shape[0], n_new, replace=False)
            places = np.sort(positions[np.isin(rows, new)])
            touched = np.searchsorted(places, tree.begin) < np.searchsorted(places, tree.end)
            shares.append(work[touched].sum() / work.sum())
        print(f"{n_new:4d} new points touch {np.mean(shares):.0%} of the work")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="debian")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--more", type=float, default=0.05, help="Share of points that are added.")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--affected", action="store_true")
    arguments = parser.parse_args()
    if arguments.affected:
        affected(arguments.data)
        return
    for name in arguments.models:
        bench(arguments.data, name, arguments.more, arguments.seeds)


if __name__ == "__main__":
    main()
