"""Shapes of `LabelTree`: labels of a leaf, and children of the root.

One thread, CPU time, splits of the training data, a fifth of it held out, with the number of the
split as seed; changes are paired with the default shape, with their standard errors in parentheses.

    python benchmarks/bench_shapes.py --data debian [--splits 0 1 2 3 4] [--trees 3] [--plain]
"""

from __future__ import annotations

import argparse
from typing import Any

import common  # noqa: F401 - says where the data sets are
from defrag import Focused, LabelTree
from split_runs import compare, folds

# Labels of a leaf and children of the root, at most.
SHAPES = [(32, 256), (32, 128), (32, 64), (48, 128), (64, 256), (64, 64), (96, 128)]


def model(seed: int, trees: int, *, plain: bool, **shape: int) -> Any:
    """Return a label tree of one thread, focused unless it is to be plain."""
    tree = LabelTree(trees, **shape, random_state=seed, n_jobs=1)
    return tree if plain else Focused(tree, random_state=seed, n_jobs=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--data", default="debian")
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--sample", type=int, default=0, help="points per split, 0 for all")
    parser.add_argument("--trees", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="without Focus")
    arguments = parser.parse_args()
    options = {"trees": arguments.trees, "plain": arguments.plain}
    trials = {"default": lambda seed: model(seed, **options)}
    for leaf, root in SHAPES:
        trials[f"leaves of {leaf}, root of {root}"] = lambda seed, leaf=leaf, root=root: model(
            seed, **options, max_leaf_size=leaf, root_arity=root
        )
    title = f"{arguments.data}, {'plain' if arguments.plain else 'focused'}"
    compare(
        f"{title}, trees: {arguments.trees}",
        trials,
        list(folds(arguments.data, arguments.splits, arguments.sample)),
        out=None,
    )


if __name__ == "__main__":
    main()
