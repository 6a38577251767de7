"""What every benchmark needs: the data folder, and a fair clock."""

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
