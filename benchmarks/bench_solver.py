"""Time and precision of the label tree and of flat one-vs-rest, one thread, CPU seconds.

The tree is LabelTree's; building it is timed apart, so that this measures the solver and the
search alone.
"""

import argparse
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from scipy import sparse

from common import precision, unit
from defrag import LabelTree, _native, load_dataset
from defrag._native import Instructions, SolverOptions

Result = TypeVar("Result")

# The shrinking rule that flat one-vs-rest needs, and the threshold of DiSMEC.
FLAT = SolverOptions(shrink=-0.01, restore=4, threshold=0.01)


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """Run and give the CPU seconds of this process."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def flat_top(solution: _native.FlatSolution, X: sparse.csr_array) -> np.ndarray:
    """Rank all labels by margin, 500 rows at a time."""
    parts = []
    for first in range(0, X.shape[0], 500):
        scores = (X[first : first + 500] @ solution.weights).toarray() + solution.bias
        parts.append(np.argsort(-scores, axis=1, kind="stable")[:, :5])
    return np.concatenate(parts)


def time_search(
    tree: _native.LabelTreeArrays,
    weights: _native.LabelTreeWeights,
    X: sparse.csr_array,
    instructions: Instructions,
) -> tuple[np.ndarray, float, float]:
    """Return the labels, and the milliseconds per row in one batch and row by row."""
    batch, alone = [], []
    for _ in range(5):
        (labels, _), cpu = timed(
            lambda: _native.beam_search(tree, weights, X, instructions=instructions)
        )
        batch.append(1e3 * cpu / X.shape[0])
    index = _native.FeatureIndex(weights)
    rows = [X[[i]] for i in range(min(1000, X.shape[0]))]
    for _ in range(3):
        _, cpu = timed(
            lambda: [_native.beam_search(tree, weights, row, index=index) for row in rows]
        )
        alone.append(1e3 * cpu / len(rows))
    return labels, min(batch), min(alone)


def bench_tree(name: str, seed: int, instructions: Instructions) -> None:
    X, Y, X_test, Y_test = load(name)
    model, seconds = timed(lambda: LabelTree(random_state=seed).fit(X, Y))
    tree, positives = model.trees_[0].tree, sparse.csr_array(Y.T)
    print(f"{name}: {len(tree.n_children)} nodes; LabelTree trains in {seconds:.1f} s in all")
    print("passes  train s  weights   P@1/3/5            batch ms  one row ms")
    for passes in (5, 8, 20):
        options = SolverOptions(max_passes=passes, seed=seed, instructions=instructions)
        weights, seconds = timed(
            lambda o=options: _native.train_label_tree(X, positives, tree, o, n_threads=1)
        )
        labels, batch, alone = time_search(tree, weights, X_test, instructions)
        print(
            f"{passes:6d}  {seconds:7.2f}  {len(weights.weights):8d}  "
            f"{precision(labels, Y_test)}  {batch:8.4f}  {alone:10.4f}"
        )


def bench_flat(name: str, seed: int, instructions: Instructions) -> None:
    X, Y, X_test, Y_test = load(name)
    positives = sparse.csr_array(Y.T)
    print(f"{name}, flat one-vs-rest\npasses  train s  weights   P@1/3/5            gap")
    for passes in (5, 8):
        options = FLAT.replace(max_passes=passes, seed=seed, instructions=instructions)
        solution, seconds = timed(
            lambda o=options: _native.solve_blocks(X, positives, o, n_threads=1)
        )
        measured = _native.solve_blocks(X, positives, options.replace(measure=True), n_threads=1)
        gap = 1.0 - measured.dual.sum() / measured.primal.sum()
        top = flat_top(solution, X_test)
        print(
            f"{passes:6d}  {seconds:7.2f}  {solution.weights.nnz:8d}  "
            f"{precision(top, Y_test)}  {gap:.4f}"
        )


def load(name: str) -> tuple[sparse.csr_array, ...]:
    """Read both splits with unit rows."""
    data = load_dataset(name)
    return unit(data.train.X), data.train.Y, unit(data.test.X), data.test.Y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="eurlex-4k")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--instructions", default="best")
    parser.add_argument("--flat", action="store_true", help="flat one-vs-rest instead of a tree")
    arguments = parser.parse_args()
    bench = bench_flat if arguments.flat else bench_tree
    bench(arguments.data, arguments.seed, Instructions[arguments.instructions])


if __name__ == "__main__":
    main()
