"""An environment with other programs, and runs of them.

For benchmarks that measure what ``defrag reproduce peers`` does not.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from defrag.experiments.peers import call_program, write_inputs
from defrag.metrics import evaluate

if TYPE_CHECKING:
    from defrag.io.datasets import Split

PEERS_VENV = Path(__file__).resolve().parent.parent / "build" / "peers-venv"

# PECOS would install torch, which its linear part does not need; it is not ready for numpy 2.
REQUIREMENTS = [
    ["numpy<2", "scipy<1.14", "scikit-learn", "omikuji==0.5.*", "napkinxc"],
    ["--no-deps", "libpecos"],
]


@dataclass(frozen=True)
class Result:
    """What a program did; CPU times, one thread."""

    train_cpu: float
    predict_ms: float
    model_bytes: int
    metrics: dict[str, float]


def peers_python(venv: Path) -> Path:
    """Return the Python of the programs' environment, which is made if it is not there."""
    python = venv / "bin" / "python"
    probe = "import omikuji, napkinxc.models, pecos.xmc.xlinear"
    if python.exists() and not subprocess.run([python, "-c", probe], check=False).returncode:
        return python
    print(f"installing other programs in {venv}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    for requirements in REQUIREMENTS:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
    return python


def run_peer(name: str, python: Path, train: Split, test: Split) -> Result:
    """Run a program in its environment and judge its predictions with our metrics."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_inputs(folder, train.X, train.Y, test.X)
        found = call_program(name, folder, str(python))
        labels = np.load(folder / "predictions.npy")
    return Result(
        found["training"]["cpu"],
        1e3 * found["prediction"]["cpu"] / len(labels),
        found["model_bytes"],
        evaluate(test.Y, labels, train.Y),
    )
