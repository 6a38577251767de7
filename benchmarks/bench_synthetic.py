"""Train on synthetic data of any size, up to 10^6 labels and features.

At share 1: 2 * 10^6 points of about 40 non-zeros by Zipf's law, 10^6 features and as many labels;
the labels of a point are three of its words; at other shares, all three axes shrink. A label tree
is trained on all labels, and one-vs-rest classifiers on a random slice of them, from which the
whole training is projected. Prints times, peak memory and sizes as JSON, and the stages as they
end. ``peak_mb`` is the largest anonymous memory during ``fit`` beyond what there was before,
``bound_mb`` what it should stay below (see ``bound_of_fit``); with ``--mapped``, X is mapped from
files, which are no anonymous memory.

    python benchmarks/bench_synthetic.py [--share S] [--slice S] [--mapped] [--jobs N]
"""

import argparse
import json
import multiprocessing
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from defrag import DiSMEC, LabelTree, load
from defrag.classifiers._support import LANES
from defrag.classifiers.label_tree import TreeClassifier
from synthetic import power_law

N_POINTS, N_WIDE, PER_ROW, LABELS = 2_000_000, 1_000_000, 40, 3
MB = 2**20


def make_data(share: float) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return points and, as labels, three words of each point."""
    n_points, n_wide = int(N_POINTS * share), int(N_WIDE * share)
    X = power_law(n_wide, n_points * PER_ROW, per_row=PER_ROW)
    rng = np.random.default_rng(1)
    sizes = np.diff(X.indptr)
    places = (rng.random((n_points, LABELS)) * sizes[:, None]).astype(np.int64)
    labels = X.indices[X.indptr[:-1, None] + places]
    indptr = np.arange(0, n_points * LABELS + 1, LABELS, dtype=np.int64)
    Y = sparse.csr_array(
        (np.ones(labels.size, np.float32), labels.ravel(), indptr), shape=(n_points, n_wide)
    )
    Y.sum_duplicates()
    Y.data[:] = 1.0
    return X, Y


def write_data(share: float, folder: Path) -> None:
    """Write the arrays of points and labels to files."""
    for matrix, data in zip("XY", make_data(share), strict=True):
        np.save(folder / f"{matrix}-data.npy", data.data)
        np.save(folder / f"{matrix}-indices.npy", data.indices.astype(np.int32))
        np.save(folder / f"{matrix}-indptr.npy", data.indptr.astype(np.int32))
        np.save(folder / f"{matrix}-shape.npy", data.shape)


def read_data(folder: Path, matrix: str, mode: str | None) -> sparse.csr_array:
    """Return a matrix, mapped from its files if the mode is ``"r"``."""
    arrays = (np.load(folder / f"{matrix}-{name}.npy", mmap_mode=mode)
              for name in ("data", "indices", "indptr"))  # fmt: skip
    return sparse.csr_array(tuple(arrays), shape=np.load(folder / f"{matrix}-shape.npy"))


def anonymous_mb() -> float:
    """Return the memory of this process that no file backs."""
    found = re.search(r"RssAnon:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found.group(1)) / 1024 if found else 0.0


def with_peak(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result, and the largest anonymous memory meanwhile beyond that before, in MB."""
    before, peak, done = anonymous_mb(), 0.0, threading.Event()

    def sample() -> None:
        nonlocal peak
        while not done.wait(0.005):
            peak = max(peak, anonymous_mb() - before)

    watcher = threading.Thread(target=sample)
    watcher.start()
    try:
        return work(), peak
    finally:
        done.set()
        watcher.join()


