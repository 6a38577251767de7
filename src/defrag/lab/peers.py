"""Other programs as methods of an experiment, plain and behind groups of features.

``measures`` runs them, ``planning`` asks which are missing. They run in processes of a Python that
has them, which need not be that of defrag, because some require old versions of numpy and scipy.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from defrag.baselines import Parabel
from defrag.classifiers._support import unit_rows
from defrag.io import Split, write_xmc
from defrag.lab import peer_program, text_program
from defrag.lab.peer_program import timed
from defrag.typing import Csr

PEERS_PYTHON = "DEFRAG_PEERS_PYTHON"
"""Environment variable with the Python that has the other programs, or with a folder that has an
environment for each of them, named by the first word of its name here."""

PEERS = {
    "pecos": "PECOS", "omikuji": "omikuji", "omikuji-wide": "omikuji, balanced, 100 clusters",
    "omikuji-unbalanced": "omikuji, Bonsai", "napkinxc": "napkinXC",
    "napkinxc-three": "napkinXC, 3 trees of arity 16",
}  # fmt: skip
"""What tables call the programs; a word after a hyphen is another setting of its documentation."""

WORD_VECTORS = "fasttext"
"""The representation of features by word vectors of fastText, which runs in a Python of its own."""

# Training time relative to Parabel of defrag, and milliseconds of a prediction, on EURLex-4K and
# debian.
_TIMES_PARABEL = {"pecos": 1.0, "omikuji": 2.5, "napkinxc": 2.0}
_PREDICTION_MS = {"pecos": 0.1, "omikuji": 0.5, "napkinxc": 0.5}


def python_of(name: str) -> str:
    """Return the Python that runs a program: that of its own environment, or of the others."""
    given = os.environ.get(PEERS_PYTHON, sys.executable)
    if not Path(given).is_dir():
        return given
    return os.fspath(Path(given) / name.partition("-")[0] / "bin" / "python")


@cache
def missing_peer(name: str) -> str | None:
    """Return why a program cannot be run, or None if it can."""
    package = {**peer_program.PROGRAMS, **text_program.PROGRAMS}[name][0]
    probe = f"import importlib.metadata as m; m.version({package!r})"
    try:
        found = subprocess.run(  # noqa: S603 - a Python that the user has named
            [python_of(name), "-c", probe], capture_output=True, check=False
        )
    except OSError as error:
        return f"{python_of(name)} cannot be started: {error.strerror}"
    if found.returncode:
        return f"{package} is not installed in {python_of(name)} ({PEERS_PYTHON} names another one)"
    return None


def run_seconds(name: str, X: Csr, Y: Csr, n_test: int) -> float:
    """Return an estimate of the CPU seconds in which a program trains and predicts."""
    program, _, setting = name.partition("-")
    training = _TIMES_PARABEL[program] * Parabel()._training_cost(X, Y).seconds
    return (3.0 if setting else 1.0) * (training + _PREDICTION_MS[program] * n_test / 1e3)


def run_peer(
    name: str, groups: Any, train: Split, test: Split, seed: int = 0
) -> tuple[dict[str, Any], Any]:
    """Train a program of ``PEERS`` on unit rows and predict with it.

    The cost of ``groups`` of features that stand before it is part of training and prediction.
    Returns times, memory, size and version, and the best labels of the test points.
    """
    X, X_test, more = train.X, test.X, {}
    if groups is not None:
        more["training"], X = timed(lambda: groups.fit(train.X, train.Y).transform(train.X))
        more["prediction"], X_test = timed(groups.transform, test.X)
    with tempfile.TemporaryDirectory(prefix="defrag-") as place:
        folder = Path(place)
        write_inputs(folder, X, train.Y, X_test, seed)
        result = call_program(name, folder)
        labels = np.load(folder / "predictions.npy")
    for part, seconds in more.items():
        for clock in seconds:
            result[part][clock] += seconds[clock]
    result["cluster_cpu"] = more["training"]["cpu"] if more else 0.0
    return result, labels


def write_inputs(folder: Path, X: Csr, Y: Csr, X_test: Csr, seed: int = 0) -> None:
    """Write what :mod:`defrag.lab.peer_program` reads: unit rows, labels and the seed."""
    (folder / "seed.txt").write_text(str(seed))
    parts = {"X": unit_rows(X, 1), "Y": Y, "X_test": unit_rows(X_test, 1)}
    for name, matrix in parts.items():
        # The older scipy of the programs reads a csr_matrix.
        sparse.save_npz(folder / f"{name}.npz", sparse.csr_matrix(matrix, dtype=np.float32))
    write_xmc(folder / "train.txt", parts["X"], Y)


def word_vectors(train: Split, seed: int) -> NDArray[np.float32]:
    """Return vectors of the features that fastText learns: the features of a point are a text.

    What stands in one point stands together; the order of its features is random.
    """
    order = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory(prefix="defrag-") as place:
        folder = Path(place)
        with (folder / "points.txt").open("w", encoding="ascii") as out:
            for row in np.split(train.X.indices, train.X.indptr[1:-1]):
                out.write(" ".join(map(str, order.permutation(row))) + "\n")
        (folder / "n_features.txt").write_text(str(train.X.shape[1]))
        call_program(WORD_VECTORS, folder)
        vectors: NDArray[np.float32] = np.load(folder / "vectors.npy")
    return vectors


TEXT_PEERS = {
    "fasttext": "fastText",
    "sklearn-sgd": "scikit-learn, SGDClassifier",
    "sklearn-svc": "scikit-learn, LinearSVC",
    "sklearn-logistic": "scikit-learn, LogisticRegression",
    "omikuji-parabel": "omikuji, Parabel",
    "omikuji-bonsai": "omikuji, Bonsai",
    "libmultilabel-tree": "LibMultiLabel, tree",
    "libmultilabel-1vsrest": "LibMultiLabel, one-vs-rest",
    "pecos-texts": "PECOS, XR-Linear",
    "napkinxc-plt": "napkinXC, PLT",
}
"""What tables call the programs that are run on texts."""

Ranking: TypeAlias = "tuple[NDArray[np.int32], NDArray[np.float64]]"


def run_text_peer(
    name: str, parts: Sequence[tuple[list[str], list[list[int]]]], n_labels: int
) -> tuple[dict[str, Any], tuple[Ranking, Ranking]]:
    """Train a program of ``TEXT_PEERS`` on texts with labels as numbers.

    The parts are training, dev and test. Returns times, memory, size, settings and version, and the
    rankings of the last two parts.
    """
    with tempfile.TemporaryDirectory(prefix="defrag-") as place:
        folder = Path(place)
        for part, (texts, labels) in zip(("train", "dev", "test"), parts, strict=True):
            content = json.dumps({"texts": texts, "labels": labels})
            (folder / f"{part}.json").write_text(content, encoding="utf-8")
        (folder / "n_labels.json").write_text(str(n_labels))
        found = call_program(name, folder, program=text_program)
        rankings = [np.load(folder / f"{part}.npz") for part in ("dev", "test")]
        one, other = ((some["labels"], some["scores"]) for some in rankings)
    return found, (one, other)


def call_program(name: str, folder: Path, *, program: ModuleType = peer_program) -> dict[str, Any]:
    """Run a program on the files of a folder, and return what it says."""
    answer, messages = folder / "answer.json", folder / "messages.txt"
    with answer.open("w") as out, messages.open("w") as err:
        process = subprocess.Popen(  # noqa: S603 - a Python that the user has named
            [python_of(name), str(program.__file__), name, os.fspath(folder)],
            stdin=subprocess.PIPE,  # held open: the program ends when this process does
            stdout=out,
            stderr=err,
        )
        with process:
            process.wait()
    if process.returncode:
        last = (messages.read_text(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{name} ended with code {process.returncode}: {last}")
    found: dict[str, Any] = json.loads(answer.read_text())
    return found
