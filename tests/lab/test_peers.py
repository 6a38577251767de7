"""Other programs in an experiment; the program is a small one with the interface of napkinXC."""

import subprocess
import sys
import time

import numpy as np
import pytest

from defrag.lab import Store, run_jobs
from defrag.lab import peers as peers_module
from defrag.lab.peers import missing_peer, write_inputs
from defrag.lab.planning import plan
from defrag.lab.studies import STUDIES, Line
from defrag.metrics import evaluate
from tests.lab.small import install, small_corpus

PYTHON = sys.executable
PROGRAM = """
import time
from pathlib import Path
import numpy as np

class PLT:
    "Predicts the five most frequent labels for every row."

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
"""
BROKEN = PROGRAM.replace("counts = ", "raise RuntimeError('no such luck') or ")
ENDLESS = PROGRAM.replace("counts = ", "time.sleep(600) or ")


@pytest.fixture(autouse=True)
def _forget():
    yield
    missing_peer.cache_clear()


def study():
    lines = [Line("plain", "napkinxc"), Line("groups", "napkinxc", "defrag:max_cluster_size=4")]
    return type(STUDIES["peers"])(
        "peers", "t", "t", [*lines, Line("PECOS", "pecos")], ("small",), ("P@1",), seeds=1
    )


@pytest.mark.slow
def test_programs_are_run_and_missing_ones_remarked(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, PROGRAM)
    corpus = small_corpus()
    (planned,) = plan(study(), corpus)
    assert [job.method for job in planned.jobs] == ["plain", "groups"]
    (remark,) = planned.remarks
    assert remark.startswith("PECOS is left out: libpecos is not installed in ")
    store = Store(tmp_path / "store")
    plain, groups = (record for _, record in run_jobs(planned.jobs, corpus, store))
    assert plain["status"] == "done", plain
    best = np.argsort(-corpus.train.Y.sum(axis=0), kind="stable")[:5]
    labels = np.tile(best.astype(np.int32), (corpus.facts.test_points, 1))
    assert plain["metrics"] == evaluate(corpus.test.Y, labels, corpus.train.Y)
    assert plain["version"] == "9.8"
    assert plain["model_bytes"] == 1000 + corpus.facts.features
    assert plain["peak_memory"] > 2e7
    assert groups["model_bytes"] == 1000 + groups["groups"]["n_clusters"]
    assert groups["groups"]["cpu"] <= groups["training"]["cpu"]


@pytest.mark.slow
def test_failed_program_is_recorded(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, BROKEN)
    corpus = small_corpus()
    (planned,) = plan(study(), corpus)
    ((_, record),) = run_jobs(planned.jobs[:1], corpus, Store(tmp_path / "store"))
    assert record["status"] == "failed"
    assert record["error"] == (
        "RuntimeError: napkinxc ended with code 1: RuntimeError: no such luck"
    )


def test_missing_python_is_remarked(monkeypatch):
    monkeypatch.setenv(peers_module.PEERS_PYTHON, "/nowhere/python")
    missing_peer.cache_clear()
    assert missing_peer("pecos") == "/nowhere/python cannot be started: No such file or directory"


def test_program_ends_with_its_caller(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, ENDLESS)
    corpus = small_corpus()
    folder = tmp_path / "run"
    folder.mkdir()
    write_inputs(folder, corpus.train.X, corpus.train.Y, corpus.test.X)
    program = peers_module.peer_program.__file__
    with subprocess.Popen(
        [sys.executable, program, "napkinxc", folder], stdin=subprocess.PIPE
    ) as running:
        time.sleep(0.5)
        running.stdin.close()
        assert running.wait(300) == 1
