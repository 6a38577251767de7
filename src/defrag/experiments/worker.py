"""The process of one run: a job in, a result out, both as JSON.

    python -m defrag.experiments.worker FOLDER < job.json > result.json

A process of its own makes the peak memory that of the run, and a run that fails, or that the
system kills, ends nothing else.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from defrag.experiments.corpus import read_shared
from defrag.experiments.machine import machine, versions
from defrag.experiments.measures import measure

__all__ = ["main"]


def main() -> int:
    """Run the job on standard input and write its result to standard output."""
    # Results have standard output for themselves; whatever libraries print goes to stderr.
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    job = json.load(sys.stdin)
    try:
        train, test = read_shared(Path(sys.argv[1]))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = measure(job, train, test)
        messages = sorted({str(warning.message) for warning in caught})
        result: dict[str, Any] = {"status": "done", **found, "warnings": messages}
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - whatever it is becomes part of the record
        result = {"status": "failed", "error": one_line(error)}
    with results:
        json.dump({**result, "versions": versions(), "machine": machine()}, results)
    return 0


def one_line(error: BaseException) -> str:
    """Return an error in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"


if __name__ == "__main__":
    sys.exit(main())
