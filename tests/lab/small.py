"""A small corpus, jobs on it, and a small program of others."""

import os
import sys

from defrag.io import Split
from defrag.lab import Corpus, Job
from defrag.lab.peers import PEERS_PYTHON, missing_peer
from defrag.specs import describe
from tests.data import make_data


def small_corpus(seed=0):
    X, Y = make_data(n=300, seed=seed)
    return Corpus("small", Split(X[:200], Y[:200]), Split(X[200:], Y[200:]))


def job_of(corpus, estimator, seed=0, **options):
    return Job(type(estimator).__name__, corpus.facts, describe(estimator), seed, **options)


def install(folder, monkeypatch, program):
    """Make a program with the interface of napkinXC, version 9.8, importable by other processes."""
    package = folder / "napkinxc"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "models.py").write_text(program)
    facts = folder / "napkinxc-9.8.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: napkinxc\nVersion: 9.8\n")
    known = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *filter(None, [known])]))
    monkeypatch.setenv(PEERS_PYTHON, sys.executable)
    missing_peer.cache_clear()