def bound_of_fit(
    model: TreeClassifier, X: sparse.csr_array, Y: sparse.csr_array, *, on_disk: bool, jobs: int
) -> float:
    """Return the bound of the memory of ``fit`` beyond X and Y, in MB.

    Unit rows (8 bytes per non-zero of X; none if X is mapped) and the points of each label (8 per
    label of a point), all the time. Then the larger of two stages: label vectors, of at most
    ``label_entries`` per label, three times 8 bytes (found, cut, and copied by the clustering) and
    4 more (coordinates renumbered by the clustering);
    or training: the rows of one node per thread, at most all (8 per non-zero), and
    the weights twice (6 bytes per weight, and 12 per feature of a node). A tenth is added for
    what the allocator keeps.
    """
    tree = model.trees_[0]
    seen = len(tree.tree.order)
    paths = float(np.diff(X.indptr).astype(np.float64) @ np.diff(Y.indptr))
    vectors = min(paths, seen * float(model.label_entries))
    weights = 6 * len(tree.weights.weights) + 12 * len(tree.weights.features)
    always = (0 if on_disk else 8 * X.nnz) + 8 * Y.nnz + 8 * X.shape[0]
    return 1.1 * (always + max(28 * vectors, 8 * X.nnz * jobs + 2 * weights)) / MB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--slice", type=float, default=0.01, help="labels of one-vs-rest")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--mapped", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", choices=["tree", "flat"])
    options = parser.parse_args()
    found: dict[str, float] = {"share": options.share}

    def say(**values: float) -> None:
        found.update({name: round(value, 2) for name, value in values.items()})
        sys.stderr.write(f"{values}\n")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # In a process of its own, whose freed memory would be used again by training.
        maker = multiprocessing.Process(target=write_data, args=(options.share, folder))
        maker.start()
        maker.join()
        X, Y = read_data(folder, "X", "r" if options.mapped else None), read_data(folder, "Y", None)
        say(nnz=X.nnz, labels_with_points=len(np.unique(Y.indices)))
        say(matrices_mb=sum(a.nbytes for M in (X, Y) for a in (M.data, M.indices, M.indptr)) / MB)
        if options.only != "flat":
            run_tree(X, Y, folder, options, say)
        if options.only != "tree":
            run_flat(X, Y, options, say)
    sys.stdout.write(json.dumps(found) + "\n")


def run_tree(
    X: sparse.csr_array,
    Y: sparse.csr_array,
    folder: Path,
    options: argparse.Namespace,
    say: Callable[..., None],
) -> None:
    """Train a label tree, and predict with its file."""
    wall, cpu = time.perf_counter(), time.process_time()
    model, peak = with_peak(lambda: LabelTree(random_state=0, n_jobs=options.jobs).fit(X, Y))
    say(fit_wall=time.perf_counter() - wall, fit_cpu=time.process_time() - cpu)
    bound = bound_of_fit(model, X, Y, on_disk=options.mapped, jobs=options.jobs)
    say(peak_mb=peak, bound_mb=bound)
    path = (options.keep or folder) / "model"
    model.save(path)
    say(model_mb=path.stat().st_size / MB)
    del model
    wall = time.perf_counter()
    read = load(path)
    say(load_wall=time.perf_counter() - wall)
    n = min(20_000, X.shape[0])
    rows = X[:n]
    cpu = time.process_time()
    labels, _ = read.predict_topk(rows, k=5)
    say(rows_per_cpu_second=n / (time.process_time() - cpu))
    true = np.asarray(Y[:n][np.arange(n), np.maximum(labels[:, 0], 0)]).ravel()
    say(precision_at_1_on_training_points=100 * float(true.mean()))


def run_flat(
    X: sparse.csr_array, Y: sparse.csr_array, options: argparse.Namespace, say: Callable[..., None]
) -> None:
    """Train one-vs-rest classifiers of a random slice of the labels, in blocks of sixteen."""
    model = DiSMEC(random_state=0, n_jobs=options.jobs)
    cpu = time.process_time()
    data, peak = with_peak(lambda: model._units().prepare(X, Y))
    division = model._units().divide(data, 0)
    n_blocks = len(division.costs)
    prepared = time.process_time() - cpu
    chosen = np.random.default_rng(0).permutation(n_blocks)[: max(1, int(options.slice * n_blocks))]

    def train() -> int:
        return sum(
            model._units().train(data, 0, division.outline, block, block + 1).nnz
            for block in sorted(chosen.tolist())
        )

    cpu = time.process_time()
    n_weights, training = with_peak(train)
    seconds = time.process_time() - cpu
    factor = n_blocks / len(chosen)
    say(flat_labels=len(chosen) * LANES, flat_cpu=seconds, flat_peak_mb=peak + training)
    bytes_per_weight = 6 if len(data.labels) <= 2**16 else 8
    say(
        flat_projected_cpu_hours=(prepared + seconds * factor) / 3600,
        flat_projected_model_gb=n_weights * factor * bytes_per_weight / 2**30,
    )


if __name__ == "__main__":
    main()
