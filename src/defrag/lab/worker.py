"""The process of one run: a job in, a result out, both as JSON.

    python -m defrag.lab.worker FOLDER < job.json > result.json

A process of its own makes the peak memory that of the run, and a run that fails, or that the
system kills, ends nothing else.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from defrag.lab.corpus import read_shared
from defrag.lab.runs import attempt

__all__ = []


def main() -> int:
    """Run the job on standard input and write its result to standard output."""
    # Results have standard output for themselves; whatever libraries print goes to stderr.
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    job = json.load(sys.stdin)
    try:
        result, _, _ = attempt(job, *read_shared(Path(sys.argv[1])))
    except KeyboardInterrupt:
        return 130
    with results:
        json.dump(result, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
