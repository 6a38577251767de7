"""A small corpus, jobs on it, and a small program of others."""

import os
import sys

from defrag.io import Split
from defrag.lab import Corpus, Job
from defrag.lab.peers import PEERS_PYTHON, missing_peer
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
