"""Train on points that are larger than memory.

Points with long rows by Zipf's law are written to files; the labels of a point are three of its
words. A process that may use ``--limit`` MB in all (a memory cgroup, which needs root), less than
the files of X, maps them and trains a focused label tree; without ``--limit``, the memory of the
machine is the limit. Prints times, the peak of anonymous memory and the hash of the model; with
``--compare``, also those of a process without a limit that reads X into memory.

    python benchmarks/bench_beyond_memory.py [--points N] [--per-row N] [--limit MB] [--compare]
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import multiprocessing
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from bench_synthetic import MB, with_peak
from defrag import Focused, LabelTree
from synthetic import power_law

if TYPE_CHECKING:
    from collections.abc import Iterator

N_FEATURES, LABELS, POINTS_PER_BLOCK = 200_000, 3, 10_000
NAMES = ("data", "indices", "indptr")


def write_data(folder: Path, n_points: int, per_row: int) -> None:
    """Write X block by block, and Y."""
    sizes, labels = [np.zeros(1, dtype=np.int64)], []
    with contextlib.ExitStack() as stack:
        files = {name: stack.enter_context((folder / name).open("wb")) for name in NAMES}
        for seed, start in enumerate(range(0, n_points, POINTS_PER_BLOCK)):
            rows = min(POINTS_PER_BLOCK, n_points - start)
            X = power_law(N_FEATURES, rows * per_row, per_row=per_row, seed=seed)
            X.data.tofile(files["data"])
            X.indices.astype(np.int32).tofile(files["indices"])
            own = np.diff(X.indptr)
            sizes.append(own)
            places = np.random.default_rng(seed).random((rows, LABELS)) * own[:, None]
            labels.append(X.indices[X.indptr[:-1, None] + places.astype(np.int64)])
        np.concatenate(sizes).cumsum().astype(np.int32).tofile(files["indptr"])
        for file in files.values():
            # Pages that stay in memory would not count as pages of the process that maps them.
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    np.save(folder / "labels.npy", np.concatenate(labels).astype(np.int32))


def read_data(folder: Path, *, mapped: bool) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return X, mapped or read, and Y."""
    types = dict(zip(NAMES, (np.float32, np.int32, np.int32), strict=True))
    arrays = tuple(
        np.memmap(folder / name, dtype=kind, mode="r") if mapped
        else np.fromfile(folder / name, dtype=kind)
        for name, kind in types.items()
    )  # fmt: skip
    n_points = len(arrays[2]) - 1
    labels = np.load(folder / "labels.npy")
    indptr = np.arange(0, labels.size + 1, LABELS)
    ones = np.ones(labels.size, dtype=np.float32)
    Y = sparse.csr_array((ones, labels.ravel(), indptr), shape=(n_points, N_FEATURES))
    Y.sum_duplicates()
    Y.data[:] = 1.0
    return sparse.csr_array(arrays, shape=(n_points, N_FEATURES)), Y


@contextlib.contextmanager
def memory_group(limit_mb: int) -> Iterator[Path]:
    """Make a memory cgroup, of the first or second version, and remove it afterwards."""
    first = Path("/sys/fs/cgroup/memory")
    group = (first if first.exists() else first.parent) / f"defrag-{os.getpid()}"
    group.mkdir()
    try:
        name = "memory.limit_in_bytes" if first.exists() else "memory.max"
        (group / name).write_text(str(limit_mb * MB))
        yield group
    finally:
        group.rmdir()


def train(folder: Path, group: Path | None, *, mapped: bool) -> None:
    """Train and print what it took."""
    if group is not None:
        (group / "cgroup.procs").write_text(str(os.getpid()))
    X, Y = read_data(folder, mapped=mapped)
    wall, cpu = time.perf_counter(), time.process_time()
    model, peak = with_peak(lambda: Focused(LabelTree(), random_state=0, n_jobs=1).fit(X, Y))
    found = {
        "mapped": mapped,
        "x_mb": 8 * X.nnz / MB,
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "peak_anonymous_mb": peak,
        "major_faults": resource.getrusage(resource.RUSAGE_SELF).ru_majflt,
    }
    path = folder / "model.safetensors"
    model.save(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    print(json.dumps({k: round(v, 1) for k, v in found.items()} | {"sha256": digest}), flush=True)


def run(*arguments: object, mapped: bool) -> None:
    """Train in a process of its own."""
    process = multiprocessing.get_context("spawn").Process(
        target=train, args=arguments, kwargs={"mapped": mapped}
    )
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"training ended with code {process.exitcode}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--points", type=int, default=200_000)
    parser.add_argument("--per-row", type=int, default=1000)
    parser.add_argument("--limit", type=int, help="MB of memory, files that are mapped included")
    parser.add_argument("--compare", action="store_true", help="also train in memory, no limit")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder, options.points, options.per_row)
        if options.limit is None:
            run(folder, None, mapped=True)
        else:
            with memory_group(options.limit) as group:
                run(folder, group, mapped=True)
        if options.compare:
            run(folder, None, mapped=False)


if __name__ == "__main__":
    main()
