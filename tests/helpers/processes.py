"""Python processes that see the package ``tests``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def environment(**more):
    """Return the environment of a child that can import ``tests``."""
    folders = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders)), **more}


def run_python(*arguments, timeout=300, python=sys.executable):
    """Run Python as a process of its own, on one thread, and return its standard output."""
    done = subprocess.run(
        [python, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        env=environment(OPENBLAS_NUM_THREADS="1"),
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
