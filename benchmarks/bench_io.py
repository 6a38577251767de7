"""How fast text is read and written, and how much memory that takes.

Reads EURLex-4K and debian-deps from the folder in DEFRAG_DATA. Each measurement runs in a
process of its own; speed is per second of CPU time, the best of three; memory is the growth
of the process's peak, relative to the arrays that are returned.
"""

import lzma
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sklearn.datasets import load_svmlight_file

from defrag.io import read_svmlight, read_xmc, write_svmlight, write_xmc

DATA = Path(os.environ.get("DEFRAG_DATA", Path(__file__).parents[2] / "shared" / "data"))
REPEATS = 3
Job: TypeAlias = Callable[[Path, Path], Sequence[Any]]


def peak_bytes() -> int:
    # Not getrusage, whose figure a process inherits from the one that started it.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def size_of(*matrices: Any) -> int:
    return sum(m.data.nbytes + m.indices.nbytes + m.indptr.nbytes for m in matrices)


def read_ours(path: Path, _: Path) -> Sequence[Any]:
    return read_xmc(path)


def read_ours_svmlight(path: Path, _: Path) -> Sequence[Any]:
    return read_svmlight(path, zero_based=True)


def read_theirs_svmlight(path: Path, _: Path) -> Sequence[Any]:
    return load_svmlight_file(str(path), multilabel=True, zero_based=True, dtype=np.float32)[:1]


def write_ours(path: Path, folder: Path) -> Sequence[Any]:
    write_xmc(folder / "written.txt", *_loaded(path))
    return _loaded(path)


_cache: dict[Path, Sequence[Any]] = {}


def _loaded(path: Path) -> Sequence[Any]:
    if path not in _cache:
        _cache[path] = read_xmc(path)
    return _cache[path]


def measure(job: Job, path: Path, folder: Path, queue: Any) -> None:
    """Run one job; put seconds of CPU time and relative peak memory into the queue."""
    if job is write_ours:
        _loaded(path)
    before = peak_bytes()
    result = job(path, folder)
    memory = (peak_bytes() - before) / size_of(*result)
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        job(path, folder)
        seconds.append(time.process_time() - start)
    queue.put((min(seconds), memory))


def report(name: str, job: Job, path: Path, folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=measure, args=(job, path, folder, queue))
    process.start()
    seconds, memory = queue.get()
    process.join()
    megabytes = path.stat().st_size / 1e6
    speed = megabytes / seconds
    print(f"{name:36} {megabytes:6.1f} MB {speed:6.0f} MB/s   peak {memory:4.2f} x arrays")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for data in ("eurlex-4k", "debian-deps"):
            path = folder / f"{data}.txt"
            with lzma.open(DATA / data / "train.txt.xz") as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
            report(f"{data}: read_xmc", read_ours, path, folder)
            report(f"{data}: write_xmc", write_ours, path, folder)
            X, Y = read_xmc(path)
            labelled = np.diff(Y.indptr) > 0  # scikit-learn refuses lines without labels
            svmlight = folder / f"{data}.svm"
            write_svmlight(svmlight, X[labelled], Y[labelled], zero_based=True)
            report(f"{data}: read_svmlight", read_ours_svmlight, svmlight, folder)
            report(f"{data}: scikit-learn's reader", read_theirs_svmlight, svmlight, folder)


if __name__ == "__main__":
    main()
