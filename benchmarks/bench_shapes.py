"""Shapes of `LabelTree`, labels of a leaf and children of the root; or, with `--costs`, its C.

One thread, CPU time, splits of the training data, a fifth of it held out, with the number of the
split as seed; changes are paired with the default shape, with their standard errors in parentheses.

    python benchmarks/bench_shapes.py --data debian [--splits 0 1 2 3 4] [--trees 3] [--plain]
                                      [--costs 0.35 0.5 0.7]
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import common  # noqa: F401 - says where the data sets are
from defrag import Focused, LabelTree
from split_runs import compare, folds

# Labels of a leaf and children of the root, at most.
SHAPES = [(32, 256), (32, 128), (32, 64), (48, 128), (64, 256), (64, 64), (96, 128)]


def model(seed: int, trees: int, *, plain: bool, **parameters: Any) -> Any:
    """Return a label tree of one thread, focused unless it is to be plain."""
    tree = LabelTree(trees, **parameters, random_state=seed, n_jobs=1)
    return tree if plain else Focused(tree, random_state=seed, n_jobs=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--data", default="debian")
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--sample", type=int, default=0, help="points per split, 0 for all")
    parser.add_argument("--trees", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="without Focus")
    parser.add_argument("--costs", type=float, nargs="+", help="values of C instead of shapes")
    arguments = parser.parse_args()
    options = {"trees": arguments.trees, "plain": arguments.plain}
    settings: dict[str, dict[str, Any]] = {"default": {}}
    if arguments.costs is None:
        for leaf, root in SHAPES:
            shape = {"max_leaf_size": leaf, "root_arity": root}
            settings[f"leaves of {leaf}, root of {root}"] = shape
    else:
        settings |= {f"C = {cost:g}": {"C": cost} for cost in arguments.costs}
    trials = {name: partial(model, **options, **chosen) for name, chosen in settings.items()}
    title = f"{arguments.data}, {'plain' if arguments.plain else 'focused'}"
    compare(
        f"{title}, trees: {arguments.trees}",
        trials,
        list(folds(arguments.data, arguments.splits, arguments.sample)),
        out=None,
    )


if __name__ == "__main__":
    main()
