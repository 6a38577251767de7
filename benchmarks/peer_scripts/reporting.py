"""What the scripts of the peers share: their input, a fair clock, their report.

These scripts run in the environment of the peers, which has no defrag: they read what the
driver prepared in a folder and print one line of JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TOP_K = 5
BEAM = 10
N_SINGLE = 1000


def arguments() -> tuple[Path, int]:
    """Return the folder with the data, and how often to repeat."""
    return Path(sys.argv[1]), int(sys.argv[2])


def load(folder: Path, name: str) -> sparse.csr_matrix:
    """Read one matrix of the folder."""
    return sparse.csr_matrix(sparse.load_npz(folder / f"{name}.npz"))


def single_rows(X: sparse.csr_matrix) -> list[sparse.csr_matrix]:
    """Cut out the rows that are predicted alone."""
    return [X[[i]] for i in range(min(N_SINGLE, X.shape[0]))]


def least_cpu(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the least CPU time of several runs, and the last result."""
    times, result = [], None
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return min(times), result


def single_row_ms(call: Callable[[Any], Any], rows: Iterable[Any]) -> float:
    """Return the median CPU time of one call with one row."""
    times = []
    for row in rows:
        start = time.process_time_ns()
        call(row)
        times.append(time.process_time_ns() - start)
    return statistics.median(times) / 1e6


def folder_bytes(folder: Path) -> int:
    """Add up the files of a model."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def best_labels(ranked: Iterable[Iterable[int]], n_rows: int) -> np.ndarray:
    """Put lists of labels into an array, -1 where there are fewer."""
    labels = np.full((n_rows, TOP_K), -1, dtype=np.int32)
    for row, found in zip(labels, ranked, strict=True):
        first = list(found)[:TOP_K]
        row[: len(first)] = first
    return labels


def report(folder: Path, labels: np.ndarray, **values: float) -> None:
    """Write the predictions and print the rest."""
    file = folder / f"{Path(sys.argv[0]).stem}.npy"
    np.save(file, labels)
    print(json.dumps({**values, "predictions": str(file)}))
