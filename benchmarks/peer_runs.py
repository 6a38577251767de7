"""Runs of the peers and of this library on the same files, for ``bench_peers.py``."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from common import cpu_seconds, unit
from defrag import Focused, LabelTree, Parabel, load, write_xmc
from defrag.metrics import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from defrag.classifiers._base import Classifier
    from defrag.io.datasets import Dataset

HERE = Path(__file__).resolve().parent
PEERS_VENV = HERE.parent / "build" / "peers-venv"
TOP_K = 5
N_SINGLE = 1000

# PECOS would install torch, which its linear part does not need; it is not ready for numpy 2.
REQUIREMENTS = [
    ["numpy<2", "scipy<1.14", "scikit-learn", "omikuji==0.5.*", "napkinxc"],
    ["--no-deps", "libpecos"],
]

PEERS = {
    "PECOS": "pecos_run.py",
    "omikuji 3": "omikuji_run.py",
    "napkinXC": "napkinxc_run.py",
}

OURS: dict[str, Callable[[], Classifier]] = {
    "LabelTree 1": lambda: LabelTree(random_state=0),
    "LabelTree 3 fast": lambda: LabelTree(3, preset="fast", random_state=0),
    "LabelTree 3": lambda: LabelTree(3, random_state=0),
    "LabelTree small": lambda: LabelTree(2, preset="fast", weight_threshold=0.15, random_state=0),
    "Focused 1": lambda: Focused(LabelTree(), random_state=0),
    "Focused 3": lambda: Focused(LabelTree(3), random_state=0),
    "Parabel 3": lambda: Parabel(3, random_state=0),
}


# What their weights are in the file; the others stay as they are.
WEIGHTS = {"LabelTree small": "int8"}


@dataclass(frozen=True)
class Result:
    """What one method did on one data set; CPU times, one thread."""

    train_cpu: float
    predict_ms: float
    single_row_ms: float
    model_bytes: int
    metrics: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the values for a JSON file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def peers_python(venv: Path) -> Path:
    """Return the Python of the peers' environment, which is made if it is not there."""
    python = venv / "bin" / "python"
    probe = "import omikuji, napkinxc.models, pecos.xmc.xlinear"
    if python.exists() and not subprocess.run([python, "-c", probe], check=False).returncode:
        return python
    print(f"installing the peers in {venv}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    for requirements in REQUIREMENTS:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
    return python


def prepare(folder: Path, data: Dataset) -> None:
    """Write what all methods read: unit rows and labels, as npz and as text."""
    parts = {"X": unit(data.train.X), "Y": data.train.Y, "X_test": unit(data.test.X)}
    for name, matrix in parts.items():
        # The older scipy of the peers reads a csr_matrix.
        sparse.save_npz(folder / f"{name}.npz", sparse.csr_matrix(matrix, dtype=np.float32))
    write_xmc(folder / "train.txt", parts["X"], parts["Y"])


def run_peer(name: str, python: Path, folder: Path, data: Dataset, repeats: int) -> Result:
    """Run a peer's script in its own environment and judge its predictions with our metrics."""
    command = [python, HERE / "peer_scripts" / PEERS[name], folder, str(repeats)]
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    run = subprocess.run(
        command, env={**os.environ, **one_thread}, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise RuntimeError(f"{name} failed: {run.stderr[-2000:]}")  # before: its progress bars
    found = json.loads(run.stdout.splitlines()[-1])
    labels = np.load(found["predictions"])
    return Result(
        found["train_cpu"],
        1e3 * found["predict_cpu"] / len(labels),
        found["single_row_ms"],
        found["model_bytes"],
        evaluate(data.test.Y, labels, data.train.Y),
    )


def run_ours(name: str, folder: Path, data: Dataset, repeats: int) -> Result:
    """Train and predict from the same files."""
    X, Y, X_test = (sparse.csr_array(sparse.load_npz(folder / f"{part}.npz"))
                    for part in ("X", "Y", "X_test"))  # fmt: skip
    train_cpu, trained = cpu_seconds(lambda: OURS[name]().fit(X, Y), repeats=repeats)
    size, model = saved(trained, folder / "ours.safetensors", WEIGHTS.get(name, "float32"))
    predict_cpu, (labels, _) = cpu_seconds(
        model.predict_topk, X_test, TOP_K, repeats=max(repeats, 3)
    )
    return Result(
        train_cpu,
        1e3 * predict_cpu / X_test.shape[0],
        single_row_ms(model, X_test),
        size,
        evaluate(data.test.Y, labels, data.train.Y),
    )


def single_row_ms(model: Classifier, X: sparse.csr_array) -> float:
    """Return the median CPU time of a call with one row."""
    times = []
    for row in [X[[i]] for i in range(min(N_SINGLE, X.shape[0]))]:
        start = time.process_time_ns()
        model.predict_topk(row, TOP_K)
        times.append(time.process_time_ns() - start)
    return statistics.median(times) / 1e6


def saved(model: Classifier, file: Path, weights: str) -> tuple[int, Classifier]:
    """Return the size of the model's file, and what is read from it: what users predict with."""
    model.save(file, weights=weights)
    return file.stat().st_size, load(file)
