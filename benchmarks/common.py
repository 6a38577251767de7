"""What every benchmark needs: the data folder, and a fair clock."""

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from defrag import metrics
from defrag.classifiers._support import unit_rows

os.environ.setdefault(
    "DEFRAG_DATA", str(Path(__file__).resolve().parent.parent.parent / "shared" / "data")
)


def cpu_seconds(work: Callable[..., Any], *arguments: Any, repeats: int = 1) -> tuple[float, Any]:
    """Run ``work(*arguments)`` a few times; give the least CPU time and the last result.

    Machines are shared: CPU time is steadier than the clock on the wall, and the least of
    several runs steadier still.
    """
    best, result = math.inf, None
    for _ in range(repeats):
        start = time.process_time()
        result = work(*arguments)
        best = min(best, time.process_time() - start)
    return best, result


def unit(X: sparse.csr_array) -> sparse.csr_array:
    """Return L2-normalised rows."""
    return unit_rows(X, 1)


def precision(labels: np.ndarray, Y: sparse.csr_array) -> str:
    """Return P@1/3/5 of ranked labels as text."""
    report = metrics.evaluate(Y, np.ascontiguousarray(labels, dtype=np.int32))
    return "/".join(f"{report[f'P@{k}']:.2f}" for k in (1, 3, 5))
