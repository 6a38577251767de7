"""A small corpus, jobs on it, a small program of others, and invented records."""

import json
import os
import sys

from defrag.io import Split
from defrag.lab import Corpus, Job
from defrag.lab.peers import PEERS_PYTHON, missing_peer
from defrag.lab.records import Result
from defrag.specs import describe
from tests.data import make_data

PROGRAM = """
import time
from pathlib import Path
import numpy as np

class PLT:
    "Predicts the most frequent labels for every row, with the interface of napkinXC."

    def __init__(self, folder, seed, threads):
        self.folder = Path(folder)

    def fit(self, X, labels):
        energy = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        assert np.all((energy == 0) | (abs(energy - 1) < 1e-5))
        counts = np.bincount([label for row in labels for label in row])
        self.best = np.argsort(-counts, kind="stable").tolist()
        self.folder.mkdir()
        (self.folder / "weights").write_bytes(bytes(1000 + X.shape[1]))
        print("noise on standard output")

    def load(self):
        pass

    def predict(self, X, top_k):
        return [self.best[:top_k]] * X.shape[0]

    def predict_proba(self, X, top_k):
        return [[(label, 0.5 / (1 + i)) for i, label in enumerate(self.best)]] * X.shape[0]
"""


def small_corpus(seed=0):
    X, Y = make_data(n=300, seed=seed)
    return Corpus("small", Split(X[:200], Y[:200]), Split(X[200:], Y[200:]))


def job_of(corpus, estimator, seed=0, **options):
    return Job(type(estimator).__name__, corpus.facts, describe(estimator), seed, **options)


def install(folder, monkeypatch, program, package="napkinxc/models", distribution="napkinxc"):
    """Make a small program of others, version 9.8, importable by other processes."""
    place = folder / f"{package}.py"
    place.parent.mkdir()
    (place.parent / "__init__.py").touch()
    place.write_text(program)
    facts = folder / f"{distribution.replace('-', '_')}-9.8.dist-info"
    facts.mkdir()
    named = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 9.8\n"
    (facts / "METADATA").write_text(named)
    known = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *filter(None, [known])]))
    monkeypatch.setenv(PEERS_PYTHON, sys.executable)
    missing_peer.cache_clear()


def record(method="m", seed=0, *, p=50.0, train=1.0, size=1e6, data="toy", **more):
    metrics = {f"{name}@{k}": p - k for name in ("P", "nDCG", "PSP", "coverage") for k in (1, 3, 5)}
    made = {
        "format": 1, "key": f"{method}-{seed}-{data}", "method": method, "seed": seed, "n_jobs": 1,
        "data": {"name": data, "fingerprint": "f00d", "points": 100, "features": 30, "labels": 7,
                 "test_points": 10},
        "estimator": {"kind": "label_tree", "parameters": {}}, "measures": ["ranking"],
        "status": "done", "metrics": metrics, "training": {"cpu": train, "wall": train},
        "prediction": {"cpu": 0.1, "wall": 0.1}, "peak_memory": 200_000_000,
        "model_bytes": int(size), "warnings": [], "finished": "2026-01-02T03:04:05+00:00",
        "versions": {"defrag": "0"}, "machine": {"cores": 2, "memory": 2**34},
        "rare": {"edges": [0, 10, 100], "precision": [40.0, 5.0], "predicted": [90.0, 10.0]},
        "erasure": {"shares": [0.0, 0.5], "P@1": [p, p - 20], "P@3": [p, p], "P@5": [p, p]},
        "labels": {"ids": [1, 4, 6], "points": [10, 5, 4], "hits": [int(p) % 10, 3, 1]},
        **more,
    }  # fmt: skip
    return json.loads(json.dumps(made))


def results():
    return [
        Result("slow <b>", "toy", [record("slow <b>", s, p=60 + s, train=9.0) for s in (0, 1)]),
        Result("fast", "toy", [record("fast", s, p=55.0, train=1.0, size=3e6) for s in (0, 1)]),
        Result("broken", "toy", [record("broken", 0, status="failed", error="no | memory")]),
    ]
