"""How training time and memory grow with the data.

LabelTree on growing shares of the largest data set. The work of a point is its non-zeros
times the nodes on the paths from the root to its labels: if the CPU time per unit of that
work is flat, training is linear in the data. Every run is a process of its own, whose
peak memory is then that of the training.

    python benchmarks/bench_scaling.py [--data NAME] [--shares S ...] [--repeats N]
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

import common  # noqa: F401 - says where the data sets are
from defrag import LabelTree, load_dataset
from defrag._native import LabelTreeArrays

PEAK_LIMIT_GB = 2.0


def path_nodes(tree: LabelTreeArrays, Y: sparse.csr_array) -> np.ndarray:
    """Count the nodes on the paths to the labels of each point."""
    sizes = tree.end - tree.begin
    nodes = np.repeat(np.arange(len(sizes)), sizes)
    offsets = np.arange(len(nodes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    labels = tree.order[np.repeat(tree.begin, sizes) + offsets]
    ones = np.ones(len(nodes), dtype=np.float32)
    above = sparse.coo_array((ones, (labels, nodes)), (Y.shape[1], len(sizes))).tocsr()
    return np.diff((Y @ above).indptr)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def one_run(folder: Path) -> dict[str, float]:
    """Train once in this process."""
    X, Y = (sparse.csr_array(sparse.load_npz(folder / f"{name}.npz")) for name in "XY")
    before = peak_mb()
    start = time.process_time()
    model = LabelTree(random_state=0, n_jobs=1).fit(X, Y)
    cpu = time.process_time() - start
    peak = peak_mb()
    work = float(np.diff(X.indptr).astype(np.int64) @ path_nodes(model.trees_[0].tree, Y))
    return {"points": Y.shape[0], "work": work, "cpu": cpu, "before_mb": before, "peak_mb": peak}


def run(folder: Path) -> dict[str, float]:
    """Train once in a process of its own."""
    command = [sys.executable, __file__, "--one", str(folder)]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(found.stdout))


def growth(folder: Path, repeats: int) -> dict[str, float]:
    """Return the run with the least CPU time."""
    found = min((run(folder) for _ in range(repeats)), key=lambda each: each["cpu"])
    print(
        f"{found['points']:>8,} {found['cpu']:>7.2f} {found['work']:>13,.0f} "
        f"{1e9 * found['cpu'] / found['work']:>8.1f} {found['before_mb']:>8.0f} "
        f"{found['peak_mb']:>8.0f}",
        flush=True,
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--data", default="yso-finna-en")
    parser.add_argument("--shares", nargs="+", type=float, default=[0.1, 0.3, 1.0])
    parser.add_argument("--repeats", type=int, default=3, help="runs of each kind")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        print(json.dumps(one_run(Path(arguments.one))))
        return
    train = load_dataset(arguments.data).train
    order = np.random.default_rng(0).permutation(train.X.shape[0])
    print(f"{arguments.data}: LabelTree, one tree, one thread, least of {arguments.repeats} runs")
    print(f"{'points':>8} {'CPU s':>7} {'work':>13} {'ns/work':>8} {'data MB':>8} {'peak MB':>8}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for share in arguments.shares:
            rows = np.sort(order[: round(share * len(order))])
            sparse.save_npz(folder / "X.npz", train.X[rows], compressed=False)
            sparse.save_npz(folder / "Y.npz", train.Y[rows], compressed=False)
            found = growth(folder, arguments.repeats)
        print(f"peak memory {found['peak_mb'] / 1024:.2f} GB (limit {PEAK_LIMIT_GB})")


if __name__ == "__main__":
    main()
